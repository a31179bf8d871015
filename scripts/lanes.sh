# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For packages.sh and build-matrix.sh: what counts tests, and lanes, in which they run what
# does not need each other at the same time. The tests have theirs in scripts/runner.

PASSED=0
FAILED=0
SKIPPED=0
# what has been skipped, by any lane: where, test, reason; and "allowed" where the script said so
SKIPS=$(mktemp)
# what has failed, by any lane, with what was said of it: shown once more at the very end
FAILURES=$(mktemp)

declare -A LANES=()
LANE=''

### counting

count()
{
	PASSED=$((PASSED + $1))
	FAILED=$((FAILED + $2))
}

# a lane's steps are numbered: STEPS of them
say()
{
	local text=$*

	if [ "${STEPS:-0}" -gt 0 ]; then
		STEP_NUMBER=$((${STEP_NUMBER:-0} + 1))
		text="step $STEP_NUMBER of $STEPS: $text"
	fi
	info "$text"
	[ -z "$LANE" ] || tell "$text"
}

# skip WHERE TEST REASON: this may be; what a log says was skipped may not
skip()
{
	echo "# SKIP $2: $3"
	printf '%s\t%s\t%s\tallowed\n' "$@" >> "$SKIPS"
}

# failed WHAT: of which no log has more to say
failed()
{
	echo "not ok - $1"
	echo "# failed: $1" >> "$FAILURES"
	count 0 1
}

# one step that is a test as a whole
step()
{
	local name=$1

	shift
	say "$name"
	if "$@"; then
		echo "ok - $name"
		count 1 0
	else
		failed "$name"
	fi
}

# count_log LOG WHERE NAME: adds up every "N passed, N failed, N skipped" line; without any, it
# failed. Notes what was skipped, and what failed with the last lines before it.
count_log()
{
	local sums

	touch "$1"
	sums=$(awk '/^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$/ { p += $1; f += $3; n++ } END { print p + 0, f + 0, n + 0 }' "$1")
	sed -E -e '/# SKIP/!d' -e "s/^ok [0-9]+ (\S+) # SKIP (.*) # [0-9]+ ms\$/$2\t\1\t\2/;t" \
		-e "s/^# SKIP ([^:]+): (.*)\$/$2\t\1\t\2/;t" -e "s/^.*\$/$2\tunknown\t&/" "$1" >> "$SKIPS"
	awk -v where="$2" '
		/^not ok/ { for (i = n > 8 ? n - 8 : 0; i < n; i++) print line[i]; print "# failed: " where ": " $0 }
		{ n = /^#/ && !/^# SKIP/ ? n : 0 }
		/^#/ { line[n++] = $0 }' "$1" >> "$FAILURES"
	# shellcheck disable=SC2086 # three numbers
	set -- "$3" $sums
	if [ "$4" -eq 0 ]; then
		failed "$1 did not come to its end"
	fi
	count "$2" "$3"
}

# a failure that no test line shows (a bad kernel message, a timeout)
count_status()
{
	local before=$1 status=$2 name=$3 console=$BUILD/log/$3/console.log

	[ "$status" -ne 0 ] || return 0
	[ ! -s "$console" ] || { "$TOP/scripts/dmesg-verdict.sh" "$console" || true; } | sed -n '1,8s/^bad/# &/p' >> "$FAILURES"
	[ "$FAILED" -ne "$before" ] || failed "$name (status $status)"
}

# says what was skipped; what may not be failed. Then all that failed is said once more.
count_skips()
{
	local verdict bad

	verdict=$(awk -F '\t' '{ print ($4 == "allowed" ? "# skipped: " : "not ok - skipped: ") $1 ": " $2 ": " $3 }' "$SKIPS")
	[ -z "$verdict" ] || echo "$verdict"
	bad=$(grep -c '^not ok' <<< "$verdict") || true
	# shellcheck disable=SC2034 # for those that use this
	SKIPPED=$(($(wc -l < "$SKIPS") - bad))
	count 0 "$bad"
	grep '^not ok' <<< "$verdict" | sed 's/^not ok - /# failed: /' >> "$FAILURES" || true
	cat "$FAILURES"
}

### lanes

# lane NAME COMMAND...: in the background; a process group, so that it can be ended
lane()
{
	local name=$1 log=$BUILD/log/lane-$1

	shift
	mkdir -p "$BUILD/log"
	rm -f "$log.count"
	set -m
	(
		set +m
		trap - EXIT INT TERM
		exec 3>&1 > "$log.log" 2>&1 < /dev/null
		LANE=$name PASSED=0 FAILED=0
		export KVNET_LANE=$name
		"$@"
		times > "$log.times"
		echo "$PASSED $FAILED $(cpu_seconds < "$log.times")" > "$log.count"
	) &
	set +m
	LANES[$!]=$name
}

# of what "times" says of a shell and its children
cpu_seconds()
{
	tr 'ms' '  ' | awk '{ sum += 60 * ($1 + $3) + $2 + $4 } END { printf "%d\n", sum }'
}

# waits for all lanes; one that did not come to its end counts as failed
lanes_end()
{
	local pid name sums

	while [ ${#LANES[@]} -gt 0 ]; do
		wait -n -p pid "${!LANES[@]}" || true
		name=${LANES[$pid]}
		unset "LANES[$pid]"
		sums=$(cat "$BUILD/log/lane-$name.count" 2>/dev/null) || {
			sums="0 1 died"
			echo "# failed: lane $name: died" >> "$FAILURES"
		}
		echo
		printf '[%4ds] ===== %s: %s =====\n' "$(elapsed)" "$name" \
			"$(awk '{ print $1, "passed,", $2, "failed,", $3 == "died" ? $3 : $3 " s of CPU" }' <<< "$sums")"
		cat "$BUILD/log/lane-$name.log"
		# shellcheck disable=SC2086 # numbers
		count ${sums% *}
	done
}

# shellcheck disable=SC2317 # a trap
lanes_kill()
{
	local pid

	for pid in "${!LANES[@]}"; do
		kill -- "-$pid" 2>/dev/null || true
	done
}

# shellcheck disable=SC2317 # a trap
cleanup()
{
	lanes_kill
	rm -f "$SKIPS" "$FAILURES"
}
