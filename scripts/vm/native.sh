#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs inside User-Mode Linux: samples of packets per second, of kvnet and
# vhost_net in turn. Round 0 warms up. Prints "@pps <round> <backend> ..." lines;
# fails if a sample could not be taken, whatever the figures are.
# shellcheck source=selftests/net/lib.sh
. /kvnet/selftests/net/lib.sh

ROUNDS=${ROUNDS:-7}
CASES=${CASES:-tx60 tx1400 rx60 rx1400}
declare -A NODE=([kvnet]=/dev/kvnet [vhost]=/dev/vhost-net)
LOG=/tmp/pps.log

# sample ROUND CASE BACKEND
sample()
{
	if ! KVNET_DEV=${NODE[$3]} /kvnet/pps "$2" > $LOG 2>&1 || ! grep -q '^@pps' $LOG; then
		cat $LOG
		fail "no sample of $2 through ${NODE[$3]}"
		return
	fi
	sed -n "s/^@pps /@pps $1 $3 /p" $LOG
	[ "$1" -ne 1 ] || grep '^@counter' $LOG
	return 0
}

main()
{
	local round name

	load_kvnet && BACKEND=vhost load_backend || exit
	for ((round = 0; round <= ROUNDS; round++)); do
		for name in $CASES; do
			sample "$round" "$name" kvnet && sample "$round" "$name" vhost || exit
		done
	done
	rmmod kvnet
}

main
