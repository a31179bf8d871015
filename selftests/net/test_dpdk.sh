#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Description: DPDK's virtio-user driver on the backend, no guest and no QEMU: a
# process has the rings in its own memory and polls them. For each layout of the
# ring it answers pings with compared data, sends and receives; every packet is
# counted by DPDK, by the tap and by the module, and the three must agree.
#
# @hosts: 6.1
# @skip: (net|test)-.* | packed ring, vectorized: .* | the laboratory's dpdk row runs it where the CPU can
declare -F run_test > /dev/null || exec bash "${0%/*}/run.sh" "${0##*/}"

PMD_LIBS=/usr/lib/x86_64-linux-gnu
PMD_HUGEPAGES=128
PMD_PACKETS=10000
PMD_PINGS=25
if [ -n "${SHORT:-}" ]; then
	PMD_PACKETS=4000
	PMD_PINGS=10
fi
PMD_QUEUES=1
hugepages_get()
{
	echo $PMD_HUGEPAGES > /proc/sys/vm/nr_hugepages
	[ "$(cat /proc/sys/vm/nr_hugepages)" -eq $PMD_HUGEPAGES ] || fail "no $PMD_HUGEPAGES huge pages" || return
	mkdir -p /dev/hugepages
	mount -t hugetlbfs none /dev/hugepages
}

hugepages_put()
{
	umount /dev/hugepages
	echo 0 > /proc/sys/vm/nr_hugepages
}

### testpmd: takes the guest's place in lib.sh ("the guest" is its process)

pmd_exec()
{
	local plugin plugins=()

	for plugin in bus_vdev net_virtio mempool_ring; do
		plugins+=(-d "$PMD_LIBS/librte_$plugin.so.23")
	done
	export LD_PRELOAD=/usr/libexec/coreutils/libstdbuf.so _STDBUF_O=L
	exec dpdk-testpmd --no-pci --no-telemetry -m 128 --single-file-segments -l 0,1 "${plugins[@]}" \
		--force-max-simd-bitwidth=512 --log-level=pmd.net.virtio.init:debug \
		"--vdev=net_virtio_user0,path=$(backend_node),iface=$TAP,mac=$GUEST_MAC,$1" \
		-- -i --forward-mode=icmpecho --auto-start --total-num-mbufs=8192 --nb-cores=1 "${@:2}"
}

# a command; the answer is not waited for
pmd()
{
	echo "$*" >&"$PMD_IN"
}

pmd_said()
{
	grep -q "$1" $GUEST/testpmd.log
}

# pmd_start VDEV-OPTIONS [testpmd options]: forwards pings when this returns
pmd_start()
{
	guest_stop
	tap_delete $TAP
	rm -rf $GUEST
	mkdir -p $GUEST
	mkfifo $GUEST/stdin
	exec {PMD_IN}<> $GUEST/stdin
	(pmd_exec "$@") < $GUEST/stdin > $GUEST/testpmd.log 2>&1 &
	echo $! > $GUEST/pid
	wait_until 60 pmd_ready && guest_running || fail "testpmd does not start: $(tail -n 12 $GUEST/testpmd.log)" || return
	# nothing but the packets of this test on the wire
	echo 1 > /proc/sys/net/ipv6/conf/$TAP/disable_ipv6
	ip addr add $HOST_IP/24 dev $TAP && ip link set $TAP up
}

# it forwards, or has died: then there is nothing to wait for
pmd_ready()
{
	guest_running || return 0
	[ -e /sys/class/net/$TAP ] && pmd_said 'testpmd>' && pmd_said 'icmpecho packet forwarding'
}

pmd_stop()
{
	guest_stop
	exec {PMD_IN}>&-
}

# pmd_mode NAME: the next way of forwarding
pmd_mode()
{
	pmd stop
	pmd set fwd "$1"
	pmd start
	wait_until 20 pmd_said "^ *$1 packet forwarding" || fail "no $1"
}

# DPDK's own counters: asks anew and reads the last complete answer
pmd_counters()
{
	local before

	before=$(grep -c 'Tx-pps:' $GUEST/testpmd.log)
	pmd show port stats 0
	wait_until 20 pmd_answers "$before" || return
	awk '/NIC statistics/ { text = "" } { text = text "\n" $0 } END { print text }' $GUEST/testpmd.log
}

pmd_answers()
{
	[ "$(grep -c 'Tx-pps:' $GUEST/testpmd.log)" -gt "$1" ]
}

tap_counter()
{
	cat /sys/class/net/$TAP/statistics/"$1"
}

### the checks

# pmd_negotiated BIT...: what DPDK and the backend agreed on; "-BIT" must not be set
pmd_negotiated()
{
	local bits want expect

	bits=0x$(sed -n 's/.*features after negotiate = //p' $GUEST/testpmd.log | tail -n 1)
	for want; do
		expect=1
		[[ $want != -* ]] || expect=0
		[ $((bits >> ${want#-} & 1)) -eq $expect ] || fail "feature bit ${want#-} is not as it should be: $bits" || return
	done
}

# what testpmd sent came out of the tap, and the other way round, to the packet
# and the byte: DPDK's counter, the tap's and the module's; all since the start
counts_agree()
{
	wait_until 20 counts_settled || fail "DPDK $(pmd_figures), tap $(tap_figures)" || return
	[ "$BACKEND" = kvnet ] || return 0
	[ "$(module_figures)" = "$(tap_figures)" ] ||
		fail "the module counted: $(module_figures)" || return
	[ "$(kvnet_counter '.*drop_.*')" -eq 0 ] || fail "drops: $(kvnet_counters | grep drop)"
}

counts_settled()
{
	[ "$(pmd_figures)" = "$(tap_figures)" ]
}

# Beside a driver that polls all the time each process costs twice: few of them.
pmd_figures()
{
	pmd_counters | awk '{ for (i = 1; i < NF; i++) at[$i] = $(i + 1) }
		END { print "TX-packets", at["TX-packets:"], "TX-bytes", at["TX-bytes:"],
			"RX-packets", at["RX-packets:"], "RX-bytes", at["RX-bytes:"] }'
}

tap_figures()
{
	local dir=/sys/class/net/$TAP/statistics

	echo "TX-packets $(< $dir/rx_packets) TX-bytes $(< $dir/rx_bytes)" \
		"RX-packets $(< $dir/tx_packets) RX-bytes $(< $dir/tx_bytes)"
}

module_figures()
{
	kvnet_counters | awk '{ sum[$1] += $2 }
		END { print "TX-packets", sum["kvnet.tx.packets:"], "TX-bytes", sum["kvnet.tx.bytes:"],
			"RX-packets", sum["kvnet.rx.packets:"], "RX-bytes", sum["kvnet.rx.bytes:"] }'
}

# Pings of several sizes, each byte of the answers compared by ping. With -c alone
# it would wait for the last only as long as the others took; with -w it asks more
# often than that where answers come late, and leaves these for us to wait for.
dpdk_echo()
{
	local size said wrong asked answered

	wrong=$(icmp_count InCsumErrors) asked=$(icmp_count OutEchos) answered=$(icmp_count InEchoReps)
	for size in 0 18 100 700 1472; do
		said=$(ping -c $PMD_PINGS -i 0.01 -w 30 -s $size -p a53c0f $GUEST_IP 2>&1) &&
			[[ $said != *"wrong data"* && $said != *DUP* ]] ||
			fail "ping of $size bytes: $(tail -n 6 <<< "$said")" || return
	done
	wait_until 20 icmp_all_answered || fail "$(($(icmp_count OutEchos) - asked)) asked, $(($(icmp_count InEchoReps) - answered)) answered" || return
	# the kernel throws these away, so that ping does not see them
	[ "$(icmp_count InCsumErrors)" -eq "$wrong" ] || fail "$(($(icmp_count InCsumErrors) - wrong)) answers with a wrong checksum"
}

icmp_all_answered()
{
	[ $(($(icmp_count OutEchos) - asked)) -eq $(($(icmp_count InEchoReps) - answered)) ]
}

# icmp_count NAME, of this machine's ICMP
icmp_count()
{
	awk -v want="$1" '$1 == "Icmp:" && !n { n = split($0, name); next }
		$1 == "Icmp:" { for (i = 2; i <= n; i++) if (name[i] == want) print $i; exit }' /proc/net/snmp
}

# From here on the host sends nothing by itself: seconds after the last ping it
# would send an ARP request, which testpmd neither answers nor reads while it sends.
neighbour_kept()
{
	ip neigh replace $GUEST_IP lladdr $GUEST_MAC dev $TAP nud permanent
}

tap_received()
{
	[ "$(tap_counter rx_packets)" -ge "$1" ]
}

# as fast as testpmd can
dpdk_send()
{
	local want=$(($(tap_counter rx_packets) + PMD_PACKETS))

	pmd_mode txonly || return
	wait_until 60 tap_received $want || fail "only $(tap_counter rx_packets) of $want packets" || return
	pmd stop
	counts_agree
}

pktgen_set()
{
	echo "$1" > "/proc/net/pktgen/$2" || fail "pktgen refuses '$1'"
}

# The kernel sends a known number of frames of this size into the tap, to all its
# queues in turn; one that has no room there is sent again.
pktgen_send()
{
	local line

	modprobe pktgen || return
	pktgen_set rem_device_all kpktgend_0 && pktgen_set "add_device $TAP" kpktgend_0 || return
	for line in "pkt_size $1" "count $PMD_PACKETS" "clone_skb 0" "delay 30000" "dst $GUEST_IP" \
		"dst_mac $GUEST_MAC" "udp_src_min 9" "udp_src_max 200" "flag UDPSRC_RND" \
		"queue_map_min 0" "queue_map_max $((PMD_QUEUES - 1))"; do
		pktgen_set "$line" $TAP || return
	done
	pktgen_set start pgctrl || return
	grep -q '^Result: OK' /proc/net/pktgen/$TAP || fail "pktgen: $(tail -n 3 /proc/net/pktgen/$TAP)"
}

# dpdk_receive SIZE
dpdk_receive()
{
	local before received

	# what came before is received, not among what is counted
	pmd_mode rxonly && counts_agree || return
	before=$(tap_counter tx_packets)
	pktgen_send "$1" && counts_agree || return
	received=$(($(tap_counter tx_packets) - before))
	[ $received -eq $PMD_PACKETS ] || fail "$received of $PMD_PACKETS frames of $1 bytes arrived"
}

# dpdk_works FEATURE-BITS VDEV-OPTIONS [testpmd options]
dpdk_works()
{
	# shellcheck disable=SC2086 # a list of bits
	pmd_start "${@:2}" && pmd_negotiated $1 && dpdk_echo && neighbour_kept && counts_agree &&
		dpdk_send && dpdk_receive 60 && dpdk_receive 1400 || return
	echo "# all agree: $(tap_figures)"
}

# every queue pair has a device of its own, and each carried packets both ways
dpdk_all_queues()
{
	local PMD_QUEUES=$1 fd name fds=0

	dpdk_works "$MRG_RXBUF $CTRL_MQ" "queues=$1,queue_size=256,in_order=0" "--rxq=$1" "--txq=$1" || return
	[ "$BACKEND" = kvnet ] || return 0
	for fd in $(backend_fd); do
		fds=$((fds + 1))
		for name in tx rx; do
			awk -v name="kvnet.$name.packets:" '$1 == name { sum += $2 } END { exit sum < 1000 }' \
				"/proc/$(guest_pid)/fdinfo/$fd" || fail "descriptor $fd: hardly any $name packets" || return
		done
	done
	[ $fds -eq "$1" ] || fail "$fds devices are open"
}

# dpdk_vectorized RX-PATH TX-PATH ...: by its log, DPDK's driver goes these ways
dpdk_vectorized()
{
	dpdk_works "${@:3}" && pmd_said "using $1 Rx path" && pmd_said "using $2 Tx path" ||
		fail "not vectorized: $(grep -E 'vectorized|path on port' $GUEST/testpmd.log)"
}

# dpdk_test TITLE FUNCTION ARGUMENTS...
dpdk_test()
{
	run_test "dpdk: $1" "${@:2}"
	pmd_stop
}

# dpdk_layout TITLE BITS FUNCTION ARGUMENTS...
dpdk_layout()
{
	local bit

	for bit in $2; do
		backend_offers "${bit#-}" && continue
		skip dpdk "$1: the backend does not offer feature bit ${bit#-}"
		return
	done
	dpdk_test "$1" "${@:3}"
}

# these ways of DPDK's driver write and read several descriptors at a time
dpdk_vectorized_tests()
{
	local packed="-$MRG_RXBUF $IN_ORDER $PACKED"

	dpdk_test "split ring, no mergeable buffers, vectorized" dpdk_vectorized vectorized standard "-$MRG_RXBUF -$IN_ORDER" \
		queue_size=256,in_order=0,mrg_rxbuf=0,vectorized=1
	if ! grep -qw avx512f /proc/cpuinfo; then
		skip dpdk "packed ring, vectorized: the CPU has no AVX-512 (make test does it in User-Mode Linux)"
		return
	fi
	dpdk_layout "packed ring, vectorized" "$packed" dpdk_vectorized "packed ring vectorized" "packed ring vectorized" "$packed" \
		queue_size=256,in_order=1,packed_vq=1,mrg_rxbuf=0,vectorized=1
}

dpdk_tests()
{
	# "two queue pairs" has the same rings twice
	[ -n "${SHORT:-}" ] || dpdk_test "split ring" dpdk_works "$MRG_RXBUF -$IN_ORDER -$PACKED" \
		queue_size=256,in_order=0,mrg_rxbuf=1
	[ -n "${SHORT:-}" ] || dpdk_test "split ring, no mergeable buffers" dpdk_works "-$MRG_RXBUF" \
		queue_size=256,in_order=0,mrg_rxbuf=0
	[ -n "${SHORT:-}" ] || dpdk_test "a frame in several buffers" dpdk_works $MRG_RXBUF queue_size=1024,in_order=0,mrg_rxbuf=1 \
		--mbuf-size=512 --enable-scatter --tx-offloads=0x8000
	dpdk_test "two queue pairs" dpdk_all_queues 2
	dpdk_layout "split ring, in order" $IN_ORDER dpdk_works $IN_ORDER queue_size=256,in_order=1
	dpdk_layout "packed ring" $PACKED dpdk_works $PACKED queue_size=256,in_order=0,packed_vq=1
	dpdk_layout "packed ring, in order" "$PACKED $IN_ORDER" dpdk_works "$PACKED $IN_ORDER" \
		queue_size=256,in_order=1,packed_vq=1
	dpdk_vectorized_tests
}

dpdk_main()
{
	# a network of its own: to the other one the test host's TCP still sends what a
	# guest that was killed has not acknowledged
	local HOST_IP=10.9.9.1 GUEST_IP=10.9.9.2

	[ "$BACKEND" != off ] || return 0
	if ! type -P dpdk-testpmd > /dev/null; then
		skip dpdk "no dpdk-testpmd in the test host (vm.sh --tree build/vmm-dpdk; scripts/mkvmm.sh dpdk)"
		return 0
	fi
	guest_stop
	run_test "dpdk: huge_pages_are_reserved" hugepages_get && load_backend && dpdk_tests
	hugepages_put
	tap_delete $TAP
}

dpdk_main
