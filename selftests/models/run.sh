#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Models of what tests see by chance only: run_state.pml, which context may run a work, by spin;
# litmus/*.litmus, the barriers A to K of Documentation/ordering.rst, by herd7 and the
# kernel's memory model, or else by litmus.py, which knows as much of it as they need.
# Each has variants in which something is missing: these must be found wrong. Those of a litmus
# test are lines of its comment, "NAME: without FENCE of THREAD: RESULT".
#
#   KICKS=2 selftests/models/run.sh    more of them: five million states, some seconds
#   selftests/models/run.sh litmus     the barriers alone
set -euo pipefail

HERE=$(cd "$(dirname "$0")" && pwd)
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
PASSED=0 FAILED=0 SKIPPED=0

verdict()
{
	if [ "$1" -eq 0 ]; then
		echo "ok - $2"
		PASSED=$((PASSED + 1))
	else
		echo "not ok - $2"
		FAILED=$((FAILED + 1))
	fi
}

# spin_errors DEFINES...: how many it finds; nothing if it did not get through
spin_errors()
{
	(
		cd "$WORK"
		spin "$@" -a "$HERE/run_state.pml" > spin.log 2>&1
		gcc -O${OPTIMIZE:-0} -w -DSAFETY -DCOLLAPSE -DVECTORSZ=2048 -o pan pan.c
		./pan -m200000 > pan.log 2>&1
		! grep -q 'max search depth too small' pan.log || exit 1
		sed -n 's/.*errors: \([0-9]*\)$/\1/p' pan.log
	)
}

try_spin()
{
	local errors i

	if ! command -v spin > /dev/null || ! command -v gcc > /dev/null; then
		echo "ok - run_state.pml # SKIP no spin"
		SKIPPED=$((SKIPPED + 1))
		return
	fi
	for i in "" -DSTOP "-DFRAMES=2 -DCHANGES=0"; do
		# shellcheck disable=SC2086 # none or some
		errors=$(OPTIMIZE=1 spin_errors $i "-DKICKS=${KICKS:-1}") || true
		verdict "$([ "$errors" = 0 ]; echo $?)" "run_state.pml${i:+, $i}: never two, never nobody ($(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' "$WORK/pan.log") states)"
	done
	for i in 1 2 5 7 8 9; do
		errors=$(spin_errors -DKICKS=1 -DFRAMES=2 -DMUTANT=$i) || true
		verdict "$([ "${errors:-0}" -gt 0 ]; echo $?)" "run_state.pml, mutant $i: is found"
	done
	for i in 3 4 6 10 11; do
		errors=$(spin_errors -DSTOP -DKICKS=1 -DMUTANT=$i) || true
		verdict "$([ "${errors:-0}" -gt 0 ]; echo $?)" "run_state.pml, stop, mutant $i: is found"
	done
}

# Copies the tests to $WORK/litmus, and makes their variants there. An exchange is two fences as
# well: without them it is an increment, which orders nothing.
make_litmus()
{
	local file name fence thread result wanted

	mkdir "$WORK/litmus"
	cp "$HERE"/litmus/*.litmus "$WORK/litmus"
	for file in "$HERE"/litmus/*.litmus; do
		sed -n 's/^ \* \(.*\): without \(.*\) of \(P[0-9]\): \(.*\)/\1 \2 \3 \4/p' "$file" |
		while read -r name fence thread result; do
			sed -e "s/^C .*/C $name/" -e "s/Result: .*/Result: $result/" \
			    -e "/^$thread(/,/^}/s/int r. = $fence(\(.*\), .*)/atomic_inc(\1)/" \
			    -e "/^$thread(/,/^}/{/$fence(/d}" "$file" > "$WORK/litmus/$name.litmus"
		done
	done
	wanted=$(cat "$HERE"/litmus/*.litmus | grep -c -e '^ \* Result: ' -e ': without ')
	verdict "$(find "$WORK/litmus" -name '*.litmus' | wc -l | xargs test "$wanted" -eq; echo $?)" "each variant is made ($wanted tests)"
}

# Result lines of a tool, "Test NAME Never"; the file says what must come.
judge_litmus()
{
	local file name want got

	for file in "$WORK"/litmus/*.litmus; do
		name=$(basename "$file" .litmus)
		want=$(sed -n 's/.*Result: \(Never\|Sometimes\).*/\1/p' "$file")
		got=$(sed -n "s/^Observation $name \([A-Z][a-z]*\).*/\1/p" "$WORK/litmus.log")
		verdict "$([ -n "$want" ] && [ "$got" = "$want" ]; echo $?)" "$name: ${got:-no result}"
	done
}

try_litmus()
{
	local model=${LKMM:-/usr/share/linux-kernel-memory-model}

	if command -v herd7 > /dev/null && [ -f "$model/linux-kernel.cfg" ]; then
		echo "# herd7, $model"
		(cd "$model" && herd7 -conf linux-kernel.cfg "$WORK"/litmus/*.litmus) > "$WORK/litmus.log" 2>&1 || true
	else
		echo "# litmus.py, as there is no herd7 with LKMM=.../tools/memory-model"
		python3 -B "$HERE/litmus.py" "$WORK"/litmus/*.litmus > "$WORK/litmus.log" 2>&1 || cat "$WORK/litmus.log"
	fi
	judge_litmus
}

[ "${1:-}" = litmus ] || try_spin
make_litmus
try_litmus
echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
[ $FAILED -eq 0 ]
