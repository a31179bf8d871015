#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Runs fuzz targets for a number of executions, each for its share of them, slice by slice
# in turn; goes on where it was stopped. Then what was found goes through the targets with
# all sanitizers.
#
#   mass.sh DIRECTORY RUNS TARGET=PERCENT=CHECKED=CORPUS...
#
# DIRECTORY has TARGET_mass; CHECKED is the program with sanitizers. New inputs are kept in
# DIRECTORY/TARGET, what was executed in DIRECTORY/TARGET.total: a slice counts when it is
# over.
set -u

dir=$1
runs=$2
shift 2
SLICE=10000000		# of all targets together
failed=0

part()
{
	echo "$1" | cut -d = -f "$2"
}

total()
{
	cat "$dir/$1.total" 2> /dev/null || echo 0
}

# slice TARGET CORPUS RUNS
slice()
{
	log=$dir/$1.log
	mkdir -p "$dir/$1"
	if "$dir/$1_mass" -runs="$3" -max_len=512 -len_control=10 -timeout=20 -print_final_stats=1 -artifact_prefix="$dir/$1-" \
		"$dir/$1" "$2" > "$log" 2>&1; then
		n=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
		echo $(($(total "$1") + n)) > "$dir/$1.total"
		return 0
	fi
	echo "not ok - $1"
	grep -E '^# |SUMMARY|Test unit written' "$log"
	return 1
}

# which targets have not had theirs; prints how many
behind()
{
	n=0
	for spec; do
		[ "$(total "$(part "$spec" 1)")" -ge $((runs * $(part "$spec" 2) / 100)) ] || n=$((n + 1))
	done
	echo $n
}

while [ $failed -eq 0 ] && [ "$(behind "$@")" -gt 0 ]; do
	for spec; do
		target=$(part "$spec" 1) percent=$(part "$spec" 2)
		want=$((runs * percent / 100 - $(total "$target")))
		most=$((SLICE * percent / 100))
		[ "$want" -gt 0 ] || continue
		[ "$want" -lt "$most" ] || want=$most
		slice "$target" "$(part "$spec" 4)" "$want" || failed=$((failed + 1))
	done
done
all=0
for spec; do
	target=$(part "$spec" 1) checked=$(part "$spec" 3) result=ok
	if ! "$checked" -runs=0 -print_final_stats=1 "$dir/$target" "$(part "$spec" 4)" > "$dir/$target.checked" 2>&1; then
		result='not ok' failed=$((failed + 1))
		grep -E '^# |SUMMARY' "$dir/$target.checked"
	fi
	all=$((all + $(total "$target")))
	awk -v what="$result - fuzz $target" -v total="$(total "$target")" '
		/ cov: / { for (i = 1; i < NF; i++) { if ($i == "cov:") cov = $(i + 1); if ($i == "ft:") ft = $(i + 1); if ($i == "corp:") corp = $(i + 1) } }
		END { sub("/.*", "", corp); printf "%s: %d executions, %d edges, %d features, %d inputs\n", what, total, cov, ft, corp }' "$dir/$target.log"
done
echo "$all executions in all, $failed failed"
[ "$failed" -eq 0 ]
