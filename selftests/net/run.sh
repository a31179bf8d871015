#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs inside the test host (scripts/vm.sh): the test files named, without their
# "test_" and ".sh", or all; ends in "N passed, N failed, N skipped". With ":packed"
# behind its name a test's guests have packed rings.
#
#   BACKEND=kvnet|vhost|off QEMU=7.2|10.0 run.sh [name]...
DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/net/lib.sh
. "$DIR/lib.sh"
# shellcheck source=selftests/net/traffic.sh
. "$DIR/traffic.sh"

run_file()
{
	local LAYOUT=${LAYOUT:-} file_start

	[[ $1 != *:* ]] || LAYOUT=${1#*:}
	echo "## $1 (backend $BACKEND, QEMU $QEMU)"
	file_start=$(uptime_now)
	# shellcheck disable=SC1090 # named at run time
	. "$DIR/test_${1%:*}.sh"
	echo "# $1: all of it took $(took "$file_start") s"
}

main()
{
	local file

	if [ $# -eq 0 ]; then
		for file in "$DIR"/test_*.sh; do
			file=${file##*/test_}
			set -- "$@" "${file%.sh}"
		done
	fi
	for file; do
		run_file "$file"
	done
	guest_stop
	echo "$TESTS_PASSED passed, $TESTS_FAILED failed, $TESTS_SKIPPED skipped"
	[ "$TESTS_FAILED" -eq 0 ] && [ "$TESTS_PASSED" -gt 0 ]
}

main "$@"
