#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Makes a copy of the module's sources whose calls to the kernel can be made to fail, one
# after the other (selftests/uapi/failing): a kvnet.ko for fault_each_test and others,
# which have allocations and user copies fail with any. What is wrapped is what that file has.
#
#   scripts/failing.sh DIRECTORY
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

FAILING=$TOP/selftests/uapi/failing/kvnet_failing.c

[ $# -eq 1 ] || die "usage: failing.sh DIRECTORY"
rm -rf "$1"
mkdir -p "$1"
cp -r "$TOP"/{Kbuild,drivers,include} "$1/"
cp "$FAILING" "$1/drivers/kvnet/"
{
	echo 'kvnet-y += kvnet_failing.o'
	sed -n 's/^WRAP(\(.*\));$/LDFLAGS_kvnet.o += --wrap=\1/p' "$FAILING"
} >> "$1/drivers/kvnet/Kbuild"
