#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Description: 2 to 8 queue pairs, each with a /dev/kvnet and a tap queue of its
# own: all of them carry traffic, their number changes under load, and pairs that
# the guest does not use cost nothing.
#
# @hosts: 6.1
declare -F run_test > /dev/null || exec bash "${0%/*}/run.sh" "${0##*/}"

MQ_PORT=5200
MQ_OUT=/tmp/mq
# bytes of each of 16 flows, for some changes of the number of pairs; and for none
MQ_LOAD=$((128 << 20))
MQ_BYTES=$((2 << 20))
[ "${VM_ACCEL:-}" = kvm ] || MQ_LOAD=$((1 << 20)) MQ_BYTES=$((1 << 19))

mq_tap()
{
	guest_stop
	tap_delete $TAP
	tap_create $TAP "$@"
}

# mq_boot PAIRS: the guest uses them all, which it does not by itself when it has
# fewer processors
mq_boot()
{
	local multi=multi_queue nic=''

	[ "$1" -gt 1 ] || multi=''
	[ "${LAYOUT:-}" != packed ] || nic=,packed=on
	# shellcheck disable=SC2086 # a word or none
	load_backend && mq_tap $multi && guest_boot wrapped_launch "$1" "$nic" && guest_reachable 30 && guest_has_layout || return
	[ "$1" -eq 1 ] || guest "ethtool -L eth0 combined $1" || fail "the guest does not take $1 pairs"
}

### compared streams, many at once and both ways

# ports_to host|guest: of the flows to that end, each of them a seed, too
ports_to()
{
	local first=$MQ_PORT

	[ "$1" = guest ] || first=$((MQ_PORT + 100))
	seq -s ' ' $first $((first + MQ_FLOWS - 1))
}

all_listen()
{
	on "$1" "for port in $(ports_to "$1"); do grep -q \":\$(printf '%04X' \$port) 00000000:0000\" /proc/net/tcp || exit 1; done"
}

# flows_start BYTES: of each flow
flows_start()
{
	local end

	for end in guest host; do
		on $end "rm -rf $MQ_OUT; mkdir $MQ_OUT; cd $MQ_OUT;
			for port in $(ports_to $end); do timeout 120 stream recv \$port \$port > received.\$port 2>&1 & done"
		wait_until 10 all_listen $end || return
	done
	for end in guest host; do
		on "$(other_end $end)" "cd $MQ_OUT; for port in $(ports_to $end); do
			timeout 120 stream send $(address_of $end) \$port \$port $1 > sent.\$port 2>&1 & done" || return
	done
}

# flows_ended_at END...
flows_ended_at()
{
	local end

	for end; do
		on "$end" "[ \$(cat $MQ_OUT/* | wc -l) -ge $((2 * MQ_FLOWS)) ]" || return
	done
}

# every flow, in the order of their ports: the same length and hash at both ends
flows_end()
{
	local end sent received

	wait_until 40 flows_ended_at host guest
	for end in guest host; do
		sent=$(on "$(other_end $end)" "cat $MQ_OUT/sent.*")
		received=$(on $end "cat $MQ_OUT/received.*")
		[ "$(grep -c "^sent $1 bytes" <<< "$sent")" -eq "$MQ_FLOWS" ] && [ "${sent//sent /}" = "${received//received /}" ] ||
			fail "sent: $sent received: $received" || return
	done
}

flows_both_ways()
{
	flows_start "$1" && flows_end "$1"
}

### what the pairs did

# pair_counters REGEX: one line for each pair, the first pair first
pair_counters()
{
	local fds

	fds=$(backend_fd | sort -n) || return
	# shellcheck disable=SC2086 # numbers
	(cd "/proc/$(guest_pid)/fdinfo" && awk -v name="^kvnet\\.($1):$" '
		FNR == 1 && NR > 1 { print sum + 0; sum = 0 }
		$1 ~ name { sum += $2; n++ }
		END { print sum + 0; exit !n }' $fds)
}

# moved BEFORE AFTER: how many lines of two lists of figures grew
moved()
{
	paste <(echo "$1") <(echo "$2") | awk '$2 > $1 { n++ } END { print n + 0 }'
}

# short flows until all pairs had some: a refused connection is one packet each
# way, and tap and guest choose the queue of each flow by its hash
every_pair_carries()
{
	local rx tx round port

	[ "$BACKEND" = kvnet ] || return 0
	rx=$(pair_counters rx.packets) && tx=$(pair_counters tx.packets) || return
	for round in $(seq 40); do
		for ((port = 0; port < 16; port++)); do
			{ :; } 2> /dev/null > "/dev/tcp/$GUEST_IP/$((7000 + 16 * round + port))"
		done
		[ "$(moved "$rx" "$(pair_counters rx.packets)")" -lt "$1" ] ||
			[ "$(moved "$tx" "$(pair_counters tx.packets)")" -lt "$1" ] || return 0
	done
	fail "pairs without packets: $(pair_counters '[rt]x.packets' | tr '\n' ' ')"
}

### tests

mq_pairs()
{
	mq_boot "$1" && ping_guest 20 && every_pair_carries "$1" &&
		flows_both_ways "$2" && nothing_dropped
}

# the number of pairs goes up and down as long as there are flows
resized()
{
	local pairs changes=0

	flows_start "$1" || return
	until flows_ended_at host; do
		for pairs in 1 8 3; do
			guest "ethtool -L eth0 combined $pairs" || return
			changes=$((changes + 1))
		done
	done
	echo "# $changes changes under load"
	flows_end "$1" && [ $changes -ge 3 ] || return
	guest 'ethtool -L eth0 combined 8' && ping_guest 20 && every_pair_carries 8 && nothing_dropped
}

# only the pair in use may poll or pass a packet
unused_pairs_idle()
{
	local before after flows=$MQ_FLOWS

	[ "$BACKEND" = kvnet ] || return 0
	guest 'ethtool -L eth0 combined 1' || return
	ping_guest 20 || return
	before=$(pair_counters '[rt]x[.].*') || return
	MQ_FLOWS=2
	flows_both_ways $((1 << 20))
	after=$(pair_counters '[rt]x[.].*')
	MQ_FLOWS=$flows
	echo "# sum of all counters of each pair: ${before//$'\n'/ }; after: ${after//$'\n'/ }"
	[ "$(moved "$before" "$after")" -eq 1 ] && [ "$(head -n 1 <<< "$after")" -gt "$(head -n 1 <<< "$before")" ] ||
		fail "an unused pair did something"
}

mq_all()
{
	local pairs some="2 4" LAYOUT=${LAYOUT:-}

	MQ_FLOWS=4
	# one pair, started in just this way, is what test_wrapper.sh begins with; with
	# two each, test_libvirt.sh and test_dpdk.sh
	[ -z "${SHORT:-}" ] || some=''
	for pairs in $some; do
		run_test "mq: $pairs queue pairs" mq_pairs $pairs $((1 << 18))
	done
	MQ_FLOWS=8
	# vhost_net has no packed rings
	[ "$BACKEND" != kvnet ] || LAYOUT=${LAYOUT:-packed}
	run_test "mq: 8 queue pairs${LAYOUT:+, $LAYOUT rings}" mq_pairs 8 $MQ_BYTES
	run_test "mq: number_of_pairs_changed_under_load_streams_unchanged" resized "$MQ_LOAD"
	run_test "mq: unused_pairs_do_nothing" unused_pairs_idle
	mq_tap
}

if [ "$BACKEND" = off ]; then
	skip mq "queues of QEMU's own device are not what is tested"
else
	mq_all
fi
