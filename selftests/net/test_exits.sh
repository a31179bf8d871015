#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Description: on the data path nothing returns to QEMU. Counted per packet, for the
# backend and for QEMU's own device: context switches of QEMU's threads that
# are no virtual CPUs (its main loop, which would serve kicks and calls), and the
# process's read and write system calls (which would move packets through the tap).
#
# @hosts: 6.12
declare -F run_test > /dev/null || exec bash "${0%/*}/run.sh" "${0##*/}"

declare -A SWITCHES SYSCALLS

# context switches of all threads but the virtual CPUs and in-kernel workers
loop_switches()
{
	local task sum=0 n

	for task in "/proc/$(guest_pid)/task"/*; do
		case $(cat "$task/comm") in
		CPU* | vhost-* | kvnet*) continue ;;
		esac
		n=$(awk '/ctxt_switches/ { sum += $2 } END { print sum }' "$task/status")
		sum=$((sum + n))
	done
	echo $sum
}

io_calls()
{
	awk '/^sysc[rw]:/ { sum += $2 } END { print sum }' "/proc/$(guest_pid)/io"
}

tap_packets()
{
	cat /sys/class/net/$TAP/statistics/[rt]x_packets | awk '{ sum += $1 } END { print sum }'
}

# The figures for one backend, per 1000 packets of ping both ways.
count_packets()
{
	local switches calls packets

	switches=$(loop_switches)
	calls=$(io_calls)
	packets=$(tap_packets)
	ping -q -c 500 -f -W 2 $GUEST_IP || return
	packets=$(($(tap_packets) - packets))
	[ $packets -ge 950 ] || fail "only $packets packets" || return
	SWITCHES[$1]=$((($(loop_switches) - switches) * 1000 / packets))
	SYSCALLS[$1]=$((($(io_calls) - calls) * 1000 / packets))
	echo "# $1: per 1000 packets ${SWITCHES[$1]} switches of QEMU's loop, ${SYSCALLS[$1]} reads and writes"
}

# What comes with the packets comes with all of them. A machine that is slow, or loses
# some, has QEMU's own timers among the figures, or too few packets: once more.
count_backend()
{
	local BACKEND=$1

	guest_need && ping_guest 20 || return
	for _ in 1 2 3; do
		count_packets "$1" || continue
		[ "$1" != off ] && ! stays_out_of_qemu "$1" || return 0
	done
	[ -n "${SWITCHES[$1]:-}" ]
}

count_all()
{
	count_backend off && { [ "$BACKEND" = off ] || count_backend "$BACKEND"; }
}

# near nothing
stays_out_of_qemu()
{
	[ "${SWITCHES[$1]}" -le 20 ] || fail "QEMU's loop woke ${SWITCHES[$1]} times per 1000 packets" || return
	[ "${SYSCALLS[$1]}" -le 20 ] || fail "QEMU read or wrote ${SYSCALLS[$1]} times per 1000 packets"
}

# and one or more per packet for QEMU's own device
stays_in_kernel()
{
	[ "$BACKEND" != off ] || return 0
	stays_out_of_qemu "$BACKEND" || return
	[ "${SWITCHES[off]}" -ge 200 ] && [ "${SYSCALLS[off]}" -ge 500 ] || fail "the measurement does not see QEMU's own device work"
}

run_test "exits: backend_and_qemu_under_pings_are_counted" count_all
run_test "exits: data_path_does_not_return_to_qemu" stays_in_kernel
