#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
have /usr/bin/python3 || "$TOP/scripts/setup.sh" --packages-only
exec /usr/bin/python3 -B "$TOP/tools/bench" "$@" # says what it can: --help
