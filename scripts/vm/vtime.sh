#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs inside the test host under virtual time: fixed work for each backend.
# shellcheck source=selftests/net/lib.sh
. /kvnet/selftests/net/lib.sh
# shellcheck source=scripts/vm/bench.sh
. /kvnet/scripts/vm/bench.sh

GUEST_APPEND=nokaslr
AMOUNT=${AMOUNT:-24M}
PINGS=${PINGS:-400}

# QEMU's threads that are neither virtual CPUs nor workers in the kernel
loop_switches()
{
	local task

	for task in "/proc/$(guest_pid)/task"/*; do
		case $(cat "$task/comm") in
		CPU* | vhost-* | kvnet*) ;;
		*) cat "$task/status" ;;
		esac
	done | awk '/ctxt_switches/ { sum += $2 } END { print sum }'
}

tap_packets()
{
	cat /sys/class/net/$TAP/statistics/[rt]x_packets | awk '{ sum += $1 } END { print sum }'
}

# counted NAME COMMAND...: also the switches of QEMU per packet meanwhile
counted()
{
	local name=$1 switches packets

	shift
	switches=$(loop_switches)
	packets=$(tap_packets)
	"$@"
	row "per-packet-switches-$name" "$(awk -v s=$(($(loop_switches) - switches)) \
		-v p=$(($(tap_packets) - packets)) 'BEGIN { printf "%.4f", p ? s / p : 0 }')"
}

flood()
{
	ping -q -f -c "$PINGS" $GUEST_IP | sed -n 's/^rtt [^=]*= //p' | {
		IFS=/ read -r min avg max _
		row rtt-min "$min"
		row rtt-avg "$avg"
		row rtt-max "$max"
	}
}

# One CPU does all the work. Emulated CPUs take turns here, and one that is woken
# by the other waits for the other's turn to end, often a whole timer tick: such
# waits would hide the length of the path, which is what is compared.
pin_everything()
{
	local task

	for task in $(ps -o pid,comm | awk '$2 ~ /^(kvnet|vhost)-/ { print $1 }'); do
		taskset -p 1 "$task" > /dev/null || return
	done
}

main()
{
	taskset -p 1 $$ > /dev/null
	for BACKEND in ${BACKENDS:-kvnet vhost off}; do
		load_backend && tap_create $TAP && guest_start && guest_reachable 30 || exit
		pin_everything || exit
		ping_guest 3 > /dev/null
		counted rtt flood
		counted to-guest bench_tcp_to_guest -n "$AMOUNT"
		counted to-host bench_tcp_to_host -n "$AMOUNT"
		[ "$BACKEND" != kvnet ] || kvnet_counters | sed 's/^/@counter /'
		guest_stop
		tap_delete $TAP
	done
}

main
