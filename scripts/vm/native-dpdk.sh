# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# DPDK's testpmd as the guest, for native.sh: virtio-user polls its rings, and sends
# or receives as fast as it can; selftests/perf/peer.c looks at its tap and at the
# worker. Without huge pages, which User-Mode Linux has not.

DPDK=/kvnet/dpdk
DPDK_LIBS=$DPDK/usr/lib/x86_64-linux-gnu
DPDK_TAP=dpdk0
DPDK_DIR=/tmp/dpdk

# what KVNET_LAYOUT and the backend's name say, in virtio-user's words
dpdk_layout()
{
	local packed=0 in_order=0 more=''

	[[ ${KVNET_LAYOUT:-} != *packed* ]] || packed=1
	[[ ${KVNET_LAYOUT:-} != *in_order* ]] || in_order=1
	[[ $BENCH_ROW != *-vectorized ]] || more=,mrg_rxbuf=0,vectorized=1
	echo "packed_vq=$packed,in_order=$in_order$more"
}

# it says so itself, of both directions
dpdk_way_is_so()
{
	[[ $BENCH_ROW == *-vectorized ]] || return 0
	[ "$(grep -c 'using packed ring vectorized [RT]x path' $DPDK_DIR/log)" -ge 2 ] && return
	echo "testpmd does not go the vectorized way"
	return 1
}

# dpdk_exec NODE DIR SIZE: one lcore commands, one forwards, both on the only CPU
dpdk_exec()
{
	local plugin plugins=() mode=(--forward-mode=txonly "--txpkts=$3")

	[ "$2" = tx ] || mode=(--forward-mode=rxonly)
	for plugin in bus_vdev net_virtio mempool_ring; do
		plugins+=(-d "$DPDK_LIBS/librte_$plugin.so.23")
	done
	# its words, line by line
	export LD_PRELOAD=/usr/libexec/coreutils/libstdbuf.so _STDBUF_O=L
	export LD_LIBRARY_PATH=$DPDK_LIBS:$DPDK/lib/x86_64-linux-gnu
	exec $DPDK/usr/bin/dpdk-testpmd --no-pci --no-telemetry --no-huge -m 128 --lcores 0@0,1@0 "${plugins[@]}" \
		--force-max-simd-bitwidth=512 --log-level=pmd.net.virtio.init:info \
		"--vdev=net_virtio_user0,path=$1,iface=$DPDK_TAP,queue_size=1024,$(dpdk_layout)" -- \
		-i "${mode[@]}" --auto-start --total-num-mbufs=8192 --nb-cores=1
}

# dpdk_ready DIR: it sends already, or it has offered buffers
dpdk_ready()
{
	[ -d "/proc/$DPDK_PID" ] && [ -e /sys/class/net/$DPDK_TAP ] && ip link set $DPDK_TAP up || return
	if [ "$1" = tx ]; then
		[ "$(cat /sys/class/net/$DPDK_TAP/statistics/rx_packets)" -gt 10000 ]
	else
		grep -q '^rxonly packet forwarding' $DPDK_DIR/log
	fi
}

# dpdk_received NUMBER: by its own count; into the variable got
dpdk_received()
{
	echo "show fwd stats all" >&8
	got=$(sed -n 's/.*RX-total: *\([0-9]*\).*/\1/p' $DPDK_DIR/log | tail -n 1)
	[ "${got:-0}" -ge "$1" ]
}

# dpdk_got_all: at least as many packets as peer.c sent come out of the rings. It may
# still have to take the last ones: peer.c has only seen them leave the tap.
dpdk_got_all()
{
	local sent got=''

	sent=$(sed -n 's/^@sent //p' $DPDK_DIR/sample)
	[ -n "$sent" ] && wait_until 20 dpdk_received "$sent" && return
	echo "testpmd got ${got:-none} of ${sent:-unknown} packets"
	return 1
}

# dpdk_sample NODE "... dir=D size=N ..."
dpdk_sample()
{
	local dir=${2##*dir=} size=${2##*size=} status=1

	dir=${dir%% *}
	rm -rf $DPDK_DIR
	mkdir -p $DPDK_DIR /run /var/run
	mkfifo $DPDK_DIR/stdin
	exec 8<> $DPDK_DIR/stdin
	(dpdk_exec "$1" "$dir" "${size%% *}") < $DPDK_DIR/stdin > $DPDK_DIR/log 2>&1 &
	DPDK_PID=$!
	if wait_until 60 dpdk_ready "$dir" && dpdk_way_is_so; then
		PEER_PID=$DPDK_PID PEER_TAP=$DPDK_TAP /kvnet/lab peer | tee $DPDK_DIR/sample && status=${PIPESTATUS[0]}
		[ "$dir" = tx ] || [ "$status" -ne 0 ] || dpdk_got_all || status=1
	fi
	[ "$status" -eq 0 ] || tail -n 12 $DPDK_DIR/log
	# its own end, by SIGTERM, can wait for the next command for ever
	kill -KILL $DPDK_PID 2>/dev/null
	wait $DPDK_PID 2>/dev/null
	exec 8>&-
	return "$status"
}
