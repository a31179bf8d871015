#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Description: kvnet's counters, the tap's and the guest's own add up, for traffic of all
# kinds: packets, bytes and drops, until nothing is unexplained (Documentation/debugging.rst,
# "What adds up"). Drops of each kind by themselves: uapi/abi/counters_test.c.
#
# @hosts: 6.12
declare -F run_test > /dev/null || exec bash "${0%/*}/run.sh" "${0##*/}"

# "name value" of each counter: at the beginning, and now
SUMS_BEFORE=/tmp/sums.before
SUMS_NOW=/tmp/sums.now

sums_read()
{
	local statistics='for f in [rt]x_packets [rt]x_bytes [rt]x_dropped; do echo $f $(cat $f); done'

	kvnet_counters | sed -n 's/^kvnet\.\(.*\):[[:space:]]*\([0-9]*\)$/\1 \2/p'
	on host "cd /sys/class/net/$TAP/statistics && $statistics" | sed 's/^/tap./'
	on guest "cd /sys/class/net/eth0/statistics && $statistics" | sed 's/^/guest./'
}

# grown REGEX: by how much the sum of these counters has grown since the beginning
grown()
{
	awk -v name="^($1)$" '$1 ~ name { sum += FNR == NR ? -$2 : $2 } END { printf "%.0f", sum }' $SUMS_BEFORE $SUMS_NOW
}

# sums_same REGEX REGEX
sums_same()
{
	[ "$(grown "$1")" -eq "$(grown "$2")" ] || SUMS_WRONG="$SUMS_WRONG $1=$(grown "$1") but $2=$(grown "$2");"
}

sums_part_of()
{
	[ "$(grown "$1")" -le "$(grown "$2")" ] || SUMS_WRONG="$SUMS_WRONG $1 is more than all;"
}

# What each side has counted since the beginning; what it says differs only by a name.
sums_compare()
{
	SUMS_WRONG=''
	sums_read > $SUMS_NOW
	sums_same 'tx[.]packets' 'tap[.]rx_packets'
	sums_same 'tx[.]bytes' 'tap[.]rx_bytes'
	sums_same 'guest[.]tx_packets' 'tx[.](packets|drop_.*)'
	# only the guest knows the bytes of what was dropped
	[ "$(grown 'tx[.]drop_.*')" -ne 0 ] || sums_same 'guest[.]tx_bytes' 'tx[.]bytes'
	sums_same 'rx[.]packets' 'tap[.]tx_packets'
	sums_same 'rx[.]bytes' 'tap[.]tx_bytes'
	sums_same 'guest[.]rx_(packets|dropped)' 'rx[.]packets'
	[ "$(grown 'guest[.]rx_dropped')" -ne 0 ] || sums_same 'guest[.]rx_bytes' 'rx[.]bytes'
	# how the packets went
	sums_part_of 'tx[.]packets_direct' 'tx[.]packets'
	sums_part_of 'tx[.]packets_(gro|shortcut)' 'tx[.]packets_direct'
	sums_part_of 'tx[.]packets_inline' 'tx[.]packets'
	sums_part_of 'rx[.]packets_inline' 'rx[.]packets'
	[ -z "$SUMS_WRONG" ]
}

# No packet moves, and no thread is between two counters.
sums_begin()
{
	for _ in {1..20}; do
		sums_read > $SUMS_BEFORE
		sums_compare && [ "$(grown 'tap[.][rt]x_packets')" -eq 0 ] && return
	done
	fail "the counters do not rest: $SUMS_WRONG"
}

# The guest counts what it has sent when it gets the buffers back.
sums_end()
{
	wait_until 10 sums_compare ||
		fail "unexplained:$SUMS_WRONG of all: $(diff $SUMS_BEFORE $SUMS_NOW | grep '^[<>]')" || return
	echo "# to the guest $(grown 'rx[.]packets') packets, $(grown 'rx[.]bytes') bytes, $(grown 'rx[.]drop_.*') drops, $(grown 'tap[.]tx_dropped') by the tap;" \
		"from it $(grown 'tx[.]packets'), $(grown 'tx[.]bytes'), $(grown 'tx[.]drop_.*'): all explained"
}

sums_traffic()
{
	ping_guest 20 && ping -q -c 5 -i 0.05 -s 20000 -W 2 $GUEST_IP && udp_to guest 1000 && udp_to host 1000 || return
	tcp_to_guest 20 && tcp_to_host 20 || return
}

test_traffic_adds_up()
{
	sums_begin && sums_traffic && sums_end || return
	# GSO frames are one packet: fewer than the bytes would need
	[ "$(($(grown 'rx[.]bytes') / $(grown 'rx[.]packets')))" -gt 1600 ] || [ "$(($(grown 'tx[.]bytes') / $(grown 'tx[.]packets')))" -gt 1600 ] ||
		fail "no long frames"
}

if [ "$BACKEND" = kvnet ]; then
	run_test "sums: guest_boots" guest_need
	run_test "sums: traffic_of_all_kinds_adds_up" test_traffic_adds_up
fi
