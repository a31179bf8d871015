#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs inside the test host (scripts/runner/long_runs.py): GUESTS guests, each with a network
# namespace, processes and /tmp of its own (soak-guest.sh), for SOAK_MINUTES minutes.
# Ends in "N passed, N failed, N skipped".
# shellcheck source=selftests/net/lib.sh
. /kvnet/selftests/net/lib.sh

export SHARED=/run/soak
# KiB that memory of the kernel's may grow by from the first quarter of the time to the last
MOST_KB=4096
# seconds without the end of a round, after which it is told what all are doing
STANDSTILL=180
# guests that boot at the same time
AT_ONCE=2

start_guest()
{
	busybox unshare -m -n -p -f bash -c 'mount -t proc proc /proc && mount -t sysfs sysfs /sys && mount -t tmpfs tmpfs /tmp &&
		exec bash /kvnet/scripts/vm/soak-guest.sh "$0"' "$1" > "$SHARED/$1.log" 2>&1 < /dev/null &
}

# how many guests have come that far: up, ended
guests_that_are()
{
	find $SHARED -name "*.$1" | wc -l
}

all_up()
{
	[ "$(guests_that_are up)" -ge "$1" ]
}

boot_all()
{
	local i

	for ((i = 1; i <= GUESTS; i++)); do
		start_guest $i
		echo "# starting guest $i of $GUESTS"
		[ $i -lt $AT_ONCE ] || wait_until 300 all_up $((i - AT_ONCE + 1)) || return
	done
	wait_until 300 all_up "$GUESTS"
}

kilobytes()
{
	awk -v name="$1:" '$1 == name { print $2 }' /proc/meminfo
}

rounds_done()
{
	cat $SHARED/*.rounds 2> /dev/null | awk '{ n += $1 } END { print n + 0 }'
}

# what each guest does, and which processes have the CPUs
evidence()
{
	echo "# at $(uptime_now): no round has ended for $STANDSTILL s"
	grep . $SHARED/*.now | sed 's/^/# /'
	busybox top -b -n 1 | head -n 40 | cut -c 1-150 | sed 's/^/# /'
}

# one line: seconds, and KiB: unreclaimable, available
sample()
{
	local rounds

	rounds=$(rounds_done)
	echo "$SECONDS $(kilobytes SUnreclaim) $(kilobytes MemAvailable)" >> $SHARED/memory
	echo "# $(tail -n 1 $SHARED/memory) (s, KiB of slabs, KiB available); rounds: $rounds"
	if [ "$rounds" -ne "${LAST_ROUNDS:--1}" ]; then
		LAST_ROUNDS=$rounds
		LAST_AT=$SECONDS
	elif [ $((SECONDS - LAST_AT)) -ge $STANDSTILL ]; then
		evidence
		LAST_AT=$SECONDS
	fi
}

watch_guests()
{
	local deadline=$((SECONDS + SOAK_MINUTES * 60))

	: > $SHARED/go
	while [ $SECONDS -lt $deadline ] && [ "$(guests_that_are ended)" -eq 0 ]; do
		sample
		sleep 15
	done
	: > $SHARED/stop
	until [ "$(guests_that_are ended)" -ge "$GUESTS" ] || [ $SECONDS -gt $((deadline + 900)) ]; do
		sample
		sleep 15
	done
	[ "$(guests_that_are ended)" -eq "$GUESTS" ] || fail "guests hang: $(tail -n 3 $SHARED/*.log)"
}

# the mean of the last quarter of the samples, less that of the first
memory_is_flat()
{
	local grown

	grown=$(awk '{ slab[NR] = $2 } END { q = int(NR / 4); if (q < 1) q = 1
		for (i = 1; i <= q; i++) { first += slab[i]; last += slab[NR + 1 - i] }
		printf "%d", (last - first) / q }' $SHARED/memory)
	echo "# kernel memory has grown by $grown KiB, from the first quarter of $(wc -l < $SHARED/memory) samples to the last"
	[ "$grown" -le $MOST_KB ] || fail "$(cat $SHARED/memory)"
}

guest_went_well()
{
	cat "$SHARED/$1.log"
	grep -q "^guest $1 .* 0 failed" "$SHARED/$1.log"
}

unused_and_unloaded()
{
	wait_until 10 kvnet_unused && rmmod kvnet
}

main()
{
	local i

	rm -rf $SHARED
	mkdir -p $SHARED
	load_kvnet && modprobe bridge || exit
	if run_test "soak: $GUESTS guests boot" boot_all; then
		watch_guests
	else
		: > $SHARED/go
		: > $SHARED/stop
		head -n 20 $SHARED/*.log
	fi
	for ((i = 1; i <= GUESTS; i++)); do
		grep -hE '^#' "$SHARED/$i.log"
		run_test "soak: guest $i: $(tail -n 1 "$SHARED/$i.log")" guest_went_well $i
	done
	run_test "soak: kernel_memory_does_not_grow" memory_is_flat
	run_test "soak: module_unused_is_removed" unused_and_unloaded
	echo "$TESTS_PASSED passed, $TESTS_FAILED failed, $TESTS_SKIPPED skipped"
	[ $TESTS_FAILED -eq 0 ]
}

main
