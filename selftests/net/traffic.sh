# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Traffic that a test can send, with a verdict: each function returns 0 when all
# arrived as it should. Needs lib.sh.

TCP_PORT=5101
UDP_PORT=5102
DATAGRAMS=400
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

# What a kernel has lost of what has come in by $i, by name: its driver, the queue of a CPU, a
# socket that was full. For a shell, the guest's too.
# shellcheck disable=SC2016
LOST_IN='read -r n < /sys/class/net/$i/statistics/rx_dropped;
	for x in $(cut -d" " -f2 /proc/net/softnet_stat); do n=$((n + 0x$x)); done;
	for x in $(sed -n "s/^Udp: [0-9]* [0-9]* [0-9]* [0-9]* \([0-9]*\).*/\1/p" /proc/net/snmp); do n=$((n + x)); done;
	echo $n'

# and the tap, which tells no sender of what it drops
lost_to_guest()
{
	echo $(($(< /sys/class/net/$TAP/statistics/tx_dropped) + $(guest "i=eth0; $LOST_IN")))
}

# and the guest's driver, where it has no room
lost_to_host()
{
	echo $(($(guest cat /sys/class/net/eth0/statistics/tx_dropped) + $(bash -c "i=$TAP; $LOST_IN")))
}

fetched_by_guest()
{
	guest cat /tmp/fetched
}

fetched_by_host()
{
	cat /tmp/fetched
}

# datagrams_arrived guest|host LOST-BEFORE: each has come once, as it was sent, or is in one of
# those counters
datagrams_arrived()
{
	local all missing lost

	all=$("fetched_by_$1")
	missing=$((DATAGRAMS - $(grep -cE '^[0-9]+$' <<< "$all")))
	[ "$(sort -u <<< "$all" | grep -cE '^[0-9]+$')" -eq $((DATAGRAMS - missing)) ] || { echo "some came twice"; return 1; }
	! grep -vE '^[0-9]+$' <<< "$all" || return
	[ $missing -ne 0 ] || return 0
	lost=$(($("lost_to_$1") - $2))
	echo "# $missing of $DATAGRAMS datagrams have not arrived; tap, drivers and sockets have dropped $lost"
	[ $missing -eq $lost ]
}

# all_arrived guest|host LOST-BEFORE: a receiver that is behind is waited for
all_arrived()
{
	wait_until 10 datagrams_arrived "$@" || datagrams_arrived "$@"
}

# A number of datagrams of LENGTH bytes, at a rate that can be carried.
udp_to_guest()
{
	local seed=$RANDOM before status

	guest "stream fetch $UDP_PORT $seed $1 > /tmp/fetched 2>&1 &"
	wait_until 10 guest_listens $UDP_PORT udp && before=$(lost_to_guest) &&
		timeout 300 stream post $GUEST_IP $UDP_PORT $seed $DATAGRAMS "$1" && all_arrived guest "$before"
	status=$?
	guest killall stream
	return $status
}

udp_to_host()
{
	local seed=$RANDOM before status server

	stream fetch $UDP_PORT $seed "$1" > /tmp/fetched 2>&1 &
	server=$!
	wait_until 10 host_listens $UDP_PORT udp && before=$(lost_to_host) &&
		guest -t 300 "stream post $HOST_IP $UDP_PORT $seed $DATAGRAMS $1" && all_arrived host "$before"
	status=$?
	kill $server
	wait $server 2>/dev/null
	return $status
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

streams_both_ways()
{
	stream_to_guest "$1" && stream_to_host "$1"
}

# guest_works FEATURES DEVICE-OPTIONS...: a guest with these agrees on the features and carries
# packets of each kind
guest_works()
{
	local features=$1 DATAGRAMS=200

	# shellcheck disable=SC2086 # a list of bits
	guest_need "${@:2}" && guest_features $features && ping_guest 20 &&
		streams_both_ways $((2 << 20)) && udp_to_guest 64
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
