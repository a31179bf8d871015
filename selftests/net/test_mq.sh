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

# flows_start BYTES: of each flow; FLOW_PIDS are the test host's ends
flows_start()
{
	local i to_guest="\$(seq $MQ_PORT $((MQ_PORT + MQ_FLOWS - 1)))"
	local to_host="\$(seq $((MQ_PORT + 100)) $((MQ_PORT + 99 + MQ_FLOWS)))"

	FLOW_PIDS=()
	rm -rf $MQ_OUT
	mkdir $MQ_OUT
	for ((i = 0; i < MQ_FLOWS; i++)); do
		timeout 120 stream recv $((MQ_PORT + 100 + i)) $i > $MQ_OUT/recv.$i 2>&1 &
		FLOW_PIDS+=($!)
		wait_until 10 listens host $((MQ_PORT + 100 + i)) tcp || return
	done
	guest "rm -rf $MQ_OUT; mkdir $MQ_OUT; cd $MQ_OUT;
		for port in $to_guest; do timeout 120 stream recv \$port \$port > recv.\$port 2>&1 & done;
		for port in $to_guest; do
			until grep -q \"\$(printf ':%04X 00000000:0000' \$port)\" /proc/net/tcp; do usleep 10000; done;
		done;
		i=0; for port in $to_host; do
			stream send $HOST_IP \$port \$i $1 > sent.\$i 2>&1 & i=\$((i + 1));
		done" || return
	for ((i = MQ_PORT; i < MQ_PORT + MQ_FLOWS; i++)); do
		timeout 120 stream send $GUEST_IP $i $i "$1" > $MQ_OUT/sent.$i 2>&1 &
		FLOW_PIDS+=($!)
	done
}

flows_ended_in_guest()
{
	guest "[ \$(cat $MQ_OUT/* | wc -l) -ge $((2 * MQ_FLOWS)) ]"
}

# every flow, in the order of their numbers: the same length and hash at both ends
flows_end()
{
	wait "${FLOW_PIDS[@]}"
	wait_until 20 flows_ended_in_guest
	guest "cat $MQ_OUT/recv.*" > $MQ_OUT/guest-received
	guest "cat $MQ_OUT/sent.*" > $MQ_OUT/guest-sent
	cat $MQ_OUT/recv.* > $MQ_OUT/received
	cat $MQ_OUT/sent.* > $MQ_OUT/sent
	same_flows "$1" $MQ_OUT/sent $MQ_OUT/guest-received && same_flows "$1" $MQ_OUT/guest-sent $MQ_OUT/received
}

same_flows()
{
	[ "$(grep -c "^sent $1 bytes" "$2")" -eq $MQ_FLOWS ] &&
		[ "$(sed -n 's/^sent //p' "$2")" = "$(sed -n 's/^received //p' "$3")" ] ||
		fail "sent: $(cat "$2") received: $(cat "$3")"
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

flows_run()
{
	kill -0 "${FLOW_PIDS[@]}" 2> /dev/null
}

# the number of pairs goes up and down as long as there are flows
resized()
{
	local pairs changes=0

	flows_start "$1" || return
	while flows_run; do
		for pairs in 1 8 3; do
			guest "ethtool -L eth0 combined $pairs" || return
			changes=$((changes + 1))
		done
	done
	echo "# $changes changes under load"
	flows_end "$1" && [ $changes -ge 3 ] || return
	guest 'ethtool -L eth0 combined 8' && ping_guest 20 && every_pair_carries 8 && nothing_dropped
}

# only the pair in use may do anything: neither a turn of its workers nor a packet
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
