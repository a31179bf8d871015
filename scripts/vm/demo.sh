#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The demonstration's part inside the test host: one guest with three network
# devices, on kvnet, on vhost_net and on QEMU itself. Prints rows of what each
# carries, in turn, and in the end what /dev/kvnet counted, beside the guest's count.
#
#   LANE      vtime (instructions are counted, work is fixed) or kvm
#   REP       the seed, in vtime
#   ROUNDS    how often all is measured
#   PINGS, TCP, UDP   how much: a number, and iperf's amounts ("-t 1", "-n 48M")
# shellcheck source=selftests/net/lib.sh
. /kvnet/selftests/net/lib.sh
# shellcheck source=scripts/vm/bench-guest-count.sh
. /kvnet/scripts/vm/bench-guest-count.sh
# shellcheck source=scripts/vm/bench-guest-system.sh
. /kvnet/scripts/vm/bench-guest-system.sh
# shellcheck source=scripts/vm/bench.sh
. /kvnet/scripts/vm/bench.sh

LANE=${LANE:-kvm}
REP=${REP:-1}
ROUNDS=${ROUNDS:-1}
PINGS=${PINGS:-200}
read -ra TCP <<< "${TCP:--t 1}"
read -ra UDP <<< "${UDP:--t 1}"
SYSTEMS=(kvnet vhost_net qemu)

# use N: from now on, the N-th device of the guest and what it is on
use()
{
	SYSTEM=${SYSTEMS[$1]}
	system_choose "$SYSTEM"
	TAP=tap$1
	HOST_IP=10.9.$1.1
	GUEST_IP=10.9.$1.2
	GUEST_NIC_NAME=eth$1
}

devices_prepare()
{
	local n

	MORE=()
	for n in 1 2 0; do
		use $n
		load_backend && tap_create $TAP || return
		[ $n -eq 0 ] || MORE+=(-netdev "$(netdev_argument | sed "s/id=net0/id=net$n/")"
			-device "virtio-net-pci,id=nic$n,romfile=,netdev=net$n,mac=${GUEST_MAC%?}$n")
	done
}

# by its MAC the N-th device is the one that it should be
device_up()
{
	guest "grep -q '${GUEST_MAC%?}$1' /sys/class/net/eth$1/address && ip addr add 10.9.$1.2/24 dev eth$1 && ip link set eth$1 up"
}

# the first traffic touches memory for the first time: not measured
warm_up()
{
	guest_reachable 30 && ping_guest 3 && bench_tcp_to_guest -n 4M && bench_tcp_to_host -n 4M
}

start()
{
	local n

	if [ "$LANE" = vtime ]; then
		no_halt_poll && taskset -p 1 $$ || return
		GUEST_APPEND=nokaslr
	fi
	devices_prepare && guest_start -- "${MORE[@]}" || return
	find_workers
	system_pin && device_up 1 && device_up 2 || return
	for n in 0 1 2; do
		use $n
		warm_up || return
	done
}

measure()
{
	bench_ping "$PINGS"
	bench_tcp_to_guest "${TCP[@]}"
	bench_tcp_to_host "${TCP[@]}"
	bench_udp_to_guest "${UDP[@]}"
	bench_udp_to_host "${UDP[@]}"
}

# what the guest's driver and the module counted, each for itself: the same packets
counts_agree()
{
	KVNET_COUNTED="$(kvnet_counter rx.packets) $(kvnet_counter tx.packets)"
	GUEST_COUNTED=$(guest 'cd /sys/class/net/eth0/statistics && echo $(cat rx_packets tx_packets)')
	[ "$KVNET_COUNTED" = "$GUEST_COUNTED" ]
}

# the traffic really went through the module
proof()
{
	local name

	use 0
	wait_until 5 counts_agree && [ "${KVNET_COUNTED% *}" -gt 1000 ] && [ "${KVNET_COUNTED#* }" -gt 1000 ] ||
		fail "/dev/kvnet counted '$KVNET_COUNTED' packets to and from the guest, its eth0 '$GUEST_COUNTED'" || return
	echo "@proof QEMU (process $(guest_pid)) has /dev/kvnet open as descriptor $(backend_fd). It counted, of eth0 of the guest:"
	echo "@proof   to the guest    ${KVNET_COUNTED% *} packets (eth0 received ${GUEST_COUNTED% *})"
	echo "@proof   from the guest  ${KVNET_COUNTED#* } packets (eth0 sent ${GUEST_COUNTED#* })"
	for name in bytes kicks calls; do
		echo "@proof   $name           $(kvnet_counter rx.$name) to, $(kvnet_counter tx.$name) from the guest"
	done
}

main()
{
	local round n

	echo "@up host"
	echo "@fact $(uname -r), $("/opt/qemu-$QEMU/bin/qemu-system-x86_64" --version | sed -n 1p)"
	start > /tmp/start.log 2>&1 || { cat /tmp/start.log; fail "the guest did not start"; exit 1; }
	echo "@up guest"
	for ((round = 0; round < ROUNDS; round++)); do
		for n in 0 1 2; do
			# what comes first is a little slower: each does, in turn
			use $(((n + round + REP) % 3))
			measure || { fail "measuring $SYSTEM failed"; exit 1; }
		done
	done
	proof
}

main
