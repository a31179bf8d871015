#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs inside the test host (scripts/vm.sh), or a test machine of one's own (places.sh):
# the test files named, with or without their "test_" and ".sh", or all; ends in "N
# passed, N failed, N skipped". With ":packed" behind its name a test's guests have
# packed rings. A file that is run by itself runs this. Status 4: all was skipped.
#
#   BACKEND=kvnet|vhost|off QEMU=7.2|10.0 run.sh [name]...
DIR=$(cd "$(dirname "$0")" && pwd)
PATH=$PATH:$DIR
# shellcheck source=selftests/net/lib.sh
. "$DIR/lib.sh"
# shellcheck source=selftests/net/traffic.sh
. "$DIR/traffic.sh"
# shellcheck source=selftests/net/places.sh
. "$DIR/places.sh"

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
	places || exit
	for file; do
		file=${file#test_}
		run_file "${file%.sh}"
	done
	guest_stop
	echo "$TESTS_PASSED passed, $TESTS_FAILED failed, $TESTS_SKIPPED skipped"
	[ "$TESTS_FAILED" -eq 0 ] || exit 1
	[ "$TESTS_PASSED" -gt 0 ] || exit $((TESTS_SKIPPED > 0 ? 4 : 1))
}

main "$@"
