#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh" && exec python3 -B "$TOP/scripts/machine" uml "$@"
