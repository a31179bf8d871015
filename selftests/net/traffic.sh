# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Traffic that a test can send, with a verdict: each function returns 0 when all
# arrived as it should. Needs lib.sh.

TCP_PORT=5101
UDP_PORT=5102
STREAM_PORT=5103
DATAGRAMS=400

### both ends

# on host|guest COMMAND: by the shell of that end
on()
{
	case $1 in
	host) timeout 300 bash -c "$2" ;;
	guest) guest -t 300 "$2" ;;
	esac
}

other_end()
{
	[ "$1" = host ] && echo guest || echo host
}

address_of()
{
	[ "$1" = host ] && echo $HOST_IP || echo $GUEST_IP
}

# listens host|guest PORT tcp|udp: has that end a server there?
listens()
{
	on "$1" "grep -q ':$(printf '%04X' "$2") 00000000:0000' /proc/net/$3"
}

### traffic

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
	wait_until 10 listens host $TCP_PORT tcp &&
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

# Of what came in by $i the packets that the kernel dropped: the driver, the queue of a CPU, a
# full socket. For the shell of either end.
# shellcheck disable=SC2016
LOST_IN='read -r n < /sys/class/net/$i/statistics/rx_dropped;
	for x in $(cut -d" " -f2 /proc/net/softnet_stat); do n=$((n + 0x$x)); done;
	for x in $(sed -n "s/^Udp: [0-9]* [0-9]* [0-9]* [0-9]* \([0-9]*\).*/\1/p" /proc/net/snmp); do n=$((n + x)); done;
	echo $n'

# lost_to host|guest: these, and what was dropped on the way: by a full tap, or by the guest's
# driver without room
lost_to()
{
	case $1 in
	host) echo $(($(guest cat /sys/class/net/eth0/statistics/tx_dropped) + $(on host "i=$TAP; $LOST_IN"))) ;;
	guest) echo $(($(< /sys/class/net/$TAP/statistics/tx_dropped) + $(on guest "i=eth0; $LOST_IN"))) ;;
	esac
}

# datagrams_arrived host|guest LOST-BEFORE: each has come once, as it was sent, or is in one of
# those counters
datagrams_arrived()
{
	local all missing lost

	all=$(on "$1" "cat /tmp/fetched")
	missing=$((DATAGRAMS - $(grep -cE '^[0-9]+$' <<< "$all")))
	[ "$(sort -u <<< "$all" | grep -cE '^[0-9]+$')" -eq $((DATAGRAMS - missing)) ] || { echo "some came twice"; return 1; }
	! grep -vE '^[0-9]+$' <<< "$all" || return
	[ $missing -ne 0 ] || return 0
	lost=$(($(lost_to "$1") - $2))
	echo "# $missing of $DATAGRAMS datagrams have not arrived; tap, drivers and sockets have dropped $lost"
	[ $missing -eq $lost ]
}

# all_arrived host|guest LOST-BEFORE: a slow receiver gets time
all_arrived()
{
	wait_until 10 datagrams_arrived "$@" || datagrams_arrived "$@"
}

# udp_to host|guest LENGTH: datagrams of this length, at a rate that can be carried
udp_to()
{
	local seed=$RANDOM before status

	on "$1" "stream fetch $UDP_PORT $seed $2 > /tmp/fetched 2>&1 & echo \$! > /tmp/fetch.pid"
	wait_until 10 listens "$1" $UDP_PORT udp && before=$(lost_to "$1") &&
		on "$(other_end "$1")" "stream post $(address_of "$1") $UDP_PORT $seed $DATAGRAMS $2" && all_arrived "$1" "$before"
	status=$?
	# shellcheck disable=SC2016 # for that shell
	on "$1" 'kill $(cat /tmp/fetch.pid)'
	return $status
}

# stream_to host|guest BYTES: both ends print length and hash, and the receiver compares each byte
stream_to()
{
	local seed=$RANDOM sent received

	on "$1" "timeout 300 stream recv $STREAM_PORT $seed > /tmp/received 2>&1 &"
	wait_until 10 listens "$1" $STREAM_PORT tcp || return
	sent=$(on "$(other_end "$1")" "stream send $(address_of "$1") $STREAM_PORT $seed $2 2>&1")
	wait_until 20 on "$1" 'grep -qE "received|wrong|stream:" /tmp/received'
	received=$(on "$1" "cat /tmp/received")
	echo "# $sent; $received"
	[[ $sent == "sent $2 bytes,"* ]] && [ "$received" = "received ${sent#sent }" ] || fail "the streams differ"
}

streams_both_ways()
{
	stream_to guest "$1" && stream_to host "$1"
}

# guest_works FEATURES DEVICE-OPTIONS...: a guest with these agrees on the features and carries
# packets of each kind
guest_works()
{
	local features=$1 DATAGRAMS=200

	# shellcheck disable=SC2086 # a list of bits
	guest_need "${@:2}" && guest_features $features && ping_guest 20 &&
		streams_both_ways $((2 << 20)) && udp_to guest 64
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
