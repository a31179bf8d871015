#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs inside the test host: the paper's evaluation, on the systems that it
# compares. Prints rows as bench-guest.sh does. LANE, REP and QUICK as there; PARTS: some of
# hypercall windows exits question irqchip; WINDOWS: sizes of socket buffers; RUNS of Table 3.
# shellcheck source=selftests/net/lib.sh
. /kvnet/selftests/net/lib.sh
# shellcheck source=scripts/vm/bench-guest-count.sh
. /kvnet/scripts/vm/bench-guest-count.sh
# shellcheck source=scripts/vm/bench-guest-tests.sh
. /kvnet/scripts/vm/bench-guest-tests.sh
# shellcheck source=scripts/vm/bench-guest-system.sh
. /kvnet/scripts/vm/bench-guest-system.sh
# shellcheck source=scripts/vm/paper-exits.sh
. /kvnet/scripts/vm/paper-exits.sh

SYSTEMS="kvnet vhost_net qemu qemu-noioeventfd rtl8139"
ROUNDS=300
SAMPLES=10
BUFFER_MAX=4194304
WINDOW_PORT=5202
TCP_STREAMS=1
UDP_SIZES="64 1472"

part_wanted()
{
	[[ " $PARTS " == *" $1 "* ]]
}

### Table 2: the module is put into the guest's image

add_module()
{
	[ -e /kvnet/hypercall.ko ] || return
	(cd /kvnet && echo hypercall.ko | cpio -o -H newc 2> /dev/null) >> /kvnet/guest-overlay.cpio
}

# hypercall_rows KIND: what each sample took, and exits for a call
hypercall_rows()
{
	local own=$REP sample n ns calls=$(((SAMPLES + 1) * ROUNDS)) before after

	PARAMS=kind=$1
	guest dmesg -c > /dev/null
	read -r before < $KVM_STATS/exits
	guest "insmod /hypercall.ko kind=$1 rounds=$ROUNDS samples=$SAMPLES" || return
	read -r after < $KVM_STATS/exits
	while read -r sample n ns; do
		REP=$((own * 100 + sample))
		bench_row cost "$(ratio "$ns" "$n" %.1f)" ns
	done < <(guest dmesg | sed -n 's/.*kind=.* sample=\([0-9]*\) n=\([0-9]*\) ns=\([0-9]*\).*/\1 \2 \3/p')
	REP=$own
	bench_row exits "$(ratio $((after - before)) $calls %.3f)" 1/call
	guest rmmod hypercall
}

# how far a call goes does not depend on the system, but whom a notification wakes does
part_hypercall()
{
	local kind

	TEST=hypercall
	case $SYSTEM in
	rtl8139 | qemu-noioeventfd) return 0 ;;
	esac
	for kind in kernel user ioeventfd; do
		hypercall_rows $kind || return
	done
}

### Figures 5 to 9

# one size of window: both ends' buffers, as iperf's -w sets them
window_rows()
{
	local dir bytes

	rr window "$1" || return
	for dir in rx tx; do
		bytes=$(scale $(($1 < 32768 ? 1500000 : 6000000)))
		PARAMS="dir=$dir window=$1"
		rr ${STREAM[$dir]} "$bytes" 1 "$1" && stream_rate || return
	done
}

each_window()
{
	local window

	TEST=window
	for window in $WINDOWS; do
		window_rows "$window" || return
	done
}

buffers_up()
{
	echo "for f in /proc/sys/net/core/[rw]mem_max; do echo $BUFFER_MAX > \$f; done"
}

part_windows()
{
	local RR_PORT=$WINDOW_PORT

	guest "$(buffers_up)"
	rr_server_start && each_window
}

# the paper's baseline: the host talks to itself
host_windows()
{
	local SYSTEM=host PEER_IP=127.0.0.1 RR_PORT=$WINDOW_PORT

	beside_server $RR_PORT each_window
}

### what it gains to have the device in the kernel

part_question()
{
	for TEST in ping rr conn tcp udp; do
		"test_$TEST" || return
	done
}

### Table 3: the same work many times, each from another moment on

irqchip_runs()
{
	local dir run own=$REP mode=${GUEST_MACHINE##*=}

	TEST=irqchip
	# the first two or three are half as fast, with each device: a warm-up
	for ((run = -3; run <= RUNS; run++)); do
		rr udp $((3 * run + 10)) 1 || return
		REP=$((own * 100 + run))
		for dir in rx tx; do
			PARAMS="dir=$dir irqchip=$mode"
			rr ${STREAM[$dir]} "$(scale 24000000)" 1 || return
			[ $run -le 0 ] || stream_rate
		done
	done
	REP=$own
}

part_irqchip()
{
	local mode

	# what needs a local APIC in the kernel, and is asked for by -cpu max all the same
	GUEST_CPU=max,-kvm-asyncpf-int,-kvm-pv-eoi
	for mode in on split off; do
		GUEST_MACHINE=q35,kernel-irqchip=$mode
		on_each irqchip_runs kvnet qemu
	done
	unset GUEST_MACHINE GUEST_CPU
}

system_parts()
{
	local part

	for part in hypercall exits windows question; do
		part_wanted $part || continue
		say "$SYSTEM: $part"
		"part_$part" || { say "$SYSTEM: $part gave no result"; return 1; }
	done
}

main()
{
	bench_begin || exit
	! part_wanted hypercall || add_module || exit
	eval "$(buffers_up)"
	! part_wanted windows || host_windows
	# shellcheck disable=SC2086 # names
	[ "$PARTS" = irqchip ] || on_each system_parts $SYSTEMS
	! part_wanted irqchip || part_irqchip
	[ $FAILED -eq 0 ]
}

main
