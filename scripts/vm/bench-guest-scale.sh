# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034 # what lib.sh and bench_row read
#
# What work costs as it grows: more queue pairs of one guest, more guests. Each
# size is a boot of its own, so these run when they are asked for by name.

SCALE_BACKENDS=${SCALE_BACKENDS:-kvnet vhost_net qemu}
QUEUES=${QUEUES:-1 2 4 8}
GUESTS=${GUESTS:-1 2 4}

# queues_exec PAIRS: becomes QEMU. Devices in the kernel need a descriptor for each pair,
# which qemu-kvnet opens; QEMU's own device opens the tap's queues by itself.
queues_exec()
{
	local node=$DEVICE

	if [ "$BACKEND" = off ]; then
		GUEST_NETDEV="$(netdev_argument)$([ "$1" -eq 1 ] || echo ",queues=$1")"
		guest_exec "$([ "$1" -eq 1 ] || echo ",mq=on,vectors=$((2 * $1 + 2))")"
	fi
	[ "$BACKEND" = kvnet ] || node=/dev/vhost-net
	exec bash /kvnet/tools/qemu-kvnet --queues "$1" --device "$node" --nic "romfile=,mac=$GUEST_MAC" \
		"/opt/qemu-$QEMU/bin/qemu-system-x86_64" -L "/opt/qemu-$QEMU/share" \
		-name guest,debug-threads=on -nodefaults -no-user-config -display none \
		-accel kvm -cpu max -smp "$GUEST_SMP" -m "${GUEST_MEM:-256}" -M q35 -kernel /guest-kernel -initrd $GUEST/initrd \
		-append "$GUEST_WORDS ${GUEST_APPEND:-}" \
		-serial "file:$GUEST/console" -chardev "pipe,id=control,path=$GUEST/control" \
		-device virtio-serial-pci -device virtserialport,chardev=control,name=control
}

# a guest with this many pairs, all in use
queues_start()
{
	local multi=multi_queue

	[ "$1" -gt 1 ] || multi=''
	# shellcheck disable=SC2086 # a word or none
	system_choose "$SYSTEM" && load_backend && tap_create $TAP $multi && prepare_guest_files || return
	(queues_exec "$1") > $GUEST/qemu.log 2>&1 < /dev/null &
	echo $! > $GUEST/pid
	guest_wait_up && guest_reachable 30 || return
	[ "$1" -eq 1 ] || guest "ethtool -L eth0 combined $1" || return
	find_workers
	system_pin && rr_server_start && system_warm_up
}

queues_rows()
{
	local dir

	for dir in rx tx; do
		PARAMS="dir=$dir queues=$1 streams=16"
		stream $dir 16 || return
	done
}

test_queues()
{
	local pairs

	# two virtual CPUs that share one CPU would wait for each other, spinning
	GUEST_SMP=2
	[ "$LANE" != vtime ] || GUEST_SMP=1
	for SYSTEM in $SCALE_BACKENDS; do
		for pairs in $QUEUES; do
			queues_start "$pairs" && queues_rows "$pairs" || { say "$SYSTEM, $pairs queue pairs: no result"; FAILED=1; }
			system_stop
		done
	done
	unset GUEST_SMP
}

# the N-th guest has a tap, an address and files of its own
nth()
{
	TAP=tap$1
	HOST_IP=10.9.$1.1
	GUEST=/tmp/guest$1
	GUEST_MAC=52:54:00:12:35:0$1
}

nth_start()
{
	nth "$1"
	prepare_nth "$1" && guest_start && guest "ip addr flush dev eth0; ip addr add 10.9.$1.2/24 dev eth0" || return
	GUEST_IP=10.9.$1.2
	guest_reachable 30 && rr_server_start && system_warm_up
}

prepare_nth()
{
	ip tuntap add dev "$TAP" mode tap vnet_hdr && ip addr add "$HOST_IP/24" dev "$TAP" && ip link set "$TAP" up
}

# all at once: the time is that of the last
guests_rows()
{
	local dir what i begin end amount pids

	amount=$(scale 12000000)
	for dir in rx tx; do
		what=to
		[ $dir = rx ] || what=from
		PARAMS="dir=$dir guests=$1"
		pids=''
		begin=$(awk '/^now at/ { print $3 }' /proc/timer_list)
		for ((i = 1; i <= $1; i++)); do
			/usr/bin/rr $what 10.9.$i.2 $RR_PORT "$amount" > /dev/null &
			pids="$pids $!"
		done
		# shellcheck disable=SC2086 # numbers
		wait $pids || return
		end=$(awk '/^now at/ { print $3 }' /proc/timer_list)
		bench_row rate "$(per_second $((8 * amount * $1)) $((end - begin)))" bit/s
	done
}

guests_stop()
{
	local i

	for ((i = 1; i <= $1; i++)); do
		nth $i
		guest_stop
		tap_delete $TAP
	done
}

test_guests()
{
	local count i up

	for SYSTEM in $SCALE_BACKENDS; do
		system_choose "$SYSTEM" && load_backend || return
		for count in $GUESTS; do
			up=1
			for ((i = 1; i <= count; i++)); do
				nth_start $i || up=0
			done
			WORKERS=$(ps -o pid,comm | awk '$2 ~ /^kvnet-/ { print "/proc/" $1 }')
			system_pin
			[ $up -eq 1 ] && guests_rows "$count" || { say "$SYSTEM, $count guests: no result"; FAILED=1; }
			guests_stop "$count"
		done
	done
}
