#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Description: the guest reboots, by itself and by QEMU's reset; the device works.
#
# @hosts: 6.1
declare -F run_test > /dev/null || exec bash "${0%/*}/run.sh" "${0##*/}"

# after_reboot COMMAND...: that reboots the guest
after_reboot()
{
	guest_reboots "$@" && guest_reachable 30 && tcp_both_ways 20
}

reboot_inside()
{
	guest '(usleep 100000; reboot -f) > /dev/null 2>&1 &'
}

reset_under_load()
{
	(iperf -c $GUEST_IP -t 3 > /dev/null 2>&1 &)
	wait_until 10 tap_moves
	qmp system_reset
}

run_test "reboot: guest_boots" guest_need
run_test "reboot: reboot_by_the_guest_traffic_passes_again" after_reboot reboot_inside
run_test "reboot: reset_by_qemu_under_load_traffic_passes_again" after_reboot reset_under_load
