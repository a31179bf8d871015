#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Inside User-Mode Linux: the same WORK by PROGRAM for each of TURNS (selftests/perf/turns.h),
# for tools/bench/profiling.py to look at from outside. With LANE=icount inside a test host
# that counts instructions: its emulator is told which are those of which backend.
# shellcheck source=selftests/net/lib.sh
. /kvnet/selftests/net/lib.sh

LOG=/tmp/profile.out

# address, name and module of each function
symbols()
{
	awk '$2 ~ /[tT]/ { print $1, $3, $4 ? $4 : "kernel" }' /proc/kallsyms | gzip | base64 -w 1000 | sed 's/^/@symbols /'
}

# work TURN MILLISECONDS
work()
{
	BENCH_TURNS=$1 BENCH_ROW="lane=$LANE rep=1" BENCH=$WORK BENCH_MS=$2 /kvnet/lab "$PROGRAM" > $LOG 2>&1 && grep -q '^@bench' $LOG ||
		{ cat $LOG; return 1; }
}

main()
{
	local turn

	load_kvnet && BACKEND=vhost load_backend || exit
	symbols
	if [ "$LANE" = icount ]; then
		BENCH_COUNT=1 BENCH_TURNS=$TURNS BENCH_ROW="lane=icount rep=1" BENCH=$WORK KSFT_SEED=1 /kvnet/lab "$PROGRAM"
		exit
	fi
	for turn in $TURNS; do
		work "$turn" 300 || exit
		echo "@begin ${turn%%:*}"
		work "$turn" "$PROFILE_MS" || exit
		echo "@end ${turn%%:*}"
		grep '^@bench' $LOG
	done
	rmmod kvnet
}

main
