#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Description: plain traffic both ways, and its bytes arrive unchanged.
#
# @hosts: newest
# @first-host: 6.12
declare -F run_test > /dev/null || exec bash "${0%/*}/run.sh" "${0##*/}"

# each way
STREAM_BYTES=${STREAM_BYTES:-$((1 << 27))}

test_counters()
{
	local rx tx

	[ "$BACKEND" = kvnet ] || return 0
	rx=$(kvnet_counter rx.packets) && tx=$(kvnet_counter tx.packets) || return
	echo "# kvnet carried $rx packets to the guest, $tx from it"
	[ "$rx" -gt 1000 ] && [ "$tx" -gt 1000 ]
}

# Kicks that find nothing and needless calls would not show in rates. Reading the counters
# takes some milliseconds, in which no worker may poll.
workers_are_idle()
{
	local polls

	polls=$(kvnet_counter '.*.polls') || return
	for _ in {1..10}; do
		[ "$(kvnet_counter '.*.polls')" = "$polls" ] || return
	done
}

test_quiet_when_idle()
{
	[ "$BACKEND" = kvnet ] || return 0
	wait_until 20 workers_are_idle || fail "the workers are not idle: $(kvnet_counters | grep polls)"
}

run_test "traffic: guest_boots" guest_need
run_test "traffic: ping_answered" ping_guest 100
run_test "traffic: ping_of_20000_bytes_answered" ping -q -c 10 -i 0.05 -s 20000 -W 2 $GUEST_IP
run_test "traffic: tcp_to_guest_completes" tcp_to_guest 100
run_test "traffic: tcp_to_host_completes" tcp_to_host 100
run_test "traffic: udp_of_64_bytes_to_guest_arrives_once" udp_to guest 64
run_test "traffic: udp_of_64_bytes_to_host_arrives_once" udp_to host 64
run_test "traffic: udp_of_1472_bytes_to_guest_arrives_once" udp_to guest 1472
run_test "traffic: udp_of_1472_bytes_to_host_arrives_once" udp_to host 1472
run_test "traffic: backend_counters_show_the_packets" test_counters
run_test "traffic: workers_without_traffic_do_not_poll" test_quiet_when_idle
run_test "traffic: stream_of_${STREAM_BYTES}_bytes_to_guest_unchanged" stream_to guest "$STREAM_BYTES"
run_test "traffic: stream_of_${STREAM_BYTES}_bytes_to_host_unchanged" stream_to host "$STREAM_BYTES"
