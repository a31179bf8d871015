# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The tests of bench-guest.sh and of the paper: traffic between the test host and
# its guest with the program rr, whose server runs in the guest from its start.
# dir=rx: the guest receives. Amounts are fixed in virtual time; otherwise they
# are chosen so that a test lasts a second.

RR_PORT=5201
UDP_COUNT=8000
# rr's words for each direction
declare -A STREAM=([rx]=to [tx]=from) DATAGRAMS=([rx]=blast [tx]=draw)
declare -A R

# one row: METRIC VALUE UNIT
bench_row()
{
	echo "@bench lane=$LANE rep=$REP backend=$SYSTEM test=$TEST $PARAMS metric=$1 value=$2 unit=$3"
}

# answered COMMAND...: what it answers becomes R[name]
answered()
{
	local word answer

	answer=$("$@") || { fail "$* failed"; return; }
	for word in $answer; do
		R[${word%%=*}]=${word#*=}
	done
}

# rr WHAT WORDS...
rr()
{
	local what=$1

	shift
	# shellcheck disable=SC2086 # a word or none
	answered ${TALLY:-} /usr/bin/rr "$what" "${PEER_IP:-$GUEST_IP}" $RR_PORT "$@"
}

# of one that listens, in /proc/net/tcp
listener()
{
	printf ':%04X 00000000:0000' "$1"
}

rr_server_start()
{
	guest "rr serve $RR_PORT > /dev/null 2>&1 &"
	wait_until 20 guest "grep -q '$(listener $RR_PORT)' /proc/net/tcp"
}

# beside_server PORT COMMAND...: with rr's server in the test host itself
beside_server()
{
	local server status

	/usr/bin/rr serve "$1" > /dev/null 2>&1 &
	server=$!
	wait_until 10 grep -q "$(listener "$1")" /proc/net/tcp
	"${@:2}"
	status=$?
	kill $server
	wait $server 2> /dev/null
	return $status
}

# ratio AMOUNT BY [FORMAT]
ratio()
{
	awk -v n="$1" -v by="$2" -v format="${3:-%.6g}" 'BEGIN { printf format "\n", (by > 0) ? n / by : 0 }'
}

# per_second AMOUNT NS
per_second()
{
	ratio "$1" "$(ratio "$2" 1e9 %.12g)"
}

# scale AMOUNT: what is slow gets less work
scale()
{
	local by=1

	[ "$SYSTEM" != rtl8139 ] || by=8
	[ -z "$QUICK" ] || by=$((by * 4))
	echo $(($1 / by))
}

# amount_for FIXED COMMAND...: how much of it lasts a second, or just FIXED
# in virtual time. "@" in the command stands for the amount.
amount_for()
{
	local fixed

	fixed=$(scale "$1")
	shift
	if [ "$LANE" = vtime ]; then
		echo "$fixed"
		return
	fi
	rr "${@//@/$((fixed / 4))}" || return
	awk -v a=$((fixed / 4)) -v ns="${R[ns]}" 'BEGIN {
		n = a * 1e9 / (ns > 0 ? ns : 1)
		printf "%d\n", (n < a / 4) ? a / 4 : (n > 400 * a) ? 400 * a : n
	}'
}

# measured FIXED COMMAND...: runs it with counters
measured()
{
	local amount

	amount=$(amount_for "$@") || return
	shift
	count_begin
	rr "${@//@/$amount}" || return
	count_end
}

latency_rows()
{
	bench_row p50 "${R[p50]}" ns
	bench_row p99 "${R[p99]}" ns
	bench_row p999 "${R[p999]}" ns
	bench_row rate "$(per_second "${R[n]}" "${R[ns]}")" 1/s
	[ "${R[lost]}" -eq 0 ] || bench_row lost "${R[lost]}" 1
	# of the transactions alone: rr has looked when the first began and the last was over. A turn
	# of the kernel's own threads is two switches, to it and back.
	count_of_transactions "${R[switches]}" "${R[counting_ns]}"
	bench_row switches_own "$(ratio $((R[switches] - 2 * R[kernel_turns])) "${R[n]}")" 1/transaction
	count_rows "${R[n]}" transaction
}

# busybox's ping has no flood: the other one, each waits for its answer
test_ping()
{
	local min avg max n

	PARAMS=size=56
	n=$(scale 400)
	count_begin
	IFS=/ read -r min avg max _ < <(ping -q -f -c "$n" $GUEST_IP | sed -n 's/^rtt [^=]*= //p')
	count_end
	[ -n "$avg" ] || return
	bench_row rtt_min "$min" ms
	bench_row rtt_avg "$avg" ms
	bench_row rtt_max "$max" ms
	count_rows "$n" transaction
}

test_rr()
{
	local proto

	for proto in tcp udp; do
		PARAMS="proto=$proto size=1"
		measured 1600 $proto @ 1 && latency_rows || return
	done
}

test_conn()
{
	PARAMS=proto=tcp
	measured 320 conn @ && latency_rows
}

# stream_rate: of one that has ended
stream_rate()
{
	bench_row rate "$(per_second $((8 * R[bytes])) "${R[ns]}")" bit/s
}

# stream DIRECTION STREAMS
stream()
{
	measured 24000000 ${STREAM[$1]} @ "$2" || return
	stream_rate
	count_rows "$(ratio "${R[bytes]}" 1e6)" MB $((8 * R[bytes]))
}

test_tcp()
{
	local dir streams

	for streams in ${TCP_STREAMS:-1 4}; do
		for dir in rx tx; do
			PARAMS="dir=$dir streams=$streams"
			stream $dir "$streams" || return
		done
	done
}

datagrams_arrived()
{
	[ "${R[got]}" -gt 1 ] || fail "no datagram arrived"
}

# udp_rows SIZE...: per packet that arrived
udp_rows()
{
	local size dir

	for size; do
		for dir in rx tx; do
			PARAMS="dir=$dir size=$size"
			measured $UDP_COUNT ${DATAGRAMS[$dir]} @ "$size" && datagrams_arrived || return
			bench_row pps "$(per_second $((R[got] - 1)) "${R[ns]}")" 1/s
			bench_row lost "$(ratio $((R[sent] - R[got])) "${R[sent]}" %.5f)" 1
			count_rows "${R[got]}" packet
		done
	done
}

test_udp()
{
	# shellcheck disable=SC2086 # numbers
	udp_rows ${UDP_SIZES:-64 256 1024 1472}
}

# nothing to do: what it costs per second
test_idle()
{
	local seconds=2

	PARAMS=traffic=none
	count_begin
	sleep $seconds
	count_end
	count_rows $seconds second
	answered /usr/bin/tally sleep $seconds && tally_rows $seconds second
}

# tally_rows AMOUNT UNIT: what wakes a task or ends its turn, by the kernel's tracepoints:
# of any backend alike
tally_rows()
{
	local name

	for name in kick call wakeup anywakeup switch exit timer; do
		[ -n "${R[tally_$name]:-}" ] || { fail "no tracepoint for '$name'"; return; }
		bench_row $name "$(ratio "${R[tally_$name]}" "$1")" "1/$2"
	done
	bench_row sum "$(ratio $((R[tally_kick] + R[tally_call] + R[tally_wakeup] + R[tally_switch])) "$1")" "1/$2"
}

# datagram_events DIRECTION GAP
datagram_events()
{
	PARAMS="proto=udp dir=$1 size=64 gap=$2"
	rr ${DATAGRAMS[$1]} "$(scale $((UDP_COUNT / ($2 ? 4 : 1))))" 64 "$2" && datagrams_arrived && tally_rows "${R[got]}" packet
}

# floor_events WHERE PORT COMMAND...: the same without a device: what the programs cost, and the
# guest's own timer
floor_events()
{
	PARAMS="proto=udp dir=$1 size=64 gap=100"
	answered /usr/bin/tally "${@:3}" blast 127.0.0.1 "$2" "$(scale 1000)" 64 100 && datagrams_arrived && tally_rows "${R[got]}" packet
}

# Kicks, calls, wake-ups and switches for a datagram that the guest sends or gets by a call
# of its own, and for a request with its answer. Without a gap, on one CPU, a sender goes on
# until its turn ends, and one kick is for many; with one of some microseconds each finds
# the worker asleep.
test_events()
{
	local TALLY=/usr/bin/tally dir gap proto port=$((RR_PORT + 2))

	for gap in 0 100; do
		for dir in tx rx; do
			datagram_events $dir $gap || return
		done
	done
	for proto in udp tcp; do
		PARAMS="proto=$proto dir=rr size=1"
		rr $proto "$(scale 1600)" 1 && tally_rows "${R[n]}" transaction || return
	done
	beside_server $port floor_events host $port /usr/bin/rr || return
	export -f guest
	export GUEST PATIENCE
	# shellcheck disable=SC2016 # for the other shell
	floor_events guest $RR_PORT bash -c 'guest rr "$*"' rr
}
