#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs inside the test host or User-Mode Linux: the binaries of selftests/uapi that
# are named (with or without their "_test"), or all but those APART, kselftest's TAP
# passed on; ends in "N passed, N failed, N skipped". With BACKEND=vhost they run against in-tree
# vhost_net. With PACKED=1 those that use rings run a second time, with packed ones
# that are used in order, those of a worker's life with a worker that is a kernel
# thread, and those of the ways of a frame with all fast ways switched off. KSFT_STOP=1
# ends at the first failure.
# shellcheck source=selftests/net/lib.sh
. /kvnet/selftests/net/lib.sh

PASSED=0
FAILED=0
SKIPPED=0
RING_TESTS="loop_tx loop_rx notify lifecycle hostile live dirty_log dirty_log_errors iotlb_live tx_full content rx_inline_burst isolation"
KTHREAD_TESTS="lifecycle live ring_pin_change non_owner storm"
MOST=$((${KSFT_STOP:-0} ? 1 : 50))
# they wait for a minute to be over, take long, or want a module whose calls fail or wait
APART="idle isolation held_change fault_each fault_call fault_sum load_fail"
SLOW_TESTS="loop_rx loop_tx offload fault set_backend"
# parameters: without it the same is done in another way
FAST_WAYS="rx_direct tx_direct tx_inline rx_inline tx_usecs rx_usecs poll_us"
PARAMETERS=/sys/module/kvnet/parameters
KCSAN=/sys/kernel/debug/kcsan
declare -A FAST

run_binary()
{
	local name=${1##*/} log=/tmp/uapi.log start status ok not_ok skipped variant

	start=$(uptime_now)
	variant=${KVNET_LAYOUT:-}${KVNET_WORKER:-}${SLOW:-}
	echo "## $name${variant:+ ($variant)}"
	marker "begin $name"
	timeout "${UAPI_TIMEOUT:-900}" "$1" > $log 2>&1
	status=$?
	marker "end $name"
	cat $log
	echo "# $name${variant:+:$variant}: all of it took $(took "$start") s"
	skipped=$(grep -cE '^ok .*# SKIP' $log)
	ok=$(($(grep -cE '^ok ' $log) - skipped))
	not_ok=$(grep -cE '^not ok ' $log)
	# died, or said nothing: that is a failure too
	if [ $status -ne 0 ] && [ $status -ne 4 ] && [ "$not_ok" -eq 0 ]; then
		echo "not ok - $name ended with status $status"
		not_ok=1
	elif [ $((ok + not_ok + skipped)) -eq 0 ]; then
		echo "not ok - $name ran no test"
		not_ok=1
	fi
	PASSED=$((PASSED + ok))
	FAILED=$((FAILED + not_ok))
	SKIPPED=$((SKIPPED + skipped))
}

# run_named VARIANT NAME...: those that there are; with a variant those to which it
# makes a difference: "kthread", "slow", or a ring's layout
run_named()
{
	local variant=$1 some='' KVNET_LAYOUT=${KVNET_LAYOUT:-} KVNET_WORKER=${KVNET_WORKER:-} name binary

	case $variant in
	'') ;;
	kthread) KVNET_WORKER=$variant some=$KTHREAD_TESTS ;;
	slow) some=$SLOW_TESTS ;;
	*) KVNET_LAYOUT=$variant some=$RING_TESTS ;;
	esac
	export KVNET_LAYOUT KVNET_WORKER
	shift
	for name; do
		name=${name##*/} name=${name%_test}
		[ -z "$variant" ] || [[ " $some " == *" $name "* ]] || continue
		binary=/kvnet/uapi/${name}_test
		[ -x "$binary" ] || { echo "not ok - no test $name"; FAILED=$((FAILED + 1)); continue; }
		[ $FAILED -ge "$MOST" ] || run_binary "$binary"
	done
}

# All at once: the tests of each one say which of them it was.
fast_ways_off()
{
	local name

	for name in $FAST_WAYS; do
		FAST[$name]=$(< "$PARAMETERS/$name")
		echo 0 > "$PARAMETERS/$name"
		[[ $(< "$PARAMETERS/$name") == [0N] ]] || { echo "not ok - $name cannot be switched off"; FAILED=$((FAILED + 1)); }
	done
}

fast_ways_on()
{
	local name

	for name in $FAST_WAYS; do
		echo "${FAST[$name]}" > "$PARAMETERS/$name"
	done
}

all_but_apart()
{
	local file name

	for file in /kvnet/uapi/*_test; do
		name=${file##*/}
		[[ " $APART " == *" ${name%_test} "* ]] || echo "$name"
	done
}

main()
{
	# what the tests want of the kernel, which does not load it all by itself
	modprobe -a bridge veth fuse 2> /dev/null
	load_kvnet || { echo "not ok - loading kvnet.ko"; FAILED=1; }
	# a kernel that looks for data races begins now
	[ ! -w $KCSAN ] || echo on > $KCSAN
	if [ "$BACKEND" = vhost ]; then
		load_backend || { echo "not ok - loading vhost_net"; FAILED=1; }
		export KVNET_DEV=/dev/vhost-net
	fi
	# shellcheck disable=SC2046 # names
	[ $# -gt 0 ] || set -- $(all_but_apart)
	run_named "" "$@"
	if [ -n "${PACKED:-}" ]; then
		# all is done once more, but what is repeated for chance less often
		export KSFT_LONG=${KSFT_LONG:-1/3}
		run_named packed,in_order "$@"
		run_named kthread "$@"
		fast_ways_off
		SLOW=slow run_named slow "$@"
		fast_ways_on
	fi
	rmmod kvnet || { echo "not ok - rmmod after the tests"; FAILED=$((FAILED + 1)); }
	echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
	[ $FAILED -eq 0 ] && [ $PASSED -gt 0 ]
}

main "$@"
