# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# shellcheck disable=SC2034 # what lib.sh reads
#
# The systems that are compared, by the names of the rows, and a guest on each.

PARAMETERS=/sys/module/kvnet/parameters

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
	kvnet | kvnet-packed | kvnet-inorder | kvnet-packed-inorder | kvnet-user | kvnet-packed-user | kvnet-woken) BACKEND=kvnet ;;
	vhost_net) BACKEND=vhost ;;
	qemu) BACKEND=off ;;
	qemu-noioeventfd)
		BACKEND=off
		OPTIONS=ioeventfd=off
		;;
	e1000 | rtl8139)
		BACKEND=off
		GUEST_NIC=$1
		;;
	*)
		fail "unknown backend '$1'"
		return
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

# a guest on $SYSTEM, with rr's server; [qemu arguments]
system_start()
{
	[ "$LANE" != vtime ] || GUEST_APPEND=nokaslr
	system_choose "$SYSTEM" && load_backend && tap_create $TAP || return
	[ "$BACKEND" != kvnet ] || { echo $PINNED > $PARAMETERS/pin_rings && echo $IN_PLACE > $PARAMETERS/rx_inline; } || return
	# shellcheck disable=SC2086 # words
	guest_start $OPTIONS ${1:+-- "$@"} && guest_reachable 30 || return
	find_workers
	! bench_wanted boot || boot_rows
	system_pin && rr_server_start && system_warm_up || return
	say "$SYSTEM: the guest is up"
}

# what a guest has received until it can be reached, and by whom
boot_rows()
{
	local TEST=boot PARAMS=traffic=boot name

	[ "$BACKEND" = kvnet ] || return 0
	NOW=()
	take_kvnet
	for name in "${!NOW[@]}"; do
		bench_row "$name" "${NOW[$name]}" 1
	done
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

bench_notes()
{
	case $LANE in
	vtime)
		bench_note "Virtual time: one instruction is 2 ns. No caches, no parallelism: it shows the length of the path, not the speed of hardware."
		bench_note "The test queues has one virtual CPU for all queues there, and guests no more than the test host's memory allows (4)."
		bench_note "KVM does not poll before a virtual CPU sleeps (halt_poll_ns=0)."
		bench_note "All threads run on one CPU; rates say how much the sum of all of them does."
		bench_note "A seed or a change of code moves a short run by some per cent: compare medians over seeds, and counts before rates."
		;;
	kvm)
		bench_note "The test host is a virtual machine itself: an exit of its guest is dearer than on bare metal."
		;;
	emul)
		bench_note "The CPU and its virtualization are emulated: times follow the load of this machine, and an exit costs other than on silicon."
		;;
	esac
	[ "$VM_ACCEL" != tcg ] ||
		bench_note "An exit of the guest is carried out by an emulated CPU."
}
