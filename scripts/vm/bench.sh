# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Measurements between the test host and its guest, for demo.sh.
# Each prints "<backend> <row> <value>" lines. Needs selftests/net/lib.sh.

HOST_TCP_PORT=5002
HOST_UDP_PORT=5003

# the figure before "bits/sec" in iperf's last report
iperf_rate()
{
	awk '/bits\/sec/ { line = $0 }
	END {
		n = split(line, word, " ")
		for (i = 2; i <= n; i++)
			if (word[i] ~ /bits\/sec/) print word[i - 1]
	}'
}

listening()
{
	grep -q ":$(printf '%04X' "$1") 00000000:0000" "/proc/net/$2"
}

# start_host_server tcp|udp
start_host_server()
{
	local port=$HOST_TCP_PORT args=()

	if [ "$1" = udp ]; then
		port=$HOST_UDP_PORT
		args=(-u)
	fi
	iperf -s -p $port "${args[@]}" > /dev/null 2>&1 &
	SERVER_PID=$!
	wait_until 10 listening $port "$1"
}

stop_host_server()
{
	kill "$SERVER_PID" 2>/dev/null
	wait "$SERVER_PID" 2>/dev/null
}

host_packets()
{
	cat "/sys/class/net/$TAP/statistics/rx_packets"
}

guest_packets()
{
	guest cat /sys/class/net/eth0/statistics/rx_packets
}

row()
{
	echo "@row $BACKEND $1 $2"
}

# bench_rtt PACKETS
bench_rtt()
{
	local min avg max

	ping_guest 3 > /dev/null
	IFS=/ read -r min avg max _ < <(ping -q -c "$1" -i 0.01 $GUEST_IP | sed -n 's/^rtt [^=]*= //p')
	row rtt-min "$min"
	row rtt-avg "$avg"
	row rtt-max "$max"
}

# amount for the next two: "-t SECONDS" or "-n BYTES"
bench_tcp_to_guest()
{
	row tcp-to-guest "$(iperf -c $GUEST_IP -f m "$@" | iperf_rate)"
}

bench_tcp_to_host()
{
	start_host_server tcp
	row tcp-to-host "$(guest -t 120 "iperf -c $HOST_IP -p $HOST_TCP_PORT -f m $*" | iperf_rate)"
	stop_host_server
}

# 64-byte UDP, offered above what can be carried; what arrives is counted
bench_udp_to_guest()
{
	local before after

	before=$(guest_packets)
	iperf -c $GUEST_IP -u -l 64 -b 10g -t "$1" > /dev/null 2>&1
	after=$(guest_packets)
	row udp-to-guest $(((after - before) / $1))
}

bench_udp_to_host()
{
	local before after

	start_host_server udp
	before=$(host_packets)
	guest -t 120 "iperf -c $HOST_IP -u -p $HOST_UDP_PORT -l 64 -b 10g -t $1" > /dev/null 2>&1
	after=$(host_packets)
	row udp-to-host $(((after - before) / $1))
	stop_host_server
}
