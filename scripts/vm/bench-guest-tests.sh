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

# rr WHAT WORDS...: what it answers becomes R[name]
rr()
{
	local what=$1 word answer

	shift
	answer=$(/usr/bin/rr "$what" "${PEER_IP:-$GUEST_IP}" $RR_PORT "$@") || { fail "rr $what $* failed"; return; }
	for word in $answer; do
		R[${word%%=*}]=${word#*=}
	done
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
}
