#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs inside User-Mode Linux or a test host: installed tests of selftests/uapi (make -C selftests
# install), from /kvnet/ksft. run_kselftest.sh reports them as skipped without the module, as
# passed with it, and one that has too little time as failed.
# Ends in "N passed, N failed, N skipped".
# shellcheck source=selftests/net/lib.sh
. /kvnet/selftests/net/lib.sh

KSFT=/kvnet/ksft/run_kselftest.sh
TEST=uapi:ioctl_test
NUMBER_OK='^ok 1 selftests: uapi: ioctl_test'

# says STATUS REGEX ARGUMENTS...: with this status, and exactly one line so
says()
{
	local status=$1 line=$2 said got=0

	shift 2
	said=$(sh $KSFT "$@" 2>&1) || got=$?
	[ $got -eq "$status" ] && [ "$(grep -cE "$line" <<< "$said")" -eq 1 ] || fail "status $got: $said"
}

without_the_module()
{
	says 0 "$NUMBER_OK # SKIP\$" -t $TEST
}

with_it()
{
	load_kvnet && says 0 "$NUMBER_OK\$" -t $TEST && says 0 '^# ok 1 ioctl_test\..* ms$' -t $TEST
}

one_too_slow()
{
	says 1 '^not ok 1 selftests: uapi: loop_test # TIMEOUT 1 seconds$' -o 1 -t uapi:loop_test
}

run_test "installed: test_without_the_module_is_skipped" without_the_module
run_test "installed: test_with_the_module_passes" with_it
run_test "installed: test_with_too_little_time_fails" one_too_slow
rmmod kvnet
echo "$TESTS_PASSED passed, $TESTS_FAILED failed, $TESTS_SKIPPED skipped"
[ "$TESTS_FAILED" -eq 0 ] && [ "$TESTS_PASSED" -gt 0 ]
