#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Description: the kernel's own tests of network drivers (tools/testing/selftests/drivers/net
# of the newest linux-source; scripts/setup-kernel-tests.sh), in a guest with that kernel: with
# kvnet each case must say what it says with vhost_net. And tools/virtio/vhost_net_test, which
# plays the guest itself.
#
#   guest   eth0, which is tested             eth1, in the namespace "peer"
#            |  4 queue pairs                  |  no offloads for what it receives
#   host    kern0 ---------- bridge ---------- kern1
#
# The guest has the host's own files, by 9p: python3, iproute2, socat, the tests.
#
#   KERNEL_TESTS="stats xdp"   others than those below; stats, ping and xdp take minutes each on
#   an emulated CPU, all cases of hw/tso skip themselves, and what gro wants merged must come
#   within one poll of the guest's
#
# virtio_net/basic_features.sh needs CONFIG_VIRTIO_DEBUG, which Debian's kernels have not.
#
# @tier: all
# @hosts: uml
# @skip: (net|test)-.* | the newest kernel, or its tests, could not be had | no network to backports
declare -F run_test > /dev/null || exec bash "${0%/*}/run.sh" "${0##*/}"

KERNEL_DIR=/kvnet/kernel-tests
KERNEL_OUT=/tmp/kernel-tests
KERNEL_TESTS=${KERNEL_TESTS:-queues napi_id napi_threaded hw/uso hw/csum ring_reconfig}

# Cases that fail, as regular expressions: the verdicts with kvnet and with vhost_net, and why.
# All others must pass or skip themselves, with both.
declare -A KERNEL_KNOWN=(
	[ring_reconfig.ringparam]="(ok|fail) fail: with a receive ring of one descriptor vhost_net waits for ever at a longer frame, which kvnet drops; an emulated CPU may be too slow for it"
	[uso.test_uso.*]="fail fail: virtio_net counts a datagram that the device splits as one packet"
)

kernel_network()
{
	local dev

	tap_create kern0 multi_queue && tap_create kern1 && ip link add kern type bridge && ip link set kern up || return
	for dev in kern0 kern1; do
		ip link set $dev mtu 9000 master kern || return
	done
}

# in place of guest_exec
kernel_exec()
{
	local node

	node=$(backend_node)
	set_qemu_command
	exec 9<> "$node"
	exec bash /kvnet/tools/qemu-kvnet --queues 4 --ifname kern0 --device "$node" --nic "romfile=,addr=8,mac=$GUEST_MAC" \
		"${QEMU_COMMAND[@]}" -accel "${GUEST_ACCEL:-kvm}" -cpu max -m 512 -M q35 \
		-kernel /kvnet/guests/newest/kernel -initrd "$GUEST/initrd" -append "$GUEST_WORDS" \
		-netdev tap,id=net1,ifname=kern1,script=no,downscript=no,vhost=on,vhostfd=9 \
		-device "virtio-net-pci,romfile=,addr=9,netdev=net1,mac=${GUEST_MAC%56}57,guest_csum=off,guest_tso4=off,guest_tso6=off,guest_ecn=off,guest_ufo=off,guest_uso4=off,guest_uso6=off" \
		-fsdev local,id=root,path=/,security_model=none,readonly=on,multidevs=remap -device virtio-9p-pci,fsdev=root,mount_tag=root
}

# kernel_guest SECONDS COMMAND: by the host's programs
kernel_guest()
{
	guest -t "$1" "PATH=$KERNEL_DIR/bin:\$PATH chroot /mnt /bin/bash -c '$2'"
}

# Modules are loaded here: the kernel looks for modprobe in another place. Some tests take the link
# down, and IPv6 addresses with it.
kernel_boot()
{
	# shellcheck disable=SC2034 # read by lib.sh
	BACKEND=$1 GUEST_CPIO=/kvnet/guests/newest/guest.cpio
	guest_stop
	load_backend || return
	[ -e /sys/class/net/kern ] || kernel_network || return
	guest_boot launch "kernel $BACKEND" kernel_exec || return
	# shellcheck disable=SC2016 # for the guest's shell
	guest 'modprobe -a 9pnet_virtio 9p sch_fq sch_ingress cls_flower cls_matchall act_skbedit && mkdir /mnt &&
		mount -t 9p -o ro,trans=virtio,version=9p2000.L,cache=loose,msize=512000 root /mnt || exit;
		for dir in proc sys dev; do mount --bind /$dir /mnt/$dir || exit; done;
		for dir in tmp run var root; do mount -t tmpfs tmpfs /mnt/$dir || exit; done;
		mkdir /dev/pts && mount -t devpts devpts /dev/pts && ln -s /proc/self/fd /dev/fd && ln -s /run /mnt/var/run &&
		for conf in all default; do echo 1 > /proc/sys/net/ipv6/conf/$conf/keep_addr_on_down || exit; done;
		ip addr flush dev eth0' &&
		kernel_guest 60 'set -e; ethtool -L eth0 combined 2; ip netns add peer; ip link set eth1 netns peer;
			ip addr add 10.9.1.1/24 dev eth0; ip addr add fd09::1/64 dev eth0 nodad;
			ip -n peer addr add 10.9.1.2/24 dev eth1; ip -n peer addr add fd09::2/64 dev eth1 nodad;
			ip -n peer link set lo up; ip -n peer link set eth1 up; ping -q -c 3 -i 0.1 -W 9 10.9.1.2'
}

# kernel_run TEST: what it says goes to a file
kernel_run()
{
	mkdir -p "$KERNEL_OUT/$BACKEND/hw"
	kernel_guest 600 "cd $KERNEL_DIR/tools/testing/selftests/drivers/net/$(dirname "$1"); export NETIF=eth0 REMOTE_TYPE=netns REMOTE_ARGS=peer
		LOCAL_V4=10.9.1.1 REMOTE_V4=10.9.1.2 LOCAL_V6=fd09::1 REMOTE_V6=fd09::2 PYTHONDONTWRITEBYTECODE=1;
		timeout 580 ./$(basename "$1").py 2>&1" > "$KERNEL_OUT/$BACKEND/$1"
}

# kernel_verdicts BACKEND TEST: of each case
kernel_verdicts()
{
	sed -nE 's/^not ok [0-9]+ ([^ ]+).*/\1 fail/p; s/^ok [0-9]+ ([^ ]+) # (SKIP|XFAIL).*/\1 skip/p; s/^ok [0-9]+ ([^ ]+)$/\1 ok/p' \
		"$KERNEL_OUT/$1/$2"
}

# kernel_compare TEST
kernel_compare()
{
	local name verdict pattern known status=0

	kernel_run "$1"
	grep '^# Totals' "$KERNEL_OUT/kvnet/$1" || fail "it has not come to its end: $(tail -n 9 "$KERNEL_OUT/kvnet/$1")" || return
	while read -r name verdict; do
		verdict="$verdict $(kernel_verdicts vhost "$1" | awk -v name="$name" '$1 == name { print $2 }')"
		known=''
		for pattern in "${!KERNEL_KNOWN[@]}"; do
			[[ ! $name =~ ^($pattern)$ ]] || known=${KERNEL_KNOWN[$pattern]}
		done
		if [[ ! $verdict =~ ^(ok ok|skip skip|${known%%: *})$ ]]; then
			fail "$name: kvnet $verdict vhost_net: $(sed "/^\(not \)\?ok [0-9]* $name/q" "$KERNEL_OUT/kvnet/$1" | tail -n 12)" || status=1
		elif [ -n "$known" ]; then
			echo "# $name: kvnet $verdict vhost_net: ${known#*: }"
		fi
	done < <(kernel_verdicts kvnet "$1")
	return $status
}

# kernel_vhost_net_test OPTIONS...: it opens /dev/vhost-net
kernel_vhost_net_test()
{
	timeout 100 $KERNEL_DIR/vhost_net_test --buf-num 2000 "$@" || fail "vhost_net: status $?" || return
	mount --bind "$DEVICE" /dev/vhost-net || return
	timeout 100 $KERNEL_DIR/vhost_net_test --buf-num 2000 "$@"
	set -- $?
	umount /dev/vhost-net
	[ "$1" -eq 0 ] || fail "kvnet: status $1"
}

if [ "$BACKEND" = kvnet ] && [ -d $KERNEL_DIR ] && [ -d /kvnet/guests/newest ]; then
	if run_test "kernel: guest_boots_on_vhost_net" kernel_boot vhost; then
		for KERNEL_TEST in $KERNEL_TESTS; do
			kernel_run "$KERNEL_TEST"
		done
		run_test "kernel: guest_boots_on_kvnet" kernel_boot kvnet && for KERNEL_TEST in $KERNEL_TESTS; do
			run_test "kernel: $KERNEL_TEST" kernel_compare "$KERNEL_TEST"
		done
		for KERNEL_TEST in '' --no-event-idx --no-indirect --delayed-interrupt; do
			# shellcheck disable=SC2086 # a word or none
			run_test "kernel: vhost_net_test $KERNEL_TEST" kernel_vhost_net_test $KERNEL_TEST
		done
	fi
	guest_stop
	BACKEND=kvnet
	unset GUEST_CPIO
else
	skip kernel "the newest kernel, or its tests, could not be had"
fi
