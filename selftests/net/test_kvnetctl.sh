#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Description: kvnetctl with the real module and a guest: what it shows agrees with
# the counters in fdinfo and with the guest, what it sets is so, and wrong input gets
# a line. Its JSON is passed on to the log, for test.sh to compare with the schema.
#
# @hosts: 6.12
declare -F run_test > /dev/null || exec bash "${0%/*}/run.sh" "${0##*/}"

CTL=/kvnet/kvnetctl

# json NAME ARGUMENTS...: into the log, and into $JSON
json()
{
	local name=$1

	shift
	JSON=$($CTL "$@" -j) || fail "kvnetctl $*: status $?" || return
	sed "s/^/# json $name /" <<< "$JSON"
}

# field FILTER: of the first device in JSON
field()
{
	jq -r ".[0].$1" <<< "$JSON"
}

# has FILTER: is it so, of JSON?
has()
{
	jq -e "$1" > /dev/null <<< "$JSON" || fail "not so: $1: $JSON"
}

# says STATUS TEXT ARGUMENTS...: this status, and this one line of error
says()
{
	local status=$1 text=$2 said got=0

	shift 2
	said=$($CTL "$@" 2>&1 > /dev/null) || got=$?
	[ $got -eq "$status" ] && [[ $said == *"$text"* ]] && [ "$(wc -l <<< "$said")" -eq 1 ] ||
		fail "kvnetctl $*: status $got, said: $said"
}

# each_says STATUS TEXT: each of these commands
each_says()
{
	local words

	for words in list "show tap0" stats "set tap0 nice 1" monitor "top -b" --prometheus; do
		# shellcheck disable=SC2086 # words
		says "$@" $words || return
	done
}

test_no_module()
{
	guest_stop
	rmmod kvnet 2> /dev/null
	each_says 3 "not loaded" && says 3 "not loaded" show && says 3 "not loaded" features || return
	$CTL doctor | grep -q '^BAD *module .*neither loaded nor installed' || fail "$($CTL doctor)"
}

test_list_show()
{
	guest_need || return
	json list list || return
	has ".[0] | .tap == \"$TAP\" and .pid == $(guest_pid) and .vm == \"guest\" and .rx == \"running\" and .tx == \"running\"" || return
	json show show $TAP || return
	has ".[0] | .owner == \"alive\" and .ifindex == $(cat /sys/class/net/$TAP/ifindex) and all(.queues[]; .backend == \"tap\")" &&
		has 'any(.[0].features[]; . == "VERSION_1")' || return
	$CTL show "pid:$(guest_pid)" > /dev/null && $CTL show vm:guest > /dev/null && $CTL show "$(field id)" | grep -q "^device $(field id): $TAP"
}

# between two looks at fdinfo nothing moves: the same figures
same_counters()
{
	local before want said

	before=$(kvnet_counters)
	json stats stats $TAP || return
	[ "$before" = "$(kvnet_counters)" ] || return
	want=$(awk '$1 ~ /^kvnet\.[rt]x\.(packets|bytes|flushes|drop_tap):$/ { print $1, $2 }' <<< "$before" | sort)
	said=$(jq -r '.[] | .queue as $queue | .counters | {packets, bytes, flushes, drop_tap} | to_entries[] |
		"kvnet.\($queue).\(.key): \(.value)"' <<< "$JSON" | sort)
	[ "$(wc -l <<< "$want")" -eq 8 ] && [ "$said" = "$want" ] || fail "fdinfo: $want; kvnetctl: $said"
}

test_counters()
{
	guest_need && ping_guest 50 || return
	wait_until 10 same_counters || same_counters || return
	json stats stats || return
	$CTL stats $TAP | grep -q '^    packets ' || fail "$($CTL stats $TAP)"
}

# per second, by two looks; the arithmetic: kvnetctl/top_test.c and cli_test.py
test_rates()
{
	local pinger

	guest_need || return
	ping -q -i 0.02 $GUEST_IP > /dev/null &
	pinger=$!
	json rates stats -i 0.5 -n 1 && has 'length == 2 and all(.[]; .pps > 0)' || { kill $pinger; return 1; }
	kill $pinger
	json top top -n 1 -i 0.5 && has '.[0].name == "guest"' || return
	$CTL top -b -n 1 -i 0.2 | grep -q "^ *[0-9]*  $TAP .* running$"
}

# workers_have FILTER: both workers of the guest's device
workers_have()
{
	json show show $TAP > /dev/null && has ".[0].workers | length == 2 and all($1)"
}

# workers_run CPUS NICE CLASS PRIORITY: what /proc says of each of their threads, and kvnetctl
workers_run()
{
	local tid stat

	json show show $TAP > /dev/null || return
	for tid in $(field 'workers[].tid'); do
		grep -q "^Cpus_allowed_list:[[:space:]]*$1\$" "/proc/$tid/status" || fail "worker $tid: $(grep Cpus_ "/proc/$tid/status")" || return
		read -ra stat < <(sed 's/.*) //' "/proc/$tid/stat")
		[ "${stat[16]} ${stat[38]} ${stat[37]}" = "$2 $3 $4" ] || fail "worker $tid: ${stat[*]}" || return
	done
	workers_have ".cpus == \"$1\" and .nice == $2"
}

test_set()
{
	local all

	guest_need && json show show $TAP || return
	all=$(field 'workers[0].cpus')
	$CTL set $TAP cpus 1 nice 3 poll-us 7 && workers_run 1 3 0 0 || return
	has '.[0].policy | .poll_us == 7 and (has("cpus") or has("nice") | not)' || return
	ping_guest 10 || return
	$CTL set $TAP sched fifo rt-priority 7 && workers_run 1 3 1 7 && ping_guest 10 || return
	$CTL set $TAP sched batch && workers_run 1 3 3 0 || return
	$CTL set $TAP sched other cpus 0,4000 && workers_run 0 3 0 0 && ping_guest 10 || return
	# the rings of a guest that runs are pinned
	$CTL set $TAP node auto && workers_run "$(< "/sys/devices/system/node/node$(field memory_node)/cpulist")" 3 0 0 || return
	$CTL set $TAP node none && workers_run "$all" 3 0 0 || return
	says 2 "not a list of CPUs" set $TAP cpus x &&
		says 1 "device $(field id): worker 0 (TID $(field 'workers[0].tid')): sched_setaffinity: Invalid argument" set $TAP cpus 4000 &&
		says 2 "unknown setting" set $TAP colour red &&
		says 4 "no device has a tap 'absent'" set absent nice 1 &&
		says 4 "no device with the id 4000000" show 4000000 &&
		says 4 "process 1 has no device" show pid:1 || return
	# workers that cannot be there are as they were
	says 1 ": " set $TAP nice 5 cpus 4000 && workers_have '.nice == 3' || fail "half applied" || return
	$CTL set $TAP cpus all nice 0 poll-us 50 && workers_run "$all" 0 0 0
}

test_features()
{
	json features features && has 'any(.[]; .feature == "RING_PACKED" and .bit == 34 and .kvnet)' &&
		has 'any(.[]; .feature == "VERSION_1" and .bit == 32 and .kvnet and .acked_by != [])'
}

test_doctor()
{
	json doctor doctor && has 'any(.[]; .grade == "ok" and .check == "module") and any(.[]; .check == "device")' || return
	# this guest's descriptor is kvnet's
	has "any(.[]; .what | contains(\"process $(guest_pid) guest, netdev net0: served by kvnet\"))" || return
	$CTL doctor | tail -n 1 | grep -q ', 0 bad$' || return
	# what /sys shows is not always what is there
	JSON=$(busybox unshare -n "$CTL" doctor)
	[[ $JSON == *"interfaces of another network namespace"* && $JSON != *" $TAP "* ]] || fail "$JSON"
}

# the format that node_exporter reads: comments, and a figure behind each name
test_prometheus()
{
	$CTL stats --prometheus > /tmp/kvnet.prom || return
	grep -qE "^kvnet_queue_packets_total\{device=\"[0-9]+\",tap=\"$TAP\",queue=\"tx\"\} [1-9]" /tmp/kvnet.prom &&
		grep -q '^kvnet_worker_run_seconds_total{.*} [0-9.]*$' /tmp/kvnet.prom &&
		grep -q "^kvnet_queue_poll_packets_bucket{.*tap=\"$TAP\",queue=\"tx\",le=\"+Inf\"} [1-9]" /tmp/kvnet.prom &&
		grep -q '^kvnet_queue_wake_latency_seconds_sum{.*} [0-9.]*$' /tmp/kvnet.prom || fail "$(cat /tmp/kvnet.prom)" || return
	! grep -vE '^(# (HELP|TYPE) kvnet_|kvnet_[a-z0-9_]+(\{.*\})? [0-9.]+$)' /tmp/kvnet.prom
}

# would_set MATCH...: does a rule that matches so fit the guest's device?
would_set()
{
	echo "$* set poll-us 12" > /tmp/rules.conf
	$CTL rules apply /tmp/rules.conf --dry-run | grep -q ' result would-set policy poll-us 12$'
}

# by each word there is, and by all of them; and what is wrong applies nothing
test_rules_match()
{
	local words=() word other file=/tmp/rules.conf

	guest_need && json show show $TAP || return
	for word in command cgroup tap vm; do
		would_set $word "\"$(field $word)\"" || fail "$word $(field $word) does not fit" || return
		words+=("$word" "\"$(field $word)\"")
		other=$(field $word)
		! would_set $word "\"${other}x\"" || fail "$word ${other}x fits" || return
	done
	would_set "${words[@]}" && would_set any || fail "all of them: ${words[*]}" || return
	! would_set "${words[@]:0:6}" vm other || fail "one that does not fit is enough" || return
	printf '%s\n' "tap $TAP set nice 6" "tap $TAP set nice 7" > $file
	! $CTL rules apply $file 2> /tmp/rules.err || fail "rules that contradict each other are applied" || return
	[ "$(cat /tmp/rules.err)" = "$file:2: matches the same devices as line 1, and sets other values
kvnetctl: rules: 1 line of $file wrong; nothing is applied" ] || fail "$(cat /tmp/rules.err)" || return
	workers_have '.nice == 0' || fail "half applied"
}

# heard FILTER: of how often each event has come
heard()
{
	jq -es "map(.event) | group_by(.) | map({(.[0]): length}) | add | $1" /tmp/events
}

listening()
{
	[ -e "/proc/$1" ] && grep -q -w 16 /proc/net/netlink
}

# a guest goes and another comes; the monitor tells all of it, rules set its workers
test_monitor_and_rules()
{
	local monitor rules file=/tmp/rules.conf

	guest_need || return
	printf '%s\n' "vm guest tap $TAP set nice 4 cpus 0" "any set poll-us 11 nice 9" > $file
	$CTL rules check $file && says 2 "rules: /absent: No such file" rules check /absent || return
	$CTL rules apply $file --dry-run -j > /tmp/rules.out && sed 's/^/# json rules /' /tmp/rules.out
	workers_have '.nice == 0' || fail "a dry run has set something" || return
	$CTL monitor -j > /tmp/events &
	monitor=$!
	$CTL rules run $file > /tmp/rules.log 2>&1 &
	rules=$!
	wait_until 10 workers_have '.nice == 4' || fail "$(cat /tmp/rules.log)" || return
	guest_stop
	guest_need || return
	wait_until 20 workers_have '.nice == 4' && workers_have '.cpus == "0"' || fail "$JSON; $(cat /tmp/rules.log)" || return
	has '.[0].policy.poll_us == 11' || return
	wait_until 10 heard '.["device-removed"] >= 1 and .["device-added"] >= 1 and .["workers-started"] >= 1 and
		.["queue-started"] >= 2 and .["queue-stopped"] >= 2' ||
		fail "$(cat /tmp/events)" || return
	# a device that has come is seen to when its workers have begun, not before
	! grep -q failed /tmp/rules.log || fail "$(cat /tmp/rules.log)" || return
	sed 's/^/# json monitor /' /tmp/events
	kill $monitor $rules
	wait $monitor && wait $rules
}

test_module_removed()
{
	local monitor

	guest_stop
	wait_until 5 kvnet_unused || return
	$CTL monitor 2> /tmp/monitor.err &
	monitor=$!
	wait_until 10 listening $monitor || return
	rmmod kvnet || return
	wait $monitor
	[ $? -eq 3 ] && grep -q "has been removed" /tmp/monitor.err || fail "$(cat /tmp/monitor.err)" || return
	load_kvnet
}

# another network namespace shows no device, and an unprivileged user is refused
test_unprivileged()
{
	guest_need || return
	ip netns add other 2> /dev/null
	[ "$(ip netns exec other $CTL list -j)" = "[]" ] || fail "seen from another namespace" || return
	ip netns del other
	refused_unprivileged list && refused_unprivileged stats && refused_unprivileged set $TAP nice 1
}

refused_unprivileged()
{
	local said status=0

	said=$(setpriv --reuid=65534 --regid=65534 --clear-groups $CTL "$@" 2>&1) || status=$?
	[ $status -eq 5 ] && [[ $said == *"not permitted"* ]] || fail "kvnetctl $* without privileges: status $status: $said"
}

if [ "$BACKEND" = kvnet ]; then
	run_test "kvnetctl: each_command_without_module_prints_one_line" test_no_module
	load_kvnet
	run_test "kvnetctl: list_and_show_of_a_guest_agree_with_it" test_list_show
	run_test "kvnetctl: stats_counters_equal_fdinfo" test_counters
	run_test "kvnetctl: stats_rates_and_top_show_the_guest" test_rates
	run_test "kvnetctl: set_applies_all_or_refuses_with_one_line" test_set
	run_test "kvnetctl: features_offered_and_acked_are_listed" test_features
	run_test "kvnetctl: doctor_of_a_good_host_finds_nothing_bad" test_doctor
	run_test "kvnetctl: prometheus_output_has_its_format" test_prometheus
	run_test "kvnetctl: rules_match_by_each_word_and_wrong_rules_apply_nothing" test_rules_match
	run_test "kvnetctl: monitor_and_rules_follow_a_new_guest" test_monitor_and_rules
	run_test "kvnetctl: other_namespace_sees_nothing_and_other_user_is_refused" test_unprivileged
	run_test "kvnetctl: monitor_ends_when_the_module_is_removed" test_module_removed
fi
