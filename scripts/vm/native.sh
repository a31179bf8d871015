#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The laboratory's native lane, inside User-Mode Linux: samples of kvnet and
# vhost_net in turn, a process being the guest. Prints the rows of scripts/bench.sh;
# fails if a sample could not be taken, whatever the figures are.
#
#   REPEAT   repetitions (default 7)     ONLY    names of tests, globs (default all)
#   QUICK=1  one small case of each test BACKENDS  of these, for each test
# shellcheck source=selftests/net/lib.sh
. /kvnet/selftests/net/lib.sh
# shellcheck source=scripts/vm/native-backends.sh
. /kvnet/scripts/vm/native-backends.sh
# shellcheck source=scripts/vm/native-dpdk.sh
. /kvnet/scripts/vm/native-dpdk.sh

REPEAT=${REPEAT:-7}
LOG=/tmp/sample.log
SHOWN=/tmp/sample.counters
LAYOUTS="kvnet vhost_net kvnet-inorder vhost_net-inorder kvnet-packed kvnet-packed-inorder kvnet-user kvnet-packed-user"
[ -z "$QUICK" ] || LAYOUTS="kvnet vhost_net kvnet-packed kvnet-packed-inorder kvnet-user"

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
	for dir in tx rx; do
		for n in 64 1500; do
			echo "pps test=layout dir=$dir size=$n"
		done
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
	echo "idle test=idle queues=8 ring=256"
	dpdk_here || return 0
	for dir in tx rx; do
		for n in 64 1500; do
			echo "dpdk test=dpdk dir=$dir size=$n"
		done
	done
}

quick_cases()
{
	echo "pps test=pps dir=tx size=64"
	echo "pps test=pps dir=rx size=64"
	echo "pps test=gso dir=both size=65226"
	echo "pps test=layout dir=tx size=64 ring=256 batch=8"
	echo "pps test=layout dir=rx size=64"
	echo "pps test=queues dir=rx size=64 ring=256 queues=2"
	echo "rr test=rr size=64"
	echo "idle test=idle devices=2 ring=256"
	! dpdk_here || echo "dpdk test=dpdk dir=rx size=64"
}

cases()
{
	local program words name

	if [ -n "$QUICK" ]; then quick_cases; else all_cases; fi | while read -r program words; do
		name=${words%% *}
		! wanted "${name#test=}" || echo "$program $words"
	done
}

### backends

backends_of()
{
	[ -z "$BACKENDS" ] || { echo "$BACKENDS"; return; }
	case $1 in
	layout) echo "$LAYOUTS" ;;
	dpdk) dpdk_backends ;;
	*) echo "kvnet vhost_net" ;;
	esac
}

# of those that are wanted, these can be had
OFFERED=' '

wanted_backends()
{
	local name

	sed 's/^[^ ]* test=\([^ ]*\).*/\1/' $SHOWN | sort -u | while read -r name; do
		backends_of "$name"
	done | tr ' ' '\n' | sort -u
}

find_offered()
{
	local backend

	for backend in $(wanted_backends); do
		if run "$backend" 0 pps "test=pps dir=tx size=64" && grep -q '^@bench' $LOG; then
			OFFERED="$OFFERED$backend "
		elif grep -q SKIP $LOG; then
			echo "@note lane=native text=${backend}_is_not_here:_the_device_does_not_offer_it"
		else
			cat $LOG
			fail "no sample through $backend"
			return
		fi
	done
}

# order_of TEST REP: every other repetition the other way round, and another begins
order_of()
{
	local backend list=() i n

	for backend in $(backends_of "$1"); do
		[[ $OFFERED != *" $backend "* ]] || list+=("$backend")
	done
	n=${#list[@]}
	for ((i = 0; i < n; i++)); do
		if [ $(($2 % 2)) -eq 1 ]; then
			echo "${list[(i + $2 / 2) % n]}"
		else
			echo "${list[(2 * n - 1 - i + $2 / 2) % n]}"
		fi
	done
}

### samples

program()
{
	case $1 in
	dpdk) dpdk_sample "$KVNET_DEV" "$BENCH" ;;
	*) /kvnet/lab "$1" ;;
	esac
}

# run BACKEND REP PROGRAM WORDS, into the log
run()
{
	backend_use "$1"
	export BENCH_ROW="lane=native rep=$2 backend=$1" BENCH=$4
	program "$3" > $LOG 2>&1 < /dev/null
}

# sample REP BACKEND PROGRAM WORDS
sample()
{
	if ! run "$2" "$1" "$3" "$4" || ! grep -q '^@bench' $LOG; then
		cat $LOG
		fail "no sample of '$4' through $2"
		return
	fi
	grep '^@bench' $LOG
	[ "$1" -ne 1 ] || sed -n "s/^@counter /@counter $2 ${4// /,} /p" $LOG
}

repetition()
{
	local rep=$1 program words backend name

	while read -r program words; do
		echo "@progress native: repetition $rep of $REPEAT: $words"
		name=${words%% *}
		while read -r backend; do
			sample "$rep" "$backend" "$program" "$words" || return
		done < <(order_of "${name#test=}" "$rep")
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
	# and warms up what all use
	find_offered || exit
	for ((rep = 1; rep <= REPEAT; rep++)); do
		repetition $rep || exit
	done
	rmmod kvnet
}

main
