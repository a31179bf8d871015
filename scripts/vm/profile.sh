#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Inside User-Mode Linux: the same work for each of BACKENDS, for scripts/profile.sh
# to look at from outside. With LANE=icount inside a test host that counts instructions:
# its emulator is told which are those of whom.
# shellcheck source=selftests/net/lib.sh
. /kvnet/selftests/net/lib.sh
# shellcheck source=scripts/vm/native-backends.sh
. /kvnet/scripts/vm/native-backends.sh

LOG=/tmp/profile.out

program()
{
	case $WORK in
	*test=rr*) echo rr ;;
	*test=sender*) echo sender ;;
	*) echo pps ;;
	esac
}

work()
{
	backend_use "$1"
	BENCH_ROW="lane=native rep=1 backend=$1" BENCH=$WORK BENCH_MS=$2 /kvnet/lab "$(program)" > $LOG 2>&1 && grep -q '^@bench' $LOG ||
		{ cat $LOG; return 1; }
}

# all in turn, as in the lane of that name
count()
{
	local backend turns=()

	for backend in $BACKENDS; do
		turns+=("$(turn_of "$backend")")
	done
	awk '$2 ~ /[tT]/ { print $1, $3, $4 ? $4 : "kernel" }' /proc/kallsyms | gzip | base64 -w 1000 | sed 's/^/@symbols /'
	BENCH_COUNT=1 BENCH_TURNS="${turns[*]}" BENCH_ROW="lane=icount rep=1" BENCH=$WORK KSFT_SEED=1 /kvnet/lab "$(program)"
}

main()
{
	local backend

	load_kvnet && BACKEND=vhost load_backend || exit
	[ "${LANE:-}" != icount ] || { count; exit; }
	# address, name and module of each function of a module
	awk '$2 ~ /[tT]/ && $4 { print "@symbol", $1, $3, $4 }' /proc/kallsyms
	for backend in $BACKENDS; do
		work $backend 300 || exit
		echo "@begin $backend"
		work $backend "$PROFILE_MS" || exit
		echo "@end $backend"
		grep '^@bench' $LOG
	done
	rmmod kvnet
}

main
