#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs inside the test host or User-Mode Linux: the programs of selftests/uapi that are
# named, kselftest's TAP passed on; ends in "N passed, N failed, N skipped". Each is NAME,
# with or without its "_test", or NAME:VARIANT: kthread, with a worker that is a kernel
# thread; slow, with all fast paths off; or the layout of rings, such as packed,in_order.
# In a variant what is repeated for chance is repeated less often. With BACKEND=vhost they
# run against in-tree vhost_net. KSFT_STOP=1 ends at the first failure.
# shellcheck source=selftests/net/lib.sh
. /kvnet/selftests/net/lib.sh

PASSED=0
FAILED=0
SKIPPED=0
MOST=$((${KSFT_STOP:-0} ? 1 : 50))
# parameters: without it the same is done in another way
FAST_WAYS="rx_direct tx_direct shortcut tx_inline rx_inline tx_usecs rx_usecs poll_us"
PARAMETERS=/sys/module/kvnet/parameters
KCSAN=/sys/kernel/debug/kcsan
declare -A FAST

# run_program FILE VARIANT
run_program()
{
	local name=${1##*/} variant=$2 log=/tmp/uapi.log start status ok not_ok skipped

	start=$(uptime_now)
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

# run_named NAME[:VARIANT]
run_named()
{
	local variant='' name=$1 KVNET_LAYOUT=${KVNET_LAYOUT:-} KVNET_WORKER=${KVNET_WORKER:-} KSFT_LONG=${KSFT_LONG:-}

	[[ $name != *:* ]] || variant=${name#*:} KSFT_LONG=${KSFT_LONG:-1/3}
	name=${name%%:*} name=${name##*/} name=${name%_test}
	case $variant in
	'' | slow) ;;
	kthread) KVNET_WORKER=$variant ;;
	*) KVNET_LAYOUT=$variant ;;
	esac
	export KVNET_LAYOUT KVNET_WORKER KSFT_LONG
	fast_ways "$([ "$variant" = slow ] && echo off || echo on)"
	if [ -x "/kvnet/uapi/${name}_test" ]; then
		run_program "/kvnet/uapi/${name}_test" "${variant:-$KVNET_LAYOUT$KVNET_WORKER}"
	else
		echo "not ok - no test $name"
		FAILED=$((FAILED + 1))
	fi
}

# fast_ways on | off: all at once; the tests of each one say which of them it was
fast_ways()
{
	local name

	[ "$1" != "${FAST[are]:-on}" ] || return 0
	FAST[are]=$1
	for name in $FAST_WAYS; do
		if [ "$1" = off ]; then
			FAST[$name]=$(< "$PARAMETERS/$name")
			echo 0 > "$PARAMETERS/$name"
			[[ $(< "$PARAMETERS/$name") == [0N] ]] || { echo "not ok - $name cannot be switched off"; FAILED=$((FAILED + 1)); }
		else
			echo "${FAST[$name]}" > "$PARAMETERS/$name"
		fi
	done
}

main()
{
	local test

	# what the tests want of the kernel, which does not load it all by itself
	modprobe -a bridge veth fuse 2> /dev/null
	load_kvnet || { echo "not ok - loading kvnet.ko"; FAILED=1; }
	# a kernel that looks for data races begins now
	[ ! -w $KCSAN ] || echo on > $KCSAN
	if [ "$BACKEND" = vhost ]; then
		load_backend || { echo "not ok - loading vhost_net"; FAILED=1; }
		export KVNET_DEV=/dev/vhost-net
	fi
	for test; do
		[ $FAILED -ge "$MOST" ] || run_named "$test"
	done
	fast_ways on
	rmmod kvnet || { echo "not ok - rmmod after the tests"; FAILED=$((FAILED + 1)); }
	echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
	[ $FAILED -eq 0 ] && [ $PASSED -gt 0 ]
}

main "$@"
