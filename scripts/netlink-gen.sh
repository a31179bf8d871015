#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Makes C of the specification of the netlink family, by the kernel's generator (that of Linux
# 6.12): the uapi header, and the policies and operations of the module.
#
#   scripts/netlink-gen.sh            writes the files
#   scripts/netlink-gen.sh --check    are they what the specification gives?
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

SPEC=Documentation/netlink/specs/kvnet.yaml
TOOL=$BUILD/uml-src/tools/net/ynl/ynl-gen-c.py
SCHEMA=$BUILD/ynl/genetlink-legacy.yaml

# generate MODE KIND FILE
generate()
{
	mkdir -p "$(dirname "$DIR/$3")"
	/usr/bin/python3 -B "$TOOL" --spec "$DIR/$SPEC" --mode "$1" "--$2" -o "$DIR/$3" || die "the generator failed"
	if [ "$CHECK" -eq 1 ]; then
		diff -u "$TOP/$3" "$DIR/$3" || die "$3 is not what $SPEC gives; run: scripts/netlink-gen.sh"
	else
		cmp -s "$DIR/$3" "$TOP/$3" || cp "$DIR/$3" "$TOP/$3"
	fi
}

main()
{
	CHECK=0
	[ "${1:-}" != --check ] || CHECK=1
	[ -f "$TOOL" ] && [ -f "$SCHEMA" ] || "$TOP/scripts/setup.sh" --ynl
	DIR=$(mktemp -d)
	trap 'rm -rf "$DIR"' EXIT
	# The generator wants them where they are in the kernel's tree; MAINTAINERS marks its root.
	install -D "$TOP/$SPEC" "$DIR/$SPEC"
	cp "$SCHEMA" "$DIR/Documentation/netlink"
	touch "$DIR/MAINTAINERS"
	generate uapi header include/uapi/linux/kvnet.h
	generate kernel source drivers/kvnet/nl/netlink_gen.c
	generate kernel header drivers/kvnet/nl/netlink_gen.h
}

main "$@"
