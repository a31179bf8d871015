# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# shellcheck disable=SC2034 # what lib.sh reads
#
# The systems that are compared, by the names of the rows, and a guest on each.

PARAMETERS=/sys/module/kvnet/parameters
FAILED=0	# of what was to be measured

say()
{
	echo "@progress $LANE $REP: $*"
}

# sets BACKEND and GUEST_NIC for lib.sh, and the device's options
system_choose()
{
	OPTIONS='' PINNED=1 IN_PLACE=1
	unset GUEST_NIC
	[[ $1 != *-packed* ]] || OPTIONS=packed=on
	[[ $1 != *-inorder* ]] || OPTIONS="$OPTIONS in_order=on"
	[[ $1 != *-user ]] || PINNED=0
	[[ $1 != *-woken ]] || IN_PLACE=0
	case $1 in
	kvnet*) BACKEND=kvnet ;;
	vhost_net) BACKEND=vhost ;;
	qemu) BACKEND=off ;;
	qemu-noioeventfd)
		BACKEND=off
		OPTIONS=ioeventfd=off
		;;
	rtl8139)
		BACKEND=off
		GUEST_NIC=$1
		;;
	esac
}

# KVM polls for a while before it lets a virtual CPU sleep. With instructions
# counted, each turn of that loop leaves the emulator: a run seems to hang.
no_halt_poll()
{
	echo 0 > /sys/module/kvm/parameters/halt_poll_ns
}

# In virtual time one CPU does all the work: emulated CPUs take turns, and one
# that is woken by the other waits for that one's turn to end, often a whole tick.
# Such waits would hide the length of the path, which is what is compared.
system_pin()
{
	local worker

	[ "$LANE" = vtime ] || return 0
	for worker in $WORKERS; do
		taskset -p 1 "${worker#/proc/}" > /dev/null || return
	done
}

# the first traffic touches memory for the first time: not measured
system_warm_up()
{
	rr to 1000000 1 && rr from 1000000 1 && rr udp 50 1 && rr blast 300 1472 && rr draw 300 1472
}

# a guest on $SYSTEM, with rr's server
system_start()
{
	system_choose "$SYSTEM" && load_backend && tap_create $TAP || return
	[ "$BACKEND" != kvnet ] || { echo $PINNED > $PARAMETERS/pin_rings && echo $IN_PLACE > $PARAMETERS/rx_inline; } || return
	# shellcheck disable=SC2086 # words
	guest_start $OPTIONS ${SYSTEM_OPTIONS:-} && guest_reachable 30 || return
	find_workers
	system_pin && rr_server_start && system_warm_up || return
	say "$SYSTEM: the guest is up"
}

system_stop()
{
	guest_stop
	tap_delete $TAP
}

bench_fact()
{
	local text=$2

	echo "@fact lane=$LANE key=$1 value=${text// /_}"
}

bench_facts()
{
	bench_fact kernel "$(uname -r)"
	bench_fact qemu "$("/opt/qemu-$QEMU/bin/qemu-system-x86_64" --version | sed -n '1s/.*version //p')"
	bench_fact accelerator "${VM_ACCEL:-unknown}"
	bench_fact cpu "$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | sed -n 1p)"
	bench_fact cpus "$(grep -c ^processor /proc/cpuinfo)"
	bench_fact clock "$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)"
	bench_fact guest "one vCPU, ${GUEST_MEM:-256} MB, kernel of the test host"
}

bench_note()
{
	local text=$1

	echo "@note lane=$LANE text=${text// /_}"
}

# what all measurements in a test host begin with
bench_begin()
{
	bench_facts
	[ "$LANE" = vtime ] || return 0
	GUEST_APPEND=nokaslr
	no_halt_poll && taskset -p 1 $$ > /dev/null
}

no_result()
{
	say "$*: no result, or not all"
	FAILED=$((FAILED + 1))
}

# on_each COMMAND SYSTEM...: with a guest on each
on_each()
{
	for SYSTEM in "${@:2}"; do
		system_start && "$1" || no_result "$SYSTEM"
		system_stop
	done
}
