#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Makes a copy of the module's sources that counts nothing, for the laboratory to measure
# beside the real one (test "counters"): kvnet_uncounted.ko, whose node is
# /dev/kvnet_uncounted, and which may be loaded together with kvnet. The sources are the
# same, but that KVNET_STATS_ENABLED (stats.h) is false.
#
#   scripts/uncounted.sh DIRECTORY
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -eq 1 ] || die "usage: uncounted.sh DIRECTORY"
rm -rf "$1"
mkdir -p "$1"
cp -r "$TOP"/{Kbuild,drivers,include} "$1/"
stats="$1/drivers/kvnet/obs/stats.h"
sed -i 's/^#define KVNET_STATS_ENABLED\ttrue$/#define KVNET_STATS_ENABLED\tfalse/' "$stats"
! cmp -s "$TOP/drivers/kvnet/obs/stats.h" "$stats" || die "stats.h has no KVNET_STATS_ENABLED to switch off"
# node and family are called as the module is, TRACE_SYSTEM is the word kvnet
cat >> "$1/drivers/kvnet/Kbuild" <<'EOF'

obj-m := kvnet_uncounted.o
kvnet_uncounted-y := $(kvnet-y)
ccflags-y += -Dkvnet=kvnet_uncounted
EOF
