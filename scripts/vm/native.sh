#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The laboratory's lanes in which a process is the guest, inside the measured machine:
# User-Mode Linux or a test host. Works off a plan (tools/bench/cases.py), in which kvnet,
# vhost_net and others take turns, and prints the rows of scripts/bench.sh; fails if a
# sample could not be taken, whatever the figures are.
#
#   LANE     native, native2, icount, smp
#   BENCH_MS milliseconds of a sample, about
#   LIVES    how often the processes of a repetition begin anew: where their memory lies is
#            chance, and counts; each time is a repetition of its own
#   REPEAT   repetitions; those beyond are for the tests that cannot tell 5 % yet
# shellcheck source=selftests/net/lib.sh
. /kvnet/selftests/net/lib.sh
# shellcheck source=scripts/vm/native-dpdk.sh
. /kvnet/scripts/vm/native-dpdk.sh

PLAN=/kvnet/bench-$LANE.plan
LOG=/tmp/sample.log
ROWS=/tmp/rows
OPEN=/tmp/open
MODULES="kvnet_floor kvnet_hosttime kvnet_uncounted"
OFFERED=' '
declare -A TURN
export BENCH_MS

# together REP PROGRAM WORDS BACKEND...: slices of them in turn, into the log
together()
{
	local backend turns=()

	for backend in "${@:4}"; do
		turns+=("${TURN[$backend]}")
	done
	BENCH_TURNS="${turns[*]}" BENCH_ROW="lane=$LANE rep=$1" BENCH=$3 KSFT_SEED=$1 \
		/kvnet/lab "$2" > $LOG 2>&1 < /dev/null
}

# backend_use NAME: for a program that takes no turns
backend_use()
{
	local pinned inline poll rx_usecs parameters

	IFS=: read -r _ KVNET_DEV KVNET_LAYOUT pinned inline poll rx_usecs _ <<< "${TURN[$1]}"
	export KVNET_DEV KVNET_LAYOUT BENCH_PINNED=$pinned
	parameters=/sys/module/${KVNET_DEV#/dev/}/parameters
	[ -n "$pinned" ] || return 0
	echo "$pinned" > "$parameters/pin_rings"
	echo "$inline" > "$parameters/rx_inline"
	echo "$poll" > "$parameters/poll_us"
	echo "$rx_usecs" > "$parameters/rx_usecs"
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
	grep '^@bench' $LOG | tee -a $ROWS
}

# row NUMBER PROGRAM WORDS BACKEND...: of one repetition
row()
{
	local rep=$((($1 - 1) * LIVES + 1)) backend life

	case $2 in
	idle | dpdk)
		for backend in "${@:4}"; do
			sample alone $rep "$2" "$3" "$backend" || return
		done
		;;
	*)
		for ((life = rep; life < rep + LIVES; life++)); do
			sample together $life "${@:2}" || return
		done
		;;
	esac
}

# of those that the plan names, these can be had; and warms up what all use
find_offered()
{
	local name turn

	while IFS='|' read -r _ name turn; do
		TURN[$name]=$turn
		if BENCH_MS=20 together 0 pps "test=pps dir=tx size=64" "$name" && grep -q '^@bench' $LOG; then
			OFFERED="$OFFERED$name "
		elif grep -q SKIP $LOG; then
			echo "@note lane=$LANE text=${name}_is_not_here:_the_device_does_not_offer_it"
		else
			cat $LOG
			fail "no sample through $name"
			return
		fi
	done < <(grep '^backend|' "$PLAN")
}

# still_open NUMBER WORDS: the machine's speed is not always the same, nor are all tests as
# sensitive: some need more repetitions
still_open()
{
	[ "$1" -gt "$REPEAT" ] || return 0
	if [ "$1" != "${ASKED:-}" ]; then
		ASKED=$1
		/usr/bin/python3 -B /kvnet/bench open $ROWS > $OPEN || fail "which rows are open?" || exit
	fi
	grep -qxF "$2" $OPEN
}

rows()
{
	local number step program words names name list

	while IFS='|' read -r number step program words names <&7; do
		still_open "$number" "$words" || continue
		list=()
		for name in $names; do
			[[ $OFFERED != *" $name "* ]] || list+=("$name")
		done
		[ ${#list[@]} -gt 0 ] || continue
		# the host knows the time
		echo "@progress $step: $LANE: ${words//@(test|dir)=/}"
		row "$number" "$program" "$words" "${list[@]}" || return
	done 7< <(grep '^[0-9]' "$PLAN")
}

facts()
{
	local ns

	echo "@fact lane=$LANE key=kernel value=$(uname -r)"
	[[ $LANE != *2 && $LANE != smp ]] || echo "@fact lane=$LANE key=cpus value=$(nproc)"
	[ "$LANE:${VM_ACCEL:-}" != smp:tcg ] ||
		echo "@note lane=$LANE text=Emulated_CPUs,_in_real_time:_what_they_share_and_what_it_costs_to_wake_one_is_not_as_on_hardware"
	# a kernel whose scheduler has no better clock
	read -r ns _ < /proc/self/schedstat
	[ "$LANE" != native ] || [ $((ns % 1000000)) -ne 0 ] ||
		echo "@note lane=$LANE text=The_worker's_time_is_counted_in_ticks_of_10_ms:_no_more_than_a_hint"
}

main()
{
	local name

	shopt -s extglob
	load_kvnet && BACKEND=vhost load_backend || exit
	for name in $MODULES; do
		[ ! -e /kvnet/$name.ko ] || insmod /kvnet/$name.ko || exit
	done
	facts
	: > $ROWS
	find_offered && rows || exit
	for name in kvnet $MODULES; do
		[ ! -d /sys/module/$name ] || rmmod $name || exit
	done
}

main
