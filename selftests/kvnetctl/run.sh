#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run the tests that are built in a directory: run.sh DIRECTORY TEST...; ends in
# "N passed, N failed, N skipped".
set -u

HERE=$(cd "$(dirname "$0")" && pwd)
DIR=$1
LOG=$DIR/log

shift
: > "$LOG"
"$HERE/../unit/run.sh" "${@/#/$DIR/}" | tee -a "$LOG"
for test in cli_test terminal_test; do
	python3 -B "$HERE/$test.py" "$DIR/kvnetctl" | tee -a "$LOG"
done
awk '/^[0-9]+ passed, / { passed += $1; failed += $3; n++ }
	END { printf "%d passed, %d failed, 0 skipped\n", passed, failed + (n != 3); exit failed || n != 3 }' "$LOG"
