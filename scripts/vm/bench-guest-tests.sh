# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The tests of bench-guest.sh and of the paper: traffic between the test host and
# its guest with the program rr, whose server runs in the guest from its start.
# dir=rx: the guest receives. Amounts are fixed in virtual time; otherwise they
# are chosen so that a test lasts $SECONDS_EACH.

RR_PORT=5201
UDP_SIZES=${UDP_SIZES:-64 256 1024 1472}

# one row: METRIC VALUE UNIT
bench_row()
{
	echo "@bench lane=$LANE rep=$REP backend=$SYSTEM test=$TEST $PARAMS metric=$1 value=$2 unit=$3"
}

# is this test to be run? ONLY: patterns of names
bench_wanted()
{
	local glob

	[ -n "${ONLY:-}" ] || return 0
	for glob in $ONLY; do
		# shellcheck disable=SC2254 # patterns are meant
		case $1 in $glob) return 0 ;; esac
	done
	return 1
}

declare -A R

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

rr_server_up()
{
	guest "grep -q ':$(printf '%04X' $RR_PORT) 00000000:0000' /proc/net/tcp"
}

rr_server_start()
{
	guest "rr serve $RR_PORT > /dev/null 2>&1 &"
	wait_until 20 rr_server_up
}

# scale AMOUNT: what is slow gets less work
scale()
{
	local by=1

	case $SYSTEM in
	e1000 | rtl8139) by=${SLOW_BY:-8} ;;
	esac
	[ -z "${QUICK:-}" ] || by=$((by * 4))
	echo $(($1 / by))
}

# amount_for FIXED COMMAND...: how much of it lasts $SECONDS_EACH, or just FIXED
# in virtual time. "@" in the command stands for the amount.
amount_for()
{
	local fixed ns

	fixed=$(scale "$1")
	shift
	if [ "$LANE" = vtime ]; then
		echo "$fixed"
		return
	fi
	rr "${@//@/$((fixed / 4))}" || return
	ns=${R[ns]}
	[ "$ns" -gt 0 ] || ns=1
	awk -v a=$((fixed / 4)) -v ns="$ns" -v s="${SECONDS_EACH:-1}" 'BEGIN {
		n = a * s * 1e9 / ns
		printf "%d\n", (n < a / 4) ? a / 4 : (n > 400 * a) ? 400 * a : n
	}'
}

# measured FIXED COMMAND...: runs it with counters
measured()
{
	AMOUNT=$(amount_for "$@") || return
	shift
	count_begin
	rr "${@//@/$AMOUNT}" || return
	count_end
}

per_second()
{
	awk -v n="$1" -v ns="$2" 'BEGIN { printf "%.6g\n", (ns > 0) ? n * 1e9 / ns : 0 }'
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
	bench_row switches_own "$(awk -v n="$((R[switches] - 2 * R[kernel_turns]))" -v by="${R[n]}" 'BEGIN { printf "%.6g", n / by }')" 1/transaction
	count_rows "${R[n]}" transaction
}

# busybox's ping has no flood: the other one, each waits for its answer
test_ping()
{
	local min avg max n

	PARAMS=size=56
	n=$(scale "${PINGS:-400}")
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

# stream DIRECTION STREAMS [WINDOW]
stream()
{
	local what=to

	[ "$1" = rx ] || what=from
	measured "${TCP_BYTES:-24000000}" $what @ "$2" "${3:-0}" || return
	bench_row rate "$(per_second $((8 * ${R[bytes]})) "${R[ns]}")" bit/s
	count_rows "$(awk -v b="${R[bytes]}" 'BEGIN { print b / 1e6 }')" MB "$(awk -v b="${R[bytes]}" 'BEGIN { print 8 * b }')"
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

# datagrams DIRECTION SIZE: per packet that arrived
datagrams()
{
	local what=blast

	[ "$1" = rx ] || what=draw
	measured "${UDP_COUNT:-8000}" $what @ "$2" || return
	[ "${R[got]}" -gt 1 ] || { fail "no datagram arrived"; return; }
	bench_row pps "$(per_second $((${R[got]} - 1)) "${R[ns]}")" 1/s
	bench_row lost "$(awk -v s="${R[sent]}" -v g="${R[got]}" 'BEGIN { printf "%.5f", (s - g) / s }')" 1
	count_rows "${R[got]}" packet
}

test_udp()
{
	local size dir

	for size in $UDP_SIZES; do
		for dir in rx tx; do
			PARAMS="dir=$dir size=$size"
			datagrams $dir "$size" || return
		done
	done
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

# tally_rows AMOUNT UNIT: what wakes somebody up or ends his turn, by the kernel's tracepoints:
# of any backend alike
tally_rows()
{
	local name sum=0

	for name in kick call wakeup anywakeup switch exit timer; do
		[ -n "${R[tally_$name]:-}" ] || { fail "no tracepoint for '$name'"; return; }
		bench_row $name "$(awk -v n="${R[tally_$name]}" -v by="$1" 'BEGIN { printf "%.6g", n / by }')" "1/$2"
	done
	sum=$((R[tally_kick] + R[tally_call] + R[tally_wakeup] + R[tally_switch]))
	bench_row sum "$(awk -v n=$sum -v by="$1" 'BEGIN { printf "%.6g", n / by }')" "1/$2"
}

# datagram_events DIRECTION GAP
datagram_events()
{
	local what=blast

	[ "$1" = rx ] || what=draw
	PARAMS="proto=udp dir=$1 size=64 gap=$2"
	rr $what "$(scale $((${UDP_COUNT:-8000} / ($2 ? 4 : 1))))" 64 "$2" || return
	[ "${R[got]}" -gt 1 ] || { fail "no datagram arrived"; return; }
	tally_rows "${R[got]}" packet
}

# floor_events WHERE COMMAND...: the same without a device: what the programs cost, and the
# guest's own timer
floor_events()
{
	PARAMS="proto=udp dir=$1 size=64 gap=100"
	shift
	answered /usr/bin/tally "$@" blast 127.0.0.1 "$FLOOR_PORT" "$(scale 1000)" 64 100 || return
	[ "${R[got]}" -gt 1 ] || { fail "no datagram arrived"; return; }
	tally_rows "${R[got]}" packet
}

host_floor_events()
{
	local FLOOR_PORT=$((RR_PORT + 2)) server status

	/usr/bin/rr serve $FLOOR_PORT > /dev/null 2>&1 &
	server=$!
	wait_until 10 grep -q ":$(printf '%04X' $FLOOR_PORT) 00000000:0000" /proc/net/tcp
	floor_events host /usr/bin/rr
	status=$?
	kill $server
	wait $server 2> /dev/null
	return $status
}

# Kicks, calls, wake-ups and switches for a datagram that the guest sends or gets by a call
# of its own, and for a request with its answer. Without a gap, on one CPU, a sender goes on
# until its turn ends, and one kick is for many; with one of some microseconds each finds
# the worker asleep.
test_events()
{
	local TALLY=/usr/bin/tally dir gap proto

	for gap in 0 100; do
		for dir in tx rx; do
			datagram_events $dir $gap || return
		done
	done
	for proto in udp tcp; do
		PARAMS="proto=$proto dir=rr size=1"
		rr $proto "$(scale 1600)" 1 && tally_rows "${R[n]}" transaction || return
	done
	host_floor_events || return
	export -f guest
	export GUEST PATIENCE
	# shellcheck disable=SC2016 # for the other shell
	FLOOR_PORT=$RR_PORT floor_events guest bash -c 'guest rr "$*"' rr
}
