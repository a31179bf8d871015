#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Has the kernel's own tool (tools/net/ynl of Linux 6.12) read the specification of the
# netlink family, by the kernel's schema, and ask a module by it, in User-Mode Linux. Ends
# in "N passed, N failed, N skipped".
#
#   scripts/ynl.sh
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

main()
{
	local status=0

	"$TOP/scripts/setup.sh" --ynl
	"$TOP/scripts/build-module.sh" uml
	"$TOP/scripts/uml.sh" --name ynl --timeout 300 --add "$BUILD/uml-src/tools/net/ynl:ynl" --add "$BUILD/ynl/genetlink-legacy.yaml" \
		--add "$TOP/Documentation/netlink/specs/kvnet.yaml" -- "$TOP/scripts/vm/ynl.sh" || status=$?
	return $status
}

main "$@"
