# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# DPDK's testpmd as the guest, for native.sh: virtio-user polls its rings and sends
# as fast as it can; what comes out of the tap is counted. Without huge pages, which
# User-Mode Linux has not.

DPDK=/kvnet/dpdk
DPDK_LIBS=$DPDK/usr/lib/x86_64-linux-gnu
DPDK_TAP=dpdk0
DPDK_DIR=/tmp/dpdk

dpdk_here()
{
	[ -x $DPDK/usr/bin/dpdk-testpmd ]
}

# dpdk_exec NODE SIZE: one lcore commands, one forwards, both on the only CPU
dpdk_exec()
{
	local plugin plugins=()

	for plugin in bus_vdev net_virtio mempool_ring; do
		plugins+=(-d "$DPDK_LIBS/librte_$plugin.so.23")
	done
	export LD_LIBRARY_PATH=$DPDK_LIBS:$DPDK/lib/x86_64-linux-gnu
	exec $DPDK/usr/bin/dpdk-testpmd --no-pci --no-telemetry --no-huge -m 128 --lcores 0@0,1@0 "${plugins[@]}" \
		"--vdev=net_virtio_user0,path=$1,iface=$DPDK_TAP,queue_size=1024,in_order=0" -- \
		-i --forward-mode=txonly "--txpkts=$2" --auto-start --total-num-mbufs=8192 --nb-cores=1
}

dpdk_packets()
{
	cat /sys/class/net/$DPDK_TAP/statistics/rx_packets
}

dpdk_sends()
{
	[ -d "/proc/$DPDK_PID" ] && [ -e /sys/class/net/$DPDK_TAP ] && ip link set $DPDK_TAP up && [ "$(dpdk_packets)" -gt 10000 ]
}

# nanoseconds since boot
uptime_ns()
{
	local now

	read -r now _ < /proc/uptime
	echo $((${now/./} * 10000000))
}

# CPU time of the device's worker, which is called after its owner
dpdk_worker_ns()
{
	local file

	file=$(grep -lxE "(kvnet|vhost)-$DPDK_PID" /proc/[0-9]*/comm /proc/$DPDK_PID/task/*/comm 2>/dev/null | sed -n 1p)
	cut -d' ' -f1 "${file%comm}schedstat"
}

# dpdk_count MS: packets, the nanoseconds that they took, and the worker's
dpdk_count()
{
	local first begin worker

	first=$(dpdk_packets)
	worker=$(dpdk_worker_ns)
	begin=$(uptime_ns)
	sleep "$(awk -v ms="$1" 'BEGIN { print ms / 1000 }')"
	echo $(($(dpdk_packets) - first)) $(($(uptime_ns) - begin)) $(($(dpdk_worker_ns) - worker))
}

# dpdk_sample NODE "dir=tx size=N ..."
dpdk_sample()
{
	local size=${2##*size=} status=1

	rm -rf $DPDK_DIR
	mkdir -p $DPDK_DIR /run /var/run
	mkfifo $DPDK_DIR/stdin
	exec 8<> $DPDK_DIR/stdin
	(dpdk_exec "$1" "${size%% *}") < $DPDK_DIR/stdin > $DPDK_DIR/log 2>&1 &
	DPDK_PID=$!
	if wait_until 60 dpdk_sends; then
		dpdk_count $((4 * ${BENCH_MS:-200} + 200)) |
			awk -v row="@bench $BENCH_ROW $BENCH" '$1 > 0 {
				printf "%s metric=pps value=%.1f unit=1/s\n%s metric=worker value=%.2f unit=ns\n",
					row, $1 * 1e9 / $2, row, $3 / $1 }' && status=0
	else
		tail -n 12 $DPDK_DIR/log
	fi
	kill $DPDK_PID 2>/dev/null
	wait $DPDK_PID 2>/dev/null
	exec 8>&-
	return $status
}
