#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The demonstration's part inside the test host: the same guest three times over,
# once per backend, measured, repeated; ends in one table.
# shellcheck source=selftests/net/lib.sh
. /kvnet/selftests/net/lib.sh
# shellcheck source=scripts/vm/bench.sh
. /kvnet/scripts/vm/bench.sh

REPEAT=${REPEAT:-3}
TIME=${TIME:-3}
ROWS=/tmp/rows

backend_title()
{
	case $1 in
	kvnet) echo "kvnet" ;;
	vhost) echo "in-tree vhost_net" ;;
	off) echo "QEMU's own device (vhost=off)" ;;
	esac
}

say()
{
	printf '[test host, %3.0fs] %s\n' "$(uptime_now)" "$*"
}

show_row()
{
	awk '{ printf "      %-14s %s\n", $3, $4 }'
}

measure()
{
	bench_rtt 50
	bench_tcp_to_guest -t "$TIME"
	bench_tcp_to_host -t "$TIME"
	bench_udp_to_guest "$TIME"
	bench_udp_to_host "$TIME"
}

# the module's own counters: the traffic really went through it
show_counters()
{
	[ "$BACKEND" = kvnet ] || return 0
	say "counters of /dev/kvnet, descriptor $(backend_fd) of QEMU (process $(guest_pid)):"
	kvnet_counters | grep -E 'packets|bytes|kicks|calls' | sed 's/^/      /'
	[ "$(kvnet_counter rx.packets)" -gt 1000 ] && [ "$(kvnet_counter tx.packets)" -gt 1000 ]
}

run_backend()
{
	BACKEND=$1
	say "round $2 of $REPEAT: guest on $(backend_title "$1")"
	load_backend && tap_create $TAP && guest_start || return
	guest_reachable 30 || return
	measure | tee -a $ROWS | show_row
	show_counters || { say "the module's counters do not show the traffic"; return 1; }
	guest_stop
	tap_delete $TAP
}

main()
{
	local round backend

	: > $ROWS
	say "test host is up: $(uname -r), guests on KVM with $("/opt/qemu-$QEMU/bin/qemu-system-x86_64" --version | sed -n 1p)"
	for ((round = 1; round <= REPEAT; round++)); do
		for backend in ${BACKENDS:-kvnet vhost off}; do
			run_backend "$backend" "$round" || { say "FAILED with $backend"; exit 1; }
		done
	done
	printf '\nMedians of %d rounds of %d s; guest with one vCPU on %s.\n' "$REPEAT" "$TIME" \
		"$([ "$VM_ACCEL" = kvm ] && echo 'nested KVM' || echo 'an emulated CPU: compare, do not take as absolute')"
	awk -f /kvnet/scripts/vm/table.awk $ROWS
}

main
