# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Measurements between the test host and its guest with ping and iperf, for demo.sh.
# Each prints one row. The path measured is that of $TAP, $HOST_IP, $GUEST_IP and
# $GUEST_NIC_NAME. Needs selftests/net/lib.sh.

IPERF_PORT=5003
DATAGRAM=64

row()
{
	echo "@row $SYSTEM $1 $2"
}

# the figure before "bits/sec" in iperf's last report
iperf_rate()
{
	awk '/bits\/sec/ { rate = $(NF - 1) } END { print rate }'
}

# iperf_per_second COUNT: of what was counted while iperf sent, by its first report
iperf_per_second()
{
	sed -n 's/.* 0\.0*-\([0-9.]*\) sec .*/\1/p' | awk -v n="$1" 'NR == 1 && $1 > 0 { printf "%.1f\n", n / $1 }'
}

port_line()
{
	printf ':%04X 00000000:0000' $IPERF_PORT
}

# iperf_server [-u]: in the test host. One for each client: a second one of UDP
# can be the end of iperf 2.1.8.
iperf_server()
{
	iperf -s -p $IPERF_PORT "$@" > /dev/null 2>&1 &
	SERVER_PID=$!
	wait_until 10 grep -q "$(port_line)" "/proc/net/$([ $# -gt 0 ] && echo udp || echo tcp)"
}

iperf_server_end()
{
	kill "$SERVER_PID" 2>/dev/null
	wait "$SERVER_PID" 2>/dev/null
}

# the same in the guest
guest_iperf_server()
{
	guest "iperf -s -p $IPERF_PORT $* > /dev/null 2>&1 & echo \$! > /tmp/iperf" &&
		wait_until 10 guest "grep -q '$(port_line)' /proc/net/$([ $# -gt 0 ] && echo udp || echo tcp)"
}

guest_iperf_server_end()
{
	guest 'kill -KILL $(cat /tmp/iperf)'
}

host_packets()
{
	cat "/sys/class/net/$TAP/statistics/rx_packets"
}

guest_packets()
{
	guest cat "/sys/class/net/$GUEST_NIC_NAME/statistics/rx_packets"
}

# bench_ping COUNT: microseconds, the mean of the middle half
bench_ping()
{
	row ping "$(ping -c "$1" -i 0.002 "$GUEST_IP" | sed -n 's/.*time=\([0-9.]*\) ms.*/\1/p' | sort -n | awk '
	{ us[NR] = 1000 * $1 }
	END {
		for (i = int(NR / 4) + 1; i <= NR - int(NR / 4); i++) {
			sum += us[i]
			n++
		}
		if (n)
			printf "%.2f\n", sum / n
	}')"
}

# the amount of the following: "-t SECONDS" or "-n BYTES"

bench_tcp_to_guest()
{
	guest_iperf_server || return
	row tcp-to-guest "$(iperf -c "$GUEST_IP" -p $IPERF_PORT -f m "$@" | iperf_rate)"
	guest_iperf_server_end
}

bench_tcp_to_host()
{
	iperf_server || return
	row tcp-to-host "$(guest -t 120 "iperf -c $HOST_IP -p $IPERF_PORT -f m $*" | iperf_rate)"
	iperf_server_end
}

# small datagrams, offered above what can be carried; what arrives is counted
bench_udp_to_guest()
{
	local before report

	guest_iperf_server -u || return
	before=$(guest_packets)
	report=$(iperf -c "$GUEST_IP" -p $IPERF_PORT -u -l $DATAGRAM -b 10g "$@" 2>&1)
	row udp-to-guest "$(iperf_per_second $(($(guest_packets) - before)) <<< "$report")"
	guest_iperf_server_end
}

bench_udp_to_host()
{
	local before report

	iperf_server -u || return
	before=$(host_packets)
	report=$(guest -t 120 "iperf -c $HOST_IP -p $IPERF_PORT -u -l $DATAGRAM -b 10g $* 2>&1")
	row udp-to-host "$(iperf_per_second $(($(host_packets) - before)) <<< "$report")"
	iperf_server_end
}
