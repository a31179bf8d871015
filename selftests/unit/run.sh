#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Run the test programs given, as many at once as there are CPUs, print their
# TAP in order, and end in a count. UNDER is a command that runs them, an emulator.
set -u

export UNDER="${UNDER:-}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
passed=0
failed=0
i=0

for program; do
	i=$((i + 1))
	printf '%s\n%s\n' "$i" "$program"
done | xargs -d '\n' -n 2 -P "$(nproc)" sh -c \
	'$UNDER "$2" >"$0/$1.log" 2>&1; echo $? >"$0/$1.status"' "$dir"

i=0
for program; do
	i=$((i + 1))
	log=$dir/$i.log
	status=$(cat "$dir/$i.status")
	cat "$log"
	ok=$(grep -c '^ok ' "$log")
	bad=$(grep -c '^not ok ' "$log")
	# It crashed, a sanitizer stopped it, or it did not say what failed.
	if [ "$status" != 0 ] && [ "$bad" -eq 0 ]; then
		echo "not ok - $program: exit status $status"
		bad=1
	elif [ "$ok" -eq 0 ] && [ "$bad" -eq 0 ]; then
		echo "not ok - $program: no test ran"
		bad=1
	fi
	passed=$((passed + ok))
	failed=$((failed + bad))
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
