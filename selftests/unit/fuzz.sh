#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Runs each fuzz target for its share of the time, and says what came of it.
#
#   fuzz.sh DIRECTORY CORPUS SECONDS TARGET...
#
# New inputs are kept in DIRECTORY/TARGET; one that fails in DIRECTORY/TARGET-crash-*.
set -u

dir=$1
corpus=$2
seconds=$((($3 + $# - 4) / ($# - 3)))
shift 3
failed=0
passed=0

for target; do
	log=$dir/$target.log
	mkdir -p "$dir/$target"
	if "$dir/${target}_fuzz" -max_total_time="$seconds" -max_len=2048 -len_control=10 -use_value_profile=1 -print_final_stats=1 \
		-artifact_prefix="$dir/$target-" "$dir/$target" "$corpus/$target" > "$log" 2>&1; then
		passed=$((passed + 1))
		result=ok
	else
		failed=$((failed + 1))
		result='not ok'
		grep -E '^# |SUMMARY|Test unit written|^Base64' "$log"
	fi
	awk -v what="$result - fuzz $target" '
		/ cov: / { for (i = 1; i < NF; i++) { if ($i == "cov:") cov = $(i + 1); if ($i == "ft:") ft = $(i + 1) } }
		/stat::number_of_executed_units/ { n = $2 }
		/stat::new_units_added/ { new = $2 }
		END { printf "%s: %d executions, %d edges, %d features, %d new inputs\n", what, n, cov, ft, new }' "$log"
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
