#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Description: the recipes of Documentation/debugging.rst, as they stand there, under
# traffic: perf, trace-cmd and bpftrace, and the scripts of tools/trace. Only when named,
# since those programs are large (scripts/mkvmm.sh tracers).
#
# @tier: named
# @skip: net-.* | perf, trace-cmd and bpftrace .* | make net TESTS=trace has them
declare -F run_test > /dev/null || exec bash "${0%/*}/run.sh" "${0##*/}"

RECIPES=/kvnet/debugging.rst

# What each prints; PID is the VMM. Nothing is dropped here, and no poll spins for long.
declare -A RECIPE_SAYS=(
	[perf-trace]='kvnet:kvnet_(work_event|poll|flush)\(owner: PID'
	[perf-stat]='^ +[1-9][0-9,]* +kvnet:kvnet_pop'
	[trace-cmd]='kvnet_poll: +owner=PID vq=[01] result=(idle|repoll|complete)$'
	[trace-cmd-filter]='kvnet_flush: +owner=PID vq=[01] n=[0-9]+ call=1$'
	[bpftrace-lengths]='^@bytes\[PID, [01]\]:'
	[bpftrace-drops]='^Attaching 2 probes'
	[bpftrace-spins]='^Attaching 2 probes'
	[latency]='^@fetched_to_used\[PID, 1\]:'
	[wakers]='^@events\[PID, [01], [124], .*\]: [1-9]'
)

# the names of all recipes
recipes()
{
	sed -n 's/^\.\. recipe //p' $RECIPES
}

# recipe NAME: the lines of the block that follows its name
recipe()
{
	awk -v name="$1" '
		/^\.\. recipe / { mine = $3 == name; next }
		mine && /^    / { print substr($0, 5); seen = 1; next }
		mine && seen && NF { exit }' $RECIPES
}

# nothing is in one place only
test_each_recipe_is_known()
{
	local name

	for name in $(recipes); do
		[ -n "${RECIPE_SAYS[$name]:-}" ] || fail "$name: RECIPE_SAYS has no such recipe" || return
	done
	for name in "${!RECIPE_SAYS[@]}"; do
		[ -n "$(recipe "$name")" ] || fail "$name is no recipe of debugging.rst" || return
	done
}

run_recipe()
{
	local name=$1 status=0 says=${RECIPE_SAYS[$1]//PID/$(guest_pid)}

	(cd /kvnet && timeout 120 bash -c "$(recipe "$name")") > /tmp/recipe.out 2>&1 < /dev/null || status=$?
	[ $status -eq 0 ] && grep -qE "$says" /tmp/recipe.out || { fail "status $status, it says:"; head -c 3000 /tmp/recipe.out; return 1; }
	# what is there to see, in the log
	grep -v '^$' /tmp/recipe.out | head -n "${2:-6}" | sed 's/^/# | /'
}

# both stages and both directions: not only that it says something
test_latency_has_all_stages()
{
	local stage

	run_recipe latency 60 || return
	for stage in woken_to_fetched fetched_to_host fetched_to_used; do
		grep -qE "^@$stage\[$(guest_pid), 1\]:" /tmp/recipe.out || fail "no $stage: $(grep '^@' /tmp/recipe.out)" || return
	done
	grep -qE "^@woken_to_fetched\[$(guest_pid), 0\]:" /tmp/recipe.out || fail "nothing to the guest: $(grep '^@' /tmp/recipe.out)" || return
	# what is for the script alone is not shown
	! grep -E '^@(woken|fetched|sends|of|used)\[' /tmp/recipe.out
}

trace_begin()
{
	guest_need || return
	load_start
}

if [ "$BACKEND" = kvnet ] && type -P bpftrace perf trace-cmd > /dev/null; then
	run_test "trace: each_recipe_is_known" test_each_recipe_is_known
	run_test "trace: guest_boots" trace_begin
	for TRACE_RECIPE in perf-trace perf-stat trace-cmd trace-cmd-filter bpftrace-lengths bpftrace-drops bpftrace-spins; do
		run_test "trace: $TRACE_RECIPE" run_recipe $TRACE_RECIPE
	done
	run_test "trace: latency_has_all_stages" test_latency_has_all_stages
	run_test "trace: wakers" run_recipe wakers 40
	load_stop
else
	skip trace "perf, trace-cmd and bpftrace are not there, or the backend is not kvnet: make net TESTS=trace"
fi
