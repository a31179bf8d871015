#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The tests: scripts/runner/__main__.py has the verbs and their options.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
have python3 || "$TOP/scripts/setup.sh" --packages-only
exec python3 -B "$TOP/scripts/runner" "$@"
