#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Description: MTU 9000, and segmentation and checksum offload on and off; each
# combination carries a stream that is compared byte by byte.
#
# @hosts: 6.12
declare -F run_test > /dev/null || exec bash "${0%/*}/run.sh" "${0##*/}"

OFFLOAD_BYTES=$((4 << 20))

set_mtu()
{
	ip link set $TAP mtu "$1" && guest ip link set eth0 mtu "$1"
}

test_mtu_9000()
{
	# shellcheck disable=SC2034 # read by traffic.sh
	local status DATAGRAMS=300

	set_mtu 9000 || return
	ping -q -c 10 -i 0.05 -M "do" -s 8972 -W 2 $GUEST_IP && udp_to guest 8900 &&
		udp_to host 8900 && streams_both_ways $OFFLOAD_BYTES
	status=$?
	set_mtu 1500
	return $status
}

# test_offload HOST-WORDS GUEST-WORDS: as for ethtool -K
test_offload()
{
	# shellcheck disable=SC2086 # lists of words
	ethtool -K $TAP $1 && guest "ethtool -K eth0 $2" && streams_both_ways $OFFLOAD_BYTES
}

run_test "offload: guest_boots" guest_need
run_test "offload: mtu_9000_long_frames_pass_unchanged" test_mtu_9000
run_test "offload: segmentation_off_streams_unchanged" \
	test_offload "tso off gso off gro off" "tso off gso off gro off"
run_test "offload: segmentation_and_checksum_off_streams_unchanged" \
	test_offload "tx off" "tx off rx off"
run_test "offload: checksum_alone_on_streams_unchanged" \
	test_offload "tx on" "tx on rx on"
run_test "offload: all_offloads_on_streams_unchanged" \
	test_offload "tso on gso on gro on" "tso on gso on gro on"
