#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs the tests that are installed beside it (make -C selftests install), as the
# kernel's script of this name does, and prints TAP: one line for each test program,
# with all that it says before that as comments.
#
#   run_kselftest.sh [-s] [-d] [-c COLLECTION]... [-t COLLECTION:TEST]... [-o SECONDS]
#
#   -c, --collection NAME     all tests of it        -l, --list      names of all tests
#   -t, --test NAME:TEST      one of them            -d, --dry-run   what would run
#   -o, --override-timeout N  seconds for each, in place of that of "settings"
#   -s, --summary             their output into files /tmp/COLLECTION-TEST.log
#
# A test's status: 0 passed, 4 skipped, anything else failed. Returns 1 if any has.
set -u

BASE=$(cd "$(dirname "$0")" && pwd)
LIST=$BASE/kselftest-list.txt
TIMEOUT=''
DRY=''
SUMMARY=''
TESTS=''
number=0
failed=0

usage()
{
	sed -n '4,/^set -u/{/^set/d;s/^# \{0,1\}//;p;}' "$0"
	exit "$1"
}

stop()
{
	echo "run_kselftest.sh: $*" >&2
	exit 1
}

# seconds_for DIRECTORY: 45, as in the kernel, where nothing says otherwise
seconds_for()
{
	seconds=$TIMEOUT
	[ -n "$seconds" ] || seconds=$(sed -n 's/^timeout=\([0-9]*\)$/\1/p' "$1/settings" 2> /dev/null)
	[ -n "$seconds" ] || seconds=45
}

# under COMMAND...: with the time that it has
under()
{
	if [ "$seconds" -gt 0 ]; then
		timeout "$seconds" "$@"
	else
		"$@"
	fi
}

# run_one COLLECTION PROGRAM: the status comes through a file, since sh has no pipefail
run_one()
{
	name=$(basename "$2")
	number=$((number + 1))
	seconds_for "$(dirname "$2")"
	echo "# selftests: $1: $name"
	echo "# timeout set to $seconds"
	if [ -n "$DRY" ]; then
		echo "ok $number selftests: $1: $name # SKIP dry run"
		return
	fi
	if [ ! -x "$2" ]; then
		status=126
		echo "# $2 cannot be run"
	elif [ -n "$SUMMARY" ]; then
		(cd "$(dirname "$2")" && under "./$name") > "/tmp/$1-$name.log" 2>&1 < /dev/null
		status=$?
	else
		{ (cd "$(dirname "$2")" && under "./$name") 2>&1 < /dev/null; echo $? > "$STATUS"; } | sed 's/^/# /'
		status=$(cat "$STATUS")
	fi
	case $status in
	0) echo "ok $number selftests: $1: $name" ;;
	4) echo "ok $number selftests: $1: $name # SKIP" ;;
	124) echo "not ok $number selftests: $1: $name # TIMEOUT $seconds seconds" ;;
	*) echo "not ok $number selftests: $1: $name # exit=$status" ;;
	esac
	[ "$status" -eq 0 ] || [ "$status" -eq 4 ] || failed=$((failed + 1))
}

begin()
{
	STATUS=$(mktemp)
	trap 'rm -f "$STATUS"' EXIT
	trap 'exit 130' INT TERM
	echo "TAP version 13"
	echo "1..$1"
}

# for lib.mk: what is built and not installed
run_programs()
{
	collection=$1
	shift
	begin $#
	for program; do
		run_one "$collection" "$program"
	done
	[ $failed -eq 0 ]
}

parse_options()
{
	while [ $# -gt 0 ]; do
		case $1 in
		-c | --collection | -t | --test | -o | --override-timeout) [ $# -ge 2 ] || stop "$1 needs a value" ;;
		esac
		case $1 in
		-l | --list) cat "$LIST"; exit ;;
		-d | --dry-run) DRY=1 ;;
		-s | --summary) SUMMARY=1 ;;
		-h | --help) usage 0 ;;
		-o | --override-timeout) TIMEOUT=$2; shift ;;
		-c | --collection)
			found=$(grep "^$2:" "$LIST") || stop "no collection $2; there are: $(cut -d: -f1 "$LIST" | sort -u | tr '\n' ' ')"
			TESTS="$TESTS $found"
			shift
			;;
		-t | --test)
			grep -qxF "$2" "$LIST" || stop "no test $2; see run_kselftest.sh -l"
			TESTS="$TESTS $2"
			shift
			;;
		*) usage 1 >&2 ;;
		esac
		shift
	done
	case $TIMEOUT in
	*[!0-9]*) stop "'$TIMEOUT' is no number of seconds" ;;
	esac
}

if [ "${1:-}" = --programs ]; then
	shift
	run_programs "$@"
	exit
fi
[ -f "$LIST" ] || stop "no $LIST: install the tests first (make -C selftests install)"
parse_options "$@"
[ -n "$TESTS" ] || TESTS=$(cat "$LIST")
# shellcheck disable=SC2086 # a list of words
set -- $TESTS
begin $#
for test; do
	run_one "${test%%:*}" "$BASE/${test%%:*}/${test#*:}"
done
[ $failed -eq 0 ]
