#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The laboratory's native lane, inside User-Mode Linux: samples of kvnet and
# vhost_net in turn, a process being the guest. Prints the rows of scripts/bench.sh;
# fails if a sample could not be taken, whatever the figures are.
#
#   REPEAT   repetitions (default 7)     ONLY    names of tests, globs (default all)
#   QUICK=1  one small case of each test
# shellcheck source=selftests/net/lib.sh
. /kvnet/selftests/net/lib.sh
# shellcheck source=scripts/vm/native-dpdk.sh
. /kvnet/scripts/vm/native-dpdk.sh

REPEAT=${REPEAT:-7}
LOG=/tmp/sample.log
SHOWN=/tmp/sample.counters
declare -A NODE=([kvnet]=/dev/kvnet [vhost_net]=/dev/vhost-net)

wanted()
{
	local glob

	[ -n "$ONLY" ] || return 0
	set -f
	for glob in $ONLY; do
		# shellcheck disable=SC2254 # a pattern
		case $1 in $glob) set +f; return 0 ;; esac
	done
	set +f
	return 1
}

# each line: program and its parameters, which become the row's
all_cases()
{
	local n dir

	for dir in tx rx both; do
		for n in 64 256 1024 1500; do
			echo "pps test=pps dir=$dir size=$n"
		done
		echo "pps test=gso dir=$dir size=65226"
	done
	echo "rr test=rr size=64"
	for dir in tx rx; do
		for n in 256 512 1024 4096; do
			echo "pps test=ring dir=$dir size=64 ring=$n"
		done
	done
	for n in 1 4 16 64 256; do
		echo "pps test=batch dir=tx size=64 batch=$n"
	done
	for dir in tx rx; do
		for n in 1 2 4 8 16 32; do
			echo "pps test=devices dir=$dir size=64 ring=256 devices=$n"
		done
		for n in 1 2 4 8; do
			echo "pps test=queues dir=$dir size=64 ring=256 queues=$n"
		done
	done
	echo "idle test=idle devices=32 ring=256"
	if dpdk_here; then
		echo "dpdk test=dpdk dir=tx size=64"
		echo "dpdk test=dpdk dir=tx size=1500"
	fi
}

quick_cases()
{
	echo "pps test=pps dir=tx size=64"
	echo "pps test=pps dir=rx size=64"
	echo "pps test=gso dir=both size=65226"
	echo "pps test=queues dir=rx size=64 ring=256 queues=2"
	echo "rr test=rr size=64"
	echo "idle test=idle devices=2 ring=256"
}

cases()
{
	local program words name

	if [ -n "$QUICK" ]; then quick_cases; else all_cases; fi | while read -r program words; do
		name=${words%% *}
		! wanted "${name#test=}" || echo "$program $words"
	done
}

program()
{
	case $1 in
	dpdk) dpdk_sample "$KVNET_DEV" "$BENCH" ;;
	*) /kvnet/lab "$1" ;;
	esac
}

# sample REP BACKEND PROGRAM WORDS
sample()
{
	export KVNET_DEV=${NODE[$2]} BENCH_ROW="lane=native rep=$1 backend=$2" BENCH=$4
	if ! program "$3" > $LOG 2>&1 ||
		! grep -q '^@bench' $LOG; then
		cat $LOG
		fail "no sample of '$4' through ${NODE[$2]}"
		return
	fi
	# the first one warms up what all use
	[ "$1" -eq 0 ] || grep '^@bench' $LOG
	[ "$1" -ne 1 ] || sed -n "s/^@counter /@counter ${4// /,} /p" $LOG
}

# every other repetition begins with the other backend
repetition()
{
	local rep=$1 program words backend order="kvnet vhost_net"

	[ $((rep % 2)) -eq 1 ] || order="vhost_net kvnet"
	while read -r program words; do
		echo "@progress native: repetition $rep of $REPEAT: $words"
		for backend in $order; do
			sample "$rep" "$backend" "$program" "$words" || return
		done
	done < $SHOWN
}

# A kernel whose scheduler has no better clock
scheduler_counts_ticks()
{
	local ns

	read -r ns _ < /proc/self/schedstat
	[ $((ns % 1000000)) -eq 0 ]
}

facts()
{
	echo "@fact lane=native key=kernel value=$(uname -r)"
	echo "@fact lane=native key=sample value=${BENCH_MS:-200}_ms"
	echo "@note lane=native text=No_exits_and_interrupts:_a_process_is_the_guest"
	echo "@note lane=native text=One_CPU:_nothing_runs_in_parallel"
	echo "@note lane=native text=User_copies,_system_calls_and_page_faults_are_dearer_than_on_hardware:_compare,_do_not_take_as_absolute"
	! scheduler_counts_ticks || echo "@note lane=native text=The_worker's_time_is_counted_in_ticks_of_10_ms:_no_more_than_a_hint"
}

main()
{
	local rep

	load_kvnet && BACKEND=vhost load_backend || exit
	facts
	cases > $SHOWN
	[ -s $SHOWN ] || { echo "@progress native: no test of this lane is called '$ONLY'"; exit 0; }
	sample 0 kvnet pps "test=pps dir=tx size=64" && sample 0 vhost_net pps "test=pps dir=tx size=64" || exit
	for ((rep = 1; rep <= REPEAT; rep++)); do
		repetition $rep || exit
	done
	rmmod kvnet
}

main
