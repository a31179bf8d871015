#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Description: the module's own life: refused while in use, removed when idle,
# loaded again; a guest that has used its device leaves nothing.
#
# @hosts: newest
# @first-host: 6.12
declare -F run_test > /dev/null || exec bash "${0%/*}/run.sh" "${0##*/}"

test_rmmod_refused()
{
	guest_need || return
	! rmmod kvnet || fail "rmmod succeeded under a running guest" || return
	[ "$(kvnet_users)" -gt 0 ] && ping_guest 5
}

test_rmmod_idle()
{
	guest_stop
	for _ in 1 2 3 4 5; do
		rmmod kvnet || return
		[ ! -e $DEVICE ] || fail "$DEVICE is still there" || return
		load_kvnet || return
	done
}

test_reload_works()
{
	guest_need && ping_guest 10
}

# what there is of the module's, but for the memory that kmemleak looks for (User-Mode Linux)
kvnet_leaves()
{
	local threads

	threads=$(cat /proc/[0-9]*/task/[0-9]*/comm 2> /dev/null | grep -c '^kvnet-')
	echo "$(kvnet_users) users, $threads threads, $(grep -c '\[kvnet\]' /proc/vmallocinfo) mappings"
}

# nothing_left BEFORE
nothing_left()
{
	[ "$(kvnet_leaves)" = "$1" ]
}

# over a whole life of a device: a guest is started and stopped
test_guests_leave_nothing()
{
	local before

	guest_stop
	wait_until 5 kvnet_unused || fail "the device is still held" || return
	before=$(kvnet_leaves)
	test_reload_works || return
	[ "$(kvnet_leaves)" != "$before" ] || fail "a guest runs: $before" || return
	guest_stop
	wait_until 5 nothing_left "$before" || fail "before: $before; after: $(kvnet_leaves)"
}

if [ "$BACKEND" = kvnet ]; then
	run_test "module: rmmod_refused_while_a_guest_runs" test_rmmod_refused
	run_test "module: rmmod_when_idle_and_insmod_five_times" test_rmmod_idle
	[ -n "${SHORT:-}" ] || run_test "module: guest_started_and_stopped_leaves_nothing" test_guests_leave_nothing
fi
