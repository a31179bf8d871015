#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Run the test programs given, print their TAP, and end in a count.
set -u

log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0
failed=0

for program; do
	"$program" >"$log" 2>&1
	status=$?
	cat "$log"
	ok=$(grep -c '^ok ' "$log")
	bad=$(grep -c '^not ok ' "$log")
	# It crashed, a sanitizer stopped it, or it did not say what failed.
	if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
		echo "not ok - $program: exit status $status"
		bad=1
	elif [ "$ok" -eq 0 ] && [ "$bad" -eq 0 ]; then
		echo "not ok - $program: no test ran"
		bad=1
	fi
	passed=$((passed + ok))
	failed=$((failed + bad))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
