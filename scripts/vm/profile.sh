#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Inside User-Mode Linux: the same work for each of BACKENDS, for scripts/profile.sh
# to look at from outside.
# shellcheck source=selftests/net/lib.sh
. /kvnet/selftests/net/lib.sh
# shellcheck source=scripts/vm/native-backends.sh
. /kvnet/scripts/vm/native-backends.sh

LOG=/tmp/profile.out

work()
{
	backend_use "$1"
	BENCH_ROW="lane=native rep=1 backend=$1" BENCH=$WORK BENCH_MS=$2 /kvnet/lab pps > $LOG 2>&1 && grep -q '^@bench' $LOG ||
		{ cat $LOG; return 1; }
}

main()
{
	local backend

	load_kvnet && BACKEND=vhost load_backend || exit
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
