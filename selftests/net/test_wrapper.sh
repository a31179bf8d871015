#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Description: tools/qemu-kvnet starts a stock QEMU on kvnet, with one queue
# pair (test_mq.sh has it start more), and refuses bad input with one line that helps.
#
# @hosts: 6.1
declare -F run_test > /dev/null || exec bash "${0%/*}/run.sh" "${0##*/}"

WRAPPER=/kvnet/tools/qemu-kvnet

start_wrapped()
{
	guest_boot wrapped_launch 1 '' && guest_reachable 30
}

fresh_tap()
{
	guest_stop
	tap_delete $TAP
	tap_create $TAP "$@"
}

test_single()
{
	load_backend && fresh_tap && start_wrapped && ping_guest 20 && tcp_both_ways 20
}

# refuses WORDS -- OPTIONS...: fails with one line that has the words in it
refuses()
{
	local words=$1 said

	shift 2
	said=$(bash $WRAPPER "$@" 2>&1) && fail "accepted: $*" && return 1
	[ "$(wc -l <<< "$said")" -eq 1 ] && [[ $said == *"$words"* ]] || fail "said: $said"
}

test_bad_input()
{
	guest_stop
	refuses "no QEMU command" -- --ifname $TAP &&
		refuses "unknown option" -- --frobnicate true &&
		refuses "needs a value" -- --queues &&
		refuses "from 1 to 256" -- --queues 0 true &&
		refuses "make load" -- --device /dev/absent true &&
		refuses "is no device node" -- --device /etc/passwd true &&
		refuses "ip tuntap add dev absent" -- --ifname absent true &&
		refuses "is not a tap" -- --ifname lo true &&
		refuses "no such program" -- --ifname $TAP absent-qemu || return
	fresh_tap && refuses "has one queue" -- --queues 2 true || return
	fresh_tap multi_queue && refuses "is multi_queue" -- --queues 1 true || return
	bash $WRAPPER --help | grep -q -- --ifname
}

# as by nsenter -n: /sys has the taps of another one, and no such
test_other_namespace()
{
	guest_stop
	# shellcheck disable=SC2016 # for the shell there
	busybox unshare -n bash -c 'ip tuntap add dev elsewhere mode tap vnet_hdr && exec bash "$0" --ifname elsewhere --dry-run true' $WRAPPER |
		grep -q 'ifname=elsewhere'
}

if [ "$BACKEND" = kvnet ]; then
	run_test "wrapper: one_queue_pair_traffic_passes" test_single
	run_test "wrapper: bad_input_prints_one_line" test_bad_input
	run_test "wrapper: tap_of_another_namespace_is_found" test_other_namespace
	fresh_tap
fi
