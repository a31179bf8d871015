#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The tests: builds, unit tests, and the test host on both kernels. Goes on after
# a failure; the last line is "N passed, N failed".
#
#   scripts/test.sh all | unit | uapi | net
#
#   TESTS="name..."   net tests to run (default all; a shorter set on 6.1)
#   KERNEL=6.1        kernel of "uapi" and "net" (default 6.12)
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

PASSED=0
FAILED=0
SHORT_NET="traffic live variants kill module"

count()
{
	PASSED=$((PASSED + $1))
	FAILED=$((FAILED + $2))
}

# one step that is a test as a whole
step()
{
	local name=$1

	shift
	info "$name"
	if "$@"; then
		echo "ok - $name"
		count 1 0
	else
		echo "not ok - $name"
		count 0 1
	fi
}

# adds up every "N passed, N failed" line of a log; without any, it failed
count_log()
{
	local sums

	sums=$(awk '/^[0-9]+ passed, [0-9]+ failed$/ { p += $1; f += $3; n++ } END { print p + 0, f + 0, n + 0 }' "$1")
	# shellcheck disable=SC2086 # three numbers
	set -- $sums "$2"
	if [ "$3" -eq 0 ]; then
		echo "not ok - $4 did not come to its end"
		count 0 1
	fi
	count "$1" "$2"
}

# a failure that no test line shows (a bad kernel message, a timeout)
count_status()
{
	local before=$1 status=$2 name=$3

	if [ "$status" -ne 0 ] && [ "$FAILED" -eq "$before" ]; then
		echo "not ok - $name (status $status)"
		count 0 1
	fi
}

run_unit()
{
	local log=$BUILD/log/unit.log before=$FAILED status=0

	info "unit tests"
	mkdir -p "$BUILD/log"
	make -s -C "$TOP/selftests/unit" run > "$log" 2>&1 || status=$?
	grep -E '^not ok|^# |passed,|error|ERROR' "$log" || [ $status -eq 0 ] || tail -n 20 "$log"
	count_log "$log" "unit tests"
	count_status "$before" $status "unit tests"
}

# run_vm SERIES NAME SCRIPT ARGUMENTS...
run_vm()
{
	local series=$1 name=$2 before=$FAILED status=0 short=''

	shift 2
	[ "$series" != 6.1 ] || short=1
	info "$name: test host with kernel $series"
	"$TOP/scripts/vm.sh" --kernel "$series" --name "$name" --timeout 1700 --env "SHORT=$short" \
		--env "BACKEND=${BACKEND:-kvnet}" --env "QEMU=${QEMU:-7.2}" \
		--output "$BUILD/log/$name.tap" -- "$@" || status=$?
	count_log "$BUILD/log/$name.tap" "$name"
	count_status "$before" $status "$name"
}

build_uapi()
{
	make -s -C "$TOP/selftests/uapi" OUTPUT="$BUILD/uapi"
}

build_module()
{
	"$TOP/scripts/build-module.sh" --sparse "$1"
}

run_all()
{
	local series

	"$TOP/scripts/setup.sh"
	for series in $SERIES_ALL; do
		step "kvnet.ko for $series builds without a warning (W=1, sparse)" build_module "$series"
	done
	run_unit
	step "uapi tests build" build_uapi
	run_vm 6.12 test-6.12 "$TOP/scripts/vm/all.sh"
	# shellcheck disable=SC2086 # a list of names
	run_vm 6.1 test-6.1 "$TOP/scripts/vm/all.sh" $SHORT_NET
}

run_one()
{
	local series=${KERNEL:-6.12}

	"$TOP/scripts/setup.sh" "$series"
	step "kvnet.ko for $series" "$TOP/scripts/build-module.sh" "$series"
	[ "$FAILED" -eq 0 ] || return 0
	if [ "$1" = uapi ]; then
		step "uapi tests build" build_uapi
		run_vm "$series" "uapi-$series" "$TOP/scripts/vm/uapi.sh"
	else
		# shellcheck disable=SC2086 # a list of names
		run_vm "$series" "net-$series" "$TOP/selftests/net/run.sh" ${TESTS:-}
	fi
}

main()
{
	case ${1:-all} in
	all) run_all ;;
	unit)
		"$TOP/scripts/setup.sh" --packages-only
		run_unit
		;;
	uapi | net) run_one "$1" ;;
	*) die "usage: test.sh all | unit | uapi | net" ;;
	esac
	info "done"
	echo "$PASSED passed, $FAILED failed"
	[ "$FAILED" -eq 0 ]
}

main "$@"
