# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Traffic that a test can send, with a verdict: each function returns 0 when all
# arrived as it should. Needs lib.sh.

TCP_PORT=5101
UDP_PORT=5102
DATAGRAMS=1000
STREAM_PORT=5103

# a server of the test host on this port: tcp or udp
host_listens()
{
	grep -q ":$(printf '%04X' "$1") 00000000:0000" "/proc/net/$2"
}

guest_listens()
{
	guest "grep -q ':$(printf '%04X' "$1") 00000000:0000' /proc/net/$2"
}

# tcp_to_guest MEGABYTES
tcp_to_guest()
{
	timeout 120 iperf -c $GUEST_IP -n "${1}M" -f m || fail "TCP to the guest failed"
}

tcp_to_host()
{
	local server status

	iperf -s -p $TCP_PORT > /dev/null 2>&1 &
	server=$!
	wait_until 10 host_listens $TCP_PORT tcp &&
		guest -t 120 "timeout 110 iperf -c $HOST_IP -p $TCP_PORT -n ${1}M -f m"
	status=$?
	kill $server
	wait $server 2>/dev/null
	[ $status -eq 0 ] || fail "TCP to the host failed"
}

tcp_both_ways()
{
	tcp_to_guest "$1" && tcp_to_host "$1"
}

# most_arrived COUNT LENGTH
most_arrived()
{
	echo "$1 of about $DATAGRAMS datagrams of $2 bytes arrived"
	[ "$1" -ge $((DATAGRAMS * 9 / 10)) ]
}

# A number of datagrams, at a rate that can be carried: most must arrive, in both
# directions. However long it takes a slow guest to send them; and a machine that stands
# still for a while loses what it then has to carry at once, but not each time.
udp_to_guest()
{
	datagrams_to_guest "$1" || datagrams_to_guest "$1" || datagrams_to_guest "$1"
}

udp_to_host()
{
	datagrams_to_host "$1" || datagrams_to_host "$1" || datagrams_to_host "$1"
}

# datagrams_to_guest LENGTH
datagrams_to_guest()
{
	local before after

	before=$(guest cat /sys/class/net/eth0/statistics/rx_packets)
	iperf -c $GUEST_IP -u -l "$1" -b 500pps -n $((DATAGRAMS * $1)) > /dev/null 2>&1
	after=$(guest cat /sys/class/net/eth0/statistics/rx_packets)
	most_arrived $((after - before)) "$1"
}

datagrams_to_host()
{
	local before after server

	iperf -s -u -p $UDP_PORT > /dev/null 2>&1 &
	server=$!
	wait_until 10 host_listens $UDP_PORT udp || return
	before=$(cat /sys/class/net/$TAP/statistics/rx_packets)
	guest "iperf -c $HOST_IP -u -p $UDP_PORT -l $1 -b 500pps -n $((DATAGRAMS * $1))" > /dev/null 2>&1
	after=$(cat /sys/class/net/$TAP/statistics/rx_packets)
	kill $server
	wait $server 2>/dev/null
	most_arrived $((after - before)) "$1"
}

# Both ends print length and hash; the receiver has also compared every byte.
# same_stream SENDER-OUTPUT RECEIVER-OUTPUT BYTES
same_stream()
{
	local sent received

	sent=$(sed -n 's/^sent //p' "$1")
	received=$(sed -n 's/^received //p' "$2")
	echo "# sent $sent; received $received"
	[ -n "$sent" ] && [ "$sent" = "$received" ] && [[ $sent == "$3 bytes,"* ]] ||
		fail "$(cat "$1" "$2")"
}

# stream_to_guest BYTES
stream_to_guest()
{
	local seed=$RANDOM

	guest "stream recv $STREAM_PORT $seed > /tmp/recv 2>&1 &"
	wait_until 10 guest_listens $STREAM_PORT tcp || return
	timeout 300 stream send $GUEST_IP $STREAM_PORT $seed "$1" > /tmp/send 2>&1
	wait_until 20 guest 'grep -qE "received|wrong|stream:" /tmp/recv'
	guest cat /tmp/recv > /tmp/recv
	same_stream /tmp/send /tmp/recv "$1"
}

stream_to_host()
{
	local seed=$RANDOM receiver

	timeout 300 stream recv $STREAM_PORT $seed > /tmp/recv 2>&1 &
	receiver=$!
	wait_until 10 host_listens $STREAM_PORT tcp || return
	guest -t 300 "stream send $HOST_IP $STREAM_PORT $seed $1" > /tmp/send 2>&1
	wait $receiver
	same_stream /tmp/send /tmp/recv "$1"
}

### load that goes on until it is stopped, as much as there can be, but for LOAD_IPERF
### and LOAD_PING: options that say how much

load_start()
{
	# shellcheck disable=SC2086 # options
	(while :; do iperf -c $GUEST_IP -t 60 ${LOAD_IPERF:-}; done) > /dev/null 2>&1 &
	LOAD_PID=$!
	guest "ping ${LOAD_PING:--f} -s 1000 $HOST_IP > /dev/null 2>&1 &"
}

load_stop()
{
	local child

	kill "$LOAD_PID" 2>/dev/null
	for child in $(pidof iperf); do
		kill "$child" 2>/dev/null
	done
	wait "$LOAD_PID" 2>/dev/null
	guest -t 5 'killall ping' 2>/dev/null
	return 0
}

# do packets still flow in both directions?
tap_moves()
{
	local dir=/sys/class/net/$TAP/statistics rx tx

	rx=$(< $dir/rx_packets)
	tx=$(< $dir/tx_packets)
	for _ in {1..50}; do
		[ "$(< $dir/rx_packets)" -le "$rx" ] || [ "$(< $dir/tx_packets)" -le "$tx" ] || return 0
	done
	return 1
}
