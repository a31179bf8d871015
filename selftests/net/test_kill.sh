#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Description: QEMU dies by kill -9 under load, again and again; nothing is left.
#
# @hosts: newest
# @first-host: 6.12
declare -F run_test > /dev/null || exec bash "${0%/*}/run.sh" "${0##*/}"

users_gone()
{
	[ "$BACKEND" != kvnet ] || kvnet_unused
}

# Threads of QEMU, or kernel threads. What it returns is no answer: another process may
# go while it looks.
workers()
{
	grep -lsE '^(kvnet|vhost)-[0-9]' /proc/[0-9]*/task/[0-9]*/comm
}

workers_gone()
{
	[ -z "$(workers)" ]
}

kill_under_load()
{
	guest_need || return
	load_start
	wait_until 20 tap_moves || fail "no load" || return
	[ "$BACKEND" = off ] || [ -n "$(workers)" ] || fail "a worker has another name" || return
	guest_signal KILL || fail "QEMU survives kill -9" || return
	rm -f $GUEST/pid
	load_stop 2>/dev/null
	wait_until 10 users_gone || fail "the device is still held" || return
	wait_until 10 workers_gone || fail "a worker is left:" "$(workers)"
}

usable_again()
{
	guest_need && ping_guest 20 && tcp_both_ways 20
}

run_test "kill: qemu_killed_under_load_leaves_nothing" kill_under_load
run_test "kill: next_guest_works" usable_again
[ -n "${SHORT:-}" ] || run_test "kill: qemu_killed_again_leaves_nothing" kill_under_load
