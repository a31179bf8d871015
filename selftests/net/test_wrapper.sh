# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Description: tools/qemu-kvnet starts a stock QEMU on kvnet, with one queue
# pair (test_mq.sh has it start more), and refuses bad input with one line that helps.

WRAPPER=/kvnet/tools/qemu-kvnet

# in place of lib.sh's guest_exec: the same guest, started as a user would
wrapper_exec()
{
	exec bash $WRAPPER --nic "romfile=,mac=$GUEST_MAC" \
		"/opt/qemu-$QEMU/bin/qemu-system-x86_64" -L "/opt/qemu-$QEMU/share" \
		-name guest,debug-threads=on -nodefaults -no-user-config -display none \
		-accel kvm -cpu max -smp 2 -m 256 -M q35 -kernel /guest-kernel -initrd $GUEST/initrd \
		-append "$GUEST_WORDS" \
		-serial "file:$GUEST/console" \
		-chardev "pipe,id=qmp,path=$GUEST/qmp" -mon chardev=qmp,mode=control \
		-chardev "pipe,id=control,path=$GUEST/control" \
		-device virtio-serial-pci -device virtserialport,chardev=control,name=control
}

launch_wrapped()
{
	prepare_guest_files || return
	(wrapper_exec) > $GUEST/qemu.log 2>&1 < /dev/null &
	echo $! > $GUEST/pid
	echo wrapped > $GUEST/config
}

start_wrapped()
{
	guest_boot launch_wrapped && guest_reachable 30
}

fresh_tap()
{
	guest_stop
	tap_delete $TAP
	tap_create $TAP "$@"
}

test_single()
{
	load_backend && fresh_tap && start_wrapped && ping_guest 20 && tcp_both_ways 20
}

# refuses WORDS -- OPTIONS...: fails with one line that has the words in it
refuses()
{
	local words=$1 said

	shift 2
	said=$(bash $WRAPPER "$@" 2>&1) && fail "accepted: $*" && return 1
	[ "$(wc -l <<< "$said")" -eq 1 ] && [[ $said == *"$words"* ]] || fail "said: $said"
}

test_bad_input()
{
	guest_stop
	refuses "no QEMU command" -- --ifname $TAP &&
		refuses "unknown option" -- --frobnicate true &&
		refuses "needs a value" -- --queues &&
		refuses "from 1 to 256" -- --queues 0 true &&
		refuses "make load" -- --device /dev/absent true &&
		refuses "is no device node" -- --device /etc/passwd true &&
		refuses "ip tuntap add dev absent" -- --ifname absent true &&
		refuses "is not a tap" -- --ifname lo true &&
		refuses "no such program" -- --ifname $TAP absent-qemu || return
	fresh_tap && refuses "has one queue" -- --queues 2 true || return
	fresh_tap multi_queue && refuses "is multi_queue" -- --queues 1 true || return
	bash $WRAPPER --help | grep -q -- --ifname
}

if [ "$BACKEND" = kvnet ]; then
	run_test "wrapper: one queue pair" test_single
	run_test "wrapper: bad input" test_bad_input
	fresh_tap
fi
