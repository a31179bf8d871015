#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The laboratory's lanes in which a process is the guest: native, inside User-Mode
# Linux, native2, inside one that has two CPUs, icount, inside a test host that counts
# instructions, and smp, inside one with two CPUs. kvnet, vhost_net and
# others take turns, a slice each. Prints the rows of scripts/bench.sh; fails if a
# sample could not be taken, whatever the figures are.
#
#   REPEAT   repetitions (default 5)     ONLY    names of tests, globs (default all)
#   QUICK=1  one small case of each test BACKENDS  of these, for each test
#   LANE     native (default), native2, icount, smp  FIRST   number of the first repetition
#   REPEATS  repetitions of all boots    BEFORE  of these, done in others
#   BENCH_MS milliseconds of a sample, about (default 40)
#   MOST     repetitions of a test that cannot tell 5 % yet (native, native2; default four times REPEAT)
# shellcheck source=selftests/net/lib.sh
. /kvnet/selftests/net/lib.sh
# shellcheck source=scripts/vm/native-backends.sh
. /kvnet/scripts/vm/native-backends.sh
# shellcheck source=scripts/vm/native-dpdk.sh
. /kvnet/scripts/vm/native-dpdk.sh

LANE=${LANE:-native}
REPEAT=${REPEAT:-5}
FIRST=${FIRST:-1}
REPEATS=${REPEATS:-$REPEAT}
LOG=/tmp/sample.log
SHOWN=/tmp/sample.counters
BENCH_MS=${BENCH_MS:-40}
export BENCH_MS
# how often the processes of a repetition begin anew: where their memory lies is chance,
# and counts; each time is a repetition of its own
LIVES=3
[ -z "$QUICK" ] && [[ $LANE = native* ]] || LIVES=1
MOST=${MOST:-$((4 * REPEAT))}
[ $LIVES -gt 1 ] || MOST=$REPEAT
# what a twin may differ, with its interval
WITHIN=0.05
CHANCE=/tmp/sample.chance
STEP=0
STEPS=0
shopt -s extglob
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

# of those who share CPUs: senders, other guests, whoever else is busy
shared_cases()
{
	local n dir

	for n in 64 1500; do
		echo "sender test=sender dir=rx size=$n"
	done
	for dir in tx rx; do
		echo "crowd test=crowd dir=$dir size=64 ring=256 guests=16"
	done
	echo "rr test=load size=64 busy=2"
	for dir in tx rx; do
		echo "pps test=load dir=$dir size=64 busy=2"
	done
	for n in none kicks chains tables bad refill; do
		echo "neighbour test=neighbour attack=$n size=64"
	done
}

# what two CPUs make a difference to
smp_cases()
{
	local dir

	for dir in tx rx both; do
		echo "pps test=pps dir=$dir size=64"
	done
	echo "rr test=rr size=64"
	shared_cases
}

# the guest, who is the sender too, on one CPU, and the device's workers on another
native2_cases()
{
	local n dir

	for n in 64 1500; do
		for dir in tx rx; do
			echo "pps test=apart dir=$dir size=$n apart=1"
		done
		echo "sender test=sender dir=rx size=$n apart=1"
	done
	for dir in tx rx both; do
		echo "pps test=pps dir=$dir size=1500"
		echo "pps test=gso dir=$dir size=65226"
	done
	smp_cases
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
	for dir in tx rx; do
		for n in 64 1500; do
			echo "pps test=floor dir=$dir size=$n"
		done
	done
	for dir in tx rx; do
		for n in 64 1500; do
			echo "pps test=counters dir=$dir size=$n"
		done
	done
	echo "rr test=counters size=64"
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
	shared_cases
	for n in 64 1500; do
		echo "xdp test=xdp action=drop size=$n"
		echo "xdp test=xdp action=redirect size=$n devices=2"
	done
	for n in 1 64; do
		echo "memory test=memory size=64 ring=256 devices=$n"
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
	echo "pps test=floor dir=both size=64 ring=256"
	echo "pps test=queues dir=rx size=64 ring=256 queues=2"
	echo "rr test=rr size=64"
	echo "sender test=sender dir=rx size=64 ring=256"
	echo "crowd test=crowd dir=tx size=64 ring=256 guests=2"
	echo "rr test=load size=64 busy=1"
	echo "neighbour test=neighbour attack=tables size=64"
	echo "xdp test=xdp action=redirect size=64 ring=256 devices=2"
	echo "idle test=idle devices=2 ring=256"
	! dpdk_here || echo "dpdk test=dpdk dir=rx size=64"
}

cases()
{
	local program words name

	case $QUICK:$LANE in
	:smp) smp_cases ;;
	:native2) native2_cases ;;
	:*) all_cases ;;
	*) quick_cases ;;
	esac | while read -r program words; do
		name=${words%% *}
		! wanted "${name#test=}" || echo "$program $words"
	done
}

### backends

backends_of()
{
	local found="kvnet vhost_net"

	case $1 in
	layout) found=$LAYOUTS ;;
	neighbour) found="$found kvnet-packed" ;;
	floor) found="$found floor" ;;
	counters) found="kvnet kvnet-uncounted" ;;
	dpdk) found=$(dpdk_backends) ;;
	esac
	found=${BACKENDS:-$found}
	# it has no rings, and takes what waits already
	[[ " pps floor ring batch " == *" $1 "* ]] || found=${found//floor/}
	# shellcheck disable=SC2086 # names
	case $1 in
	idle | dpdk | neighbour) echo "$found" ;;
	*) with_twin $found ;;
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
		if BENCH_MS=20 together 0 pps "test=pps dir=tx size=64" "$backend" && grep -q '^@bench' $LOG; then
			OFFERED="$OFFERED$backend "
		elif grep -q SKIP $LOG; then
			echo "@note lane=$LANE text=${backend}_is_not_here:_the_device_does_not_offer_it"
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

# together REP PROGRAM WORDS BACKEND...: slices of them in turn, into the log
together()
{
	local backend turns=()

	for backend in "${@:4}"; do
		turns+=("$(turn_of "$backend")")
	done
	BENCH_TURNS="${turns[*]}" BENCH_ROW="lane=$LANE rep=$1" BENCH=$3 KSFT_SEED=$1 \
		/kvnet/lab "$2" > $LOG 2>&1 < /dev/null
}

# alone REP PROGRAM WORDS BACKEND: a sample of one, into the log
alone()
{
	backend_use "$4"
	export BENCH_ROW="lane=$LANE rep=$1 backend=$4" BENCH=$3
	case $2 in
	dpdk) BENCH_MS=$((5 * BENCH_MS)) dpdk_sample "$KVNET_DEV" "$BENCH" ;;
	*) /kvnet/lab "$2" ;;
	esac > $LOG 2>&1 < /dev/null
}

# sample HOW REP PROGRAM WORDS BACKEND...: its rows
sample()
{
	if ! "$@" || ! grep -q '^@bench' $LOG; then
		cat $LOG
		fail "no sample of '$4' through ${*:5}"
		return
	fi
	grep '^@bench' $LOG
	awk -v what=ratios -v "test=${4// /,}" -f /kvnet/scripts/vm/chance.awk $LOG >> $CHANCE
	[ "$2" -ne 1 ] || sed -n "s/^@counter \([^ ]*\) /@counter \1 ${4// /,} /p" $LOG
}

# step WORDS: how far; the host knows the time
step()
{
	STEP=$((STEP + 1))
	echo "@progress step $STEP of $STEPS: $LANE: ${1//@(test|dir)=/}"
}

# repetition NUMBER: of the tests that are in $SHOWN
repetition()
{
	local rep=$((($1 - 1) * LIVES + 1)) program words backend name list life

	while read -r program words; do
		name=${words%% *}
		mapfile -t list < <(order_of "${name#test=}" "$1")
		[ ${#list[@]} -gt 0 ] || continue
		step "$words"
		if [[ " idle dpdk " == *" $program "* ]]; then
			for backend in "${list[@]}"; do
				sample alone $rep "$program" "$words" "$backend" || return
			done
			continue
		fi
		for ((life = rep; life < rep + LIVES; life++)); do
			sample together $life "$program" "$words" "${list[@]}" || return
		done
	done < $SHOWN
}

# Leaves those tests that cannot tell yet
keep_open()
{
	local program words

	awk -v what=open -v within=$WITHIN -f /kvnet/scripts/vm/chance.awk $CHANCE > $CHANCE.open
	while read -r program words; do
		! grep -qxF "${words// /,}" $CHANCE.open || echo "$program $words"
	done < $SHOWN > $SHOWN.open
	mv $SHOWN.open $SHOWN
}

# The machine's speed is not always the same, nor are all tests as sensitive: some need more.
go_on()
{
	local rep

	for ((rep = REPEAT + 1; rep <= MOST; rep++)); do
		keep_open
		[ -s $SHOWN ] || return 0
		# at most
		STEPS=$((STEP + (MOST - rep + 1) * $(wc -l < $SHOWN)))
		repetition $rep || return
	done
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
	echo "@fact lane=$LANE key=kernel value=$(uname -r)"
	echo "@fact lane=$LANE key=sample value=${LIVES}_times_${BENCH_MS}_ms"
	echo "@note lane=$LANE text=No_exits_and_interrupts:_a_process_is_the_guest"
	if [ "$LANE" = native2 ]; then
		echo "@fact lane=$LANE key=cpus value=$(nproc)"
		echo "@note lane=$LANE text=User_copies,_system_calls,_page_faults_and_waking_another_CPU_are_dearer_than_on_hardware:_compare,_do_not_take_as_absolute"
		return
	fi
	if [ "$LANE" = smp ]; then
		echo "@fact lane=$LANE key=cpus value=$(nproc)"
		[ "${VM_ACCEL:-}" != tcg ] ||
			echo "@note lane=$LANE text=Emulated_CPUs,_in_real_time:_what_they_share_and_what_it_costs_to_wake_one_is_not_as_on_hardware"
		return
	fi
	echo "@note lane=$LANE text=One_CPU:_nothing_runs_in_parallel"
	if [ "$LANE" = icount ]; then
		echo "@note lane=$LANE text=Instructions,_each_of_the_same_length:_no_caches,_no_misses,_no_long_divisions"
		return
	fi
	echo "@note lane=$LANE text=User_copies,_system_calls_and_page_faults_are_dearer_than_on_hardware:_compare,_do_not_take_as_absolute"
	! scheduler_counts_ticks || echo "@note lane=$LANE text=The_worker's_time_is_counted_in_ticks_of_10_ms:_no_more_than_a_hint"
}

main()
{
	local rep

	load_kvnet && BACKEND=vhost load_backend || exit
	# the newest kernel has none; and a quick run has no row of the other
	[ ! -e /kvnet/kvnet_floor.ko ] || insmod /kvnet/kvnet_floor.ko || exit
	# not for a quick run, which has no row of it and in which slices may be spoilt
	[ ! -e /kvnet/kvnet_hosttime.ko ] || insmod /kvnet/kvnet_hosttime.ko || exit
	[ ! -e /kvnet/kvnet_uncounted.ko ] || insmod /kvnet/kvnet_uncounted.ko || exit
	facts
	cases > $SHOWN
	[ -s $SHOWN ] || { echo "@progress $LANE: no test of this lane is called '$ONLY'"; exit 0; }
	# and warms up what all use
	find_offered || exit
	STEP=$((${BEFORE:-0} * $(wc -l < $SHOWN))) STEPS=$((REPEATS * $(wc -l < $SHOWN)))
	: > $CHANCE
	for ((rep = FIRST; rep < FIRST + REPEAT; rep++)); do
		repetition $rep || exit
	done
	[ "$MOST" -le "$REPEAT" ] || go_on || exit
	[ ! -e /kvnet/kvnet_floor.ko ] || rmmod kvnet_floor || exit
	rmmod kvnet || exit
	[ ! -e /kvnet/kvnet_hosttime.ko ] || rmmod kvnet_hosttime || exit
	[ ! -e /kvnet/kvnet_uncounted.ko ] || rmmod kvnet_uncounted
}

main
