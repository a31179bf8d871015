#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Description: the newest QEMU that Debian has, with what it adds for vhost: buffers used
# in order, in split and packed rings; one queue pair, exchanged while the guest runs, and
# two by tools/qemu-kvnet.
#
# @tier: named
# @skip: (net|test)-.* | the newest QEMU could not be had | no network to backports
declare -F run_test > /dev/null || exec bash "${0%/*}/run.sh" "${0##*/}"

MRG_RXBUF=15
PACKED=34
IN_ORDER=35

# Linux before 7.0 knows no virtio device that uses its buffers in order
qemu_order()
{
	local major

	major=$(uname -r)
	[ "${major%%.*}" -ge 7 ] && echo $IN_ORDER || echo -$IN_ORDER
}

# qemu_works FEATURES DEVICE-OPTIONS
qemu_works()
{
	# shellcheck disable=SC2034 # read by traffic.sh
	local DATAGRAMS=200

	# shellcheck disable=SC2086 # a list of bits
	guest_need "$2" && guest_features $1 && ping_guest 20 &&
		stream_to_guest $((2 << 20)) && stream_to_host $((2 << 20)) && udp_to_guest 64
}

qemu_two_pairs()
{
	guest_stop
	tap_delete $TAP
	tap_create $TAP multi_queue && guest_boot wrapped_launch 2 ,packed=on,in_order=on && guest_reachable 30 || return
	guest ethtool -L eth0 combined 2 || fail "the guest does not take two pairs" || return
	guest_features $PACKED "$(qemu_order)" && ping_guest 20 &&
		stream_to_guest $((2 << 20)) && stream_to_host $((2 << 20))
}

qemu_main()
{
	local old=$QEMU

	[ "$BACKEND" != off ] || return 0
	if [ ! -d /opt/qemu-newest ]; then
		skip qemu "the newest QEMU could not be had"
		return 0
	fi
	QEMU=newest
	# shellcheck disable=SC2034 # read by lib.sh: devices are exchanged
	GUEST_MACHINE=pc
	echo "# $(/opt/qemu-newest/bin/qemu-system-x86_64 --version | sed -n 1p)"
	run_test "qemu: split rings" qemu_works "$MRG_RXBUF -$PACKED -$IN_ORDER" mrg_rxbuf=on
	run_test "qemu: split rings, in order" qemu_works "$MRG_RXBUF -$PACKED $(qemu_order)" in_order=on
	if [ "$BACKEND" = kvnet ]; then
		run_test "qemu: packed rings" qemu_works "$MRG_RXBUF $PACKED -$IN_ORDER" packed=on
		run_test "qemu: packed rings, in order" qemu_works "$MRG_RXBUF $PACKED $(qemu_order)" packed=on,in_order=on
		unset GUEST_MACHINE
		run_test "qemu: packed rings, in order, two queue pairs" qemu_two_pairs
	fi
	guest_stop
	tap_delete $TAP
	unset GUEST_MACHINE
	QEMU=$old
}

qemu_main
