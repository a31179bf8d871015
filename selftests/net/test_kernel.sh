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
#   KERNEL_TESTS="stats xdp:*_tx_* gro:-*_data_burst,*.sw_ipip_*"   these; of some, only these cases
#
# Of ping, xdp, gro and hw/uso there are a few cases, those in which frames differ: a program that
# starts takes the emulated CPU 0.1 to 1 s. The others differ in what the guest does with a frame
# (which end of it XDP moves, and where to; generic XDP; GRO's rules), or in the version of IP. With
# gro's mode "hw" the host merges frames: vhost_net never does, kvnet only in a long batch. Its
# data_burst gives frames a time that is over, so that they come one by one.
#
# virtio_net drops a long frame that comes, with XDP, into a buffer of a whole page that it has posted
# before XDP came (rx*_xdp_drops of ethtool -S), with any backend; it posts such ones after long frames
# or segments. So that XDP's cases do not lose their first frames, eth1 sends no segments.
#
# These find nothing to test in a guest, with any backend:
#   hw/tso                      needs VIRTIO_NET_F_DEVICE_STATS, which QEMU does not offer
#   hw/ntuple, hw/rss_*, hw/toeplitz, hw/gro_hw, hw/xdp_metadata
#                               flow rules, RSS, hashes: QEMU offers none with vhost
#   hds, macsec, psp, shaper, hw/nic_timestamp, hw/ipsec_vxlan, hw/devlink_*, hw/*devmem,
#   hw/iou-zcrx, hw/nk_*, hw/ethtool*, hw/loopback
#                               not in virtio_net
#   hw/irq                      virtio_net does not tell netlink the interrupts of its NAPIs
#   hw/pp_alloc_fail            needs a kernel whose calls fail
#   virtio_net/basic_features   needs CONFIG_VIRTIO_DEBUG, which Debian's kernels have not; the one
#                               feature that it takes away (MAC) is QEMU's, not the backend's
# so_txtime tests the precision of qdiscs, netpoll_basic needs bpftrace. Of net, tun and tap are in
# test_tap.sh; the others make devices of their own (veth, dummy, netdevsim), but for netdevice,
# which sends nothing. Those of net/forwarding are for a switch with four ports or more;
# min_max_mtu has two, and a guest's longest frame is longer than a tap's. bpf/xskxceiver needs a
# device that gets the frames that it has sent.
#
# @tier: all
# @hosts: uml
# @skip: (net|test)-.* | the newest kernel, or its tests, could not be had | no network to backports
declare -F run_test > /dev/null || exec bash "${0%/*}/run.sh" "${0##*/}"

KERNEL_DIR=/kvnet/kernel-tests
KERNEL_OUT=/tmp/kernel-tests
KERNEL_TESTS=${KERNEL_TESTS:-queues napi_id napi_threaded stats ping:*_default_v4,*_native_mb
	xdp:*_drop_mb.ipv4,*_tx_mb.ipv6,*_tail_shrnk_*.ipv4,*_qstats.drop_ipv4,*_update_mb_to_sb
	gro:-*_data_burst,*.sw_ipv4_data_*,*.sw_ipv4_*_csum,*.sw_ipv6_large_*
	hw/uso:*.v4_partial,*.v6_exact hw/csum hw/xsk_reconfig ring_reconfig}

# Cases that fail, as regular expressions: the verdicts with kvnet and with vhost_net, and why.
# All others must pass or skip themselves, with both; an exception with vhost_net alone, as of a
# timeout, is shown.
declare -A KERNEL_KNOWN=(
	[ring_reconfig.ringparam]="(ok|fail|raise) (fail|raise): with a receive ring of one descriptor vhost_net waits for ever at a longer frame, which kvnet drops; an emulated CPU may be too slow for it"
	[uso.test_uso.*]="count count: virtio_net counts a datagram that the device splits as one packet"
	[xdp.test_xdp_native_adjst_tail_grow_data.*]="2048,1 2048,1: virtio_net does not tell XDP how much room is behind a frame in several buffers"
	[xdp.test_xdp_native_adjst_head_grow_data.*]="512,-256 512,-256: of the 256 bytes in front of a frame, XDP keeps some for itself"
	["xdp.test_xdp_native_qstats.(pass|drop).*"]="raise raise: at its end, virtio_net does not change the number of channels while XDP is loaded"
	[xdp.test_xdp_native_qstats.tx.*]="fail fail: likewise, and virtio_net counts frames of XDP_TX when it reclaims them, the last ones too late"
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
	exec bash /kvnet/tools/qemu-kvnet --queues 4 --ifname kern0 --device "$node" --nic "romfile=,addr=8,mac=$GUEST_MAC,iommu_platform=on,disable-legacy=on" \
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
# down, and IPv6 addresses with it. Frames that gro wants merged must reach the guest at once: it
# gives them one time to be sent at, which fq waits for. socat is to be in the guest's cache.
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
			ip netns exec peer ethtool -K eth1 tso off; ip -n peer link set lo up; ip -n peer link set eth1 up;
			tc -n peer qdisc replace dev eth1 root fq flow_limit 10000; ping -q -c 3 -i 0.1 -W 9 10.9.1.2;
			socat -V > /dev/null'
}

# kernel_run TEST[:CASES]: what it says goes to a file
kernel_run()
{
	local test=${1%%:*} words=''

	# "*_tx_*,-*.ipv6": -t "*_tx_*" -T "*.ipv6"
	[[ $1 != *:* ]] || words=$(sed -E 's/[^,]+/-t "&"/g; s/-t "-/-T "/g; s/,/ /g' <<< "${1#*:}")
	mkdir -p "$KERNEL_OUT/$BACKEND/hw"
	kernel_guest 600 "cd $KERNEL_DIR/tools/testing/selftests/drivers/net/$(dirname "$test"); export NETIF=eth0 REMOTE_TYPE=netns REMOTE_ARGS=peer
		LOCAL_V4=10.9.1.1 REMOTE_V4=10.9.1.2 LOCAL_V6=fd09::1 REMOTE_V6=fd09::2 PYTHONDONTWRITEBYTECODE=1;
		timeout 580 ./$(basename "$test").py $words 2>&1" > "$KERNEL_OUT/$BACKEND/$test"
}

# kernel_verdicts BACKEND TEST: of each case. raise: an exception ended it, and no check had failed;
# count: only that of the number of packets; 512,-256: it passes, but a frame of 512 bytes whose
# head or tail moves by -256 has failed
kernel_verdicts()
{
	awk '/^# Check failed / { failed = failed || !/ tx packets, got / ? "fail" : "count" }
		/^# Exception\|/ && failed != "fail" { failed = failed == "count" ? "fail" : "raise" }
		/^# Failed run: pkt_sz [0-9]+, offset / { last = $5 ($7 + 0) }
		/^(not )?ok [0-9]+ / {
			not = $1 == "not"
			print $(3 + not), not ? (failed ? failed : "fail") : $(4 + not) == "#" ? "skip" : last ? last : "ok"
			failed = last = ""
		}' "$KERNEL_OUT/$1/$2"
}

# kernel_reasons BACKEND TEST CASE
kernel_reasons()
{
	sed "/^\(not \)\?ok [0-9]* $3/q" "$KERNEL_OUT/$1/$2" | grep -E '^# (Check failed|Failed run|(Exception\|)? *[A-Za-z.]+:)' | tail -n 12
}

# kernel_compare TEST[:CASES]
kernel_compare()
{
	local name verdict pattern known status=0

	kernel_run "$1"
	set -- "${1%%:*}"
	grep '^# Totals' "$KERNEL_OUT/kvnet/$1" || fail "it has not come to its end: $(tail -n 9 "$KERNEL_OUT/kvnet/$1")" || return
	! grep -qx '1\.\.0' "$KERNEL_OUT/kvnet/$1" || fail "it has no such case" || return
	while read -r name verdict; do
		verdict="$verdict $(kernel_verdicts vhost "$1" | awk -v name="$name" '$1 == name { print $2 }')"
		known=''
		for pattern in "${!KERNEL_KNOWN[@]}"; do
			[[ ! $name =~ ^($pattern)$ ]] || known=${KERNEL_KNOWN[$pattern]}
		done
		if [[ ! $verdict =~ ^(ok ok|ok raise|skip skip|${known%%: *})$ ]]; then
			fail "$name: kvnet $verdict vhost_net: $(kernel_reasons kvnet "$1" "$name") vhost_net: $(kernel_reasons vhost "$1" "$name")" || status=1
		elif [ -n "$known" ] || [[ $verdict = *raise ]]; then
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
			run_test "kernel: ${KERNEL_TEST%%:*}" kernel_compare "$KERNEL_TEST"
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
