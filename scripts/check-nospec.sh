#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Is each index that the driver or the VMM has a say in masked in the object code, too
# (nospec.list)? Looks at the module as built for a kernel series, and first at code that
# lacks masks, which check-nospec.py has to find.
#
#   scripts/check-nospec.sh 6.12 | 6.1
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -eq 1 ] || die "usage: check-nospec.sh <one of: $SERIES_ALL>"
check_series "$1"
python3 -B "$TOP/scripts/check-nospec.py" --self-check
python3 -B "$TOP/scripts/check-nospec.py" "$BUILD/mod-$1/drivers/kvnet"
