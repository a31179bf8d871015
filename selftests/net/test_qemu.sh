#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Description: the newest QEMU that Debian has, with what it adds for vhost: buffers used
# in order, in split and packed rings; one queue pair, exchanged while the guest runs, and
# two by tools/qemu-kvnet.
#
# @tier: named
# @skip: (net|test)-.* | the newest QEMU could not be had | no network to backports
declare -F run_test > /dev/null || exec bash "${0%/*}/run.sh" "${0##*/}"

qemu_two_pairs()
{
	guest_stop
	tap_delete $TAP
	tap_create $TAP multi_queue && guest_boot wrapped_launch 2 ,packed=on,in_order=on && guest_reachable 30 || return
	guest ethtool -L eth0 combined 2 || fail "the guest does not take two pairs" || return
	guest_features $PACKED $ORDER && ping_guest 20 && streams_both_ways $((2 << 20))
}

qemu_main()
{
	# shellcheck disable=SC2034 # read by lib.sh
	local QEMU=newest GUEST_MACHINE=pc ORDER=$IN_ORDER

	[ "$BACKEND" != off ] || return 0
	if [ ! -d /opt/qemu-newest ]; then
		skip qemu "the newest QEMU could not be had"
		return 0
	fi
	# Linux before 7.0 knows no virtio device that uses its buffers in order
	[[ $(uname -r) != [1-6].* ]] || ORDER=-$IN_ORDER
	echo "# $(/opt/qemu-newest/bin/qemu-system-x86_64 --version | sed -n 1p)"
	run_test "qemu: split_rings_traffic_passes" guest_works "$MRG_RXBUF -$PACKED -$IN_ORDER" mrg_rxbuf=on
	run_test "qemu: split_rings_in_order_traffic_passes" guest_works "$MRG_RXBUF -$PACKED $ORDER" in_order=on
	if [ "$BACKEND" = kvnet ]; then
		run_test "qemu: packed_rings_traffic_passes" guest_works "$MRG_RXBUF $PACKED -$IN_ORDER" packed=on
		run_test "qemu: packed_rings_in_order_traffic_passes" guest_works "$MRG_RXBUF $PACKED $ORDER" packed=on,in_order=on
		GUEST_MACHINE='' run_test "qemu: packed_rings_in_order_two_pairs_traffic_passes" qemu_two_pairs
	fi
	guest_stop
	tap_delete $TAP
}

qemu_main
