# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034 # what lib.sh and bench_row read
#
# The tests that boot guests of their own: rings of each layout, more queue pairs of one
# guest, more guests, a guest behind a strict IOMMU, one without TSO.

NEWEST=/kvnet/guests/newest
LAYOUT_COUNT=16000
PACKED=34
IN_ORDER=35
QUEUES="1 2 4 8"
GUESTS="1 2 4"

### The layouts of the ring side by side, pinned and not. All have the same guest: the
### newest kernel, which is the first to take VIRTIO_F_IN_ORDER, on QEMU 10.0, which is
### the first to offer it; without these, the test host's own and no row in order.

layout_has_newest()
{
	[ -e $NEWEST/kernel ] && [ -d /opt/qemu-10.0 ]
}

# does the guest's driver have what the name of the row says?
layout_is_so()
{
	local packed=0 in_order=0 ring=pinned

	[[ $SYSTEM != *-packed* ]] || packed=1
	[[ $SYSTEM != *-inorder* ]] || in_order=1
	[[ $SYSTEM != *-user ]] || ring=user
	guest_feature $PACKED $packed && guest_feature $IN_ORDER $in_order || fail "$SYSTEM" || return
	[ "$BACKEND" = kvnet ] || return 0
	[ "$(kvnet_counters | grep -c "\.access:[^a-z]*$ring$")" -eq 2 ] || fail "$SYSTEM: the rings are not both '$ring'"
}

layout_rows()
{
	local UDP_COUNT=$LAYOUT_COUNT

	layout_is_so && udp_rows 64 1472
}

test_layout()
{
	local own=$QEMU systems=$LAYOUTS

	[ "$LANE" != vtime ] || bench_note "In the test layout the guest's own work for a packet falls into one of two states, with vhost_net too: compare cpu_worker, not rates."
	if layout_has_newest; then
		QEMU=10.0 GUEST_KERNEL=$NEWEST/kernel GUEST_CPIO=$NEWEST/guest.cpio
		# that kernel dies of the xsave that QEMU 7.2 emulates
		[ "$VM_ACCEL" != tcg ] || GUEST_CPU=max,-xsave,-avx,-avx2
		bench_fact layout-guest "$(cat $NEWEST/release), QEMU $QEMU"
	else
		bench_note "The test layout has no rows in order: the newest guest kernel or QEMU 10.0 could not be had."
		systems=$(tr ' ' '\n' <<< "$LAYOUTS" | grep -v inorder)
	fi
	# shellcheck disable=SC2086 # names
	on_each layout_rows $systems
	unset GUEST_KERNEL GUEST_CPIO GUEST_CPU
	QEMU=$own
}

### queue pairs

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
	for SYSTEM in $SCALE; do
		for pairs in $QUEUES; do
			queues_start "$pairs" && queues_rows "$pairs" || no_result "$SYSTEM, $pairs queue pairs"
			system_stop
		done
	done
	unset GUEST_SMP
}

### guests

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
	ip tuntap add dev "$TAP" mode tap vnet_hdr && ip addr add "$HOST_IP/24" dev "$TAP" && ip link set "$TAP" up || return
	guest_start && guest "ip addr flush dev eth0; ip addr add 10.9.$1.2/24 dev eth0" || return
	GUEST_IP=10.9.$1.2
	guest_reachable 30 && rr_server_start && system_warm_up
}

now()
{
	awk '/^now at/ { print $3 }' /proc/timer_list
}

# all at once: the time is that of the last
guests_rows()
{
	local dir i begin amount pids

	amount=$(scale 12000000)
	for dir in rx tx; do
		PARAMS="dir=$dir guests=$1"
		pids=''
		begin=$(now)
		for ((i = 1; i <= $1; i++)); do
			/usr/bin/rr ${STREAM[$dir]} 10.9.$i.2 $RR_PORT "$amount" > /dev/null &
			pids="$pids $!"
		done
		# shellcheck disable=SC2086 # numbers
		wait $pids || return
		bench_row rate "$(per_second $((8 * amount * $1)) $(($(now) - begin)))" bit/s
	done
}

guests_stop()
{
	local i

	for ((i = 1; i <= $1; i++)); do
		nth $i
		system_stop
	done
}

test_guests()
{
	local count i up

	for SYSTEM in $SCALE; do
		system_choose "$SYSTEM" && load_backend || return
		for count in $GUESTS; do
			up=1
			for ((i = 1; i <= count; i++)); do
				nth_start $i || up=0
			done
			find_kernel_workers
			system_pin
			[ $up -eq 1 ] && guests_rows "$count" || no_result "$SYSTEM, $count guests"
			guests_stop "$count"
		done
	done
}

### an IOMMU in front of the device, strict: the guest maps each buffer for itself, and takes the
### translation back when the buffer is used

viommu_rows()
{
	local dir

	for dir in rx tx; do
		PARAMS="dir=$dir streams=1"
		measured 4000000 ${STREAM[$dir]} @ 1 && stream_rate || return
		count_rows "$(ratio "${R[bytes]}" 1e6)" MB $((8 * R[bytes]))
	done
	UDP_COUNT=1000 udp_rows 64 1472
}

test_viommu()
{
	local words=${GUEST_APPEND:-}

	GUEST_APPEND="$words intel_iommu=on iommu.strict=1"
	GUEST_MACHINE=q35,kernel-irqchip=split
	GUEST_FIRST=(-device "intel-iommu,intremap=on,device-iotlb=on")
	SYSTEM_OPTIONS=iommu_platform=on,ats=on,disable-legacy=on,disable-modern=off
	# shellcheck disable=SC2086 # names
	on_each viommu_rows $SCALE
	unset GUEST_MACHINE SYSTEM_OPTIONS
	GUEST_FIRST=()
	GUEST_APPEND=$words
}

### a guest that segments TCP itself

notso_rows()
{
	PARAMS="dir=tx streams=1"
	stream tx 1
}

test_notso()
{
	SYSTEM_OPTIONS=host_tso4=off,host_tso6=off,host_ecn=off,host_ufo=off
	# shellcheck disable=SC2086 # names
	on_each notso_rows $SCALE
	unset SYSTEM_OPTIONS
}
