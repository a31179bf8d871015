#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Description: the guest's driver and QEMU change things while traffic runs.
#
# @hosts: 6.12
# @skip: net-.* | link_off_and_on_by_qemu_traffic_goes_on: QEMU 7\.2 .* | make test has QEMU 7.2 with split rings
declare -F run_test > /dev/null || exec bash "${0%/*}/run.sh" "${0##*/}"

traffic_goes_on()
{
	guest_reachable 30 && wait_until 30 tap_moves || fail "traffic does not go on"
}

# under_load FUNCTION: a change in the middle of traffic both ways
under_load()
{
	local status

	load_start
	traffic_goes_on && "$@" && traffic_goes_on
	status=$?
	load_stop
	[ $status -eq 0 ] && ping_guest 10
}

# impossible FUNCTION: why that change cannot be tried here, or nothing
impossible()
{
	case $1 in
	monitor_link)
		[ "${LAYOUT:-}" != packed ] || [ "$QEMU" != 7.2 ] ||
			echo "QEMU 7.2 does not survive this with packed rings, whatever the backend"
		;;
	resize_ring)
		[ "$BACKEND" != vhost ] || [[ $(uname -r) != 6.1.* ]] ||
			echo "in-tree vhost_net of 6.1 offers no queue reset"
		;;
	esac
}

# change TITLE FUNCTION: a test of its own, or a skip
change()
{
	local why

	why=$(impossible "$2")
	if [ -n "$why" ]; then
		skip live "$1: $why"
	else
		run_test "live: $1" under_load "$2"
	fi
}

monitor_link()
{
	for _ in 1 2 3; do
		qmp set_link name=nic0 up=false || return
		wait_until 10 guest 'grep -q 0 /sys/class/net/eth0/carrier' || return
		qmp set_link name=nic0 up=true || return
		wait_until 10 guest 'grep -q 1 /sys/class/net/eth0/carrier' || return
	done
}

rebind_driver()
{
	guest killall -q ping
	guest_rebinds_driver "ping ${LOAD_PING:--f} -s 1000 $HOST_IP > /dev/null 2>&1 &" && guest_reachable 30
}

# Moving an interrupt between the two virtual CPUs masks its MSI-X entry, changes
# it and unmasks it: each time QEMU switches the call descriptor of a live ring.
mask_vectors()
{
	guest 'for i in $(seq 30); do
		for irq in $(sed -n "s/^ *\([0-9]*\):.*virtio.*put.*/\1/p" /proc/interrupts); do
			echo 1 > /proc/irq/$irq/smp_affinity && echo 2 > /proc/irq/$irq/smp_affinity || exit 1;
		done;
	done;
	grep -q "virtio.*input" /proc/interrupts'
}

# each resize resets one queue alone where the guest and QEMU know how to
resize_ring()
{
	local size

	for size in 128 64 256; do
		guest "ethtool -G eth0 rx $size" || fail "resizing rx to $size" || return
		guest "ethtool -G eth0 tx $size" || fail "resizing tx to $size" || return
		guest_reachable 10 || return
	done
	# else the guest had refused, and nothing was tested
	guest_feature $RING_RESET 1
}

pause_resume()
{
	local round

	qmp no-such-command 2> /dev/null && fail "qmp takes an error for an answer" && return 1
	for round in 1 2 3; do
		echo "round $round"
		qmp stop || return
		guest -t 1 true && fail "the guest did not stop" && return 1
		qmp cont || return
		wait_until 10 guest true || return
	done
}

# scripts/vm/soak-guest.sh does these in an order of its own
[ -z "${SOAK:-}" ] || return 0

# shellcheck disable=SC2034 # read by lib.sh
GUEST_SMP=2
run_test "live: guest_with_two_cpus_boots" guest_need
change link_down_and_up_by_guest_traffic_goes_on guest_link_down_up
change link_off_and_on_by_qemu_traffic_goes_on monitor_link
change driver_bound_anew_traffic_goes_on rebind_driver
change interrupts_moved_traffic_goes_on mask_vectors
change rings_resized_traffic_goes_on resize_ring
change machine_stopped_and_continued_traffic_goes_on pause_resume
run_test "live: tcp_afterwards_completes" tcp_both_ways 20
unset GUEST_SMP
