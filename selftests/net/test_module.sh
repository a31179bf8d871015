#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Description: the module's own life: refused while in use, removed when idle,
# loaded again; opening and closing its device leaks nothing.
declare -F run_test > /dev/null || exec bash "${0%/*}/run.sh" "${0##*/}"

test_rmmod_refused()
{
	guest_need || return
	! rmmod kvnet || fail "rmmod succeeded under a running guest" || return
	[ "$(kvnet_users)" -gt 0 ] && ping_guest 5
}

test_rmmod_idle()
{
	local i

	guest_stop
	for i in 1 2 3 4 5; do
		rmmod kvnet || return
		[ ! -e $DEVICE ] || fail "$DEVICE is still there" || return
		load_kvnet || return
	done
}

test_reload_works()
{
	guest_need && ping_guest 10
}

# pages in use that a leak of the module would be part of
kernel_memory()
{
	echo 3 > /proc/sys/vm/drop_caches
	awk '/^(Slab|KernelStack|PageTables|VmallocUsed):/ { sum += $2 } END { print sum }' /proc/meminfo
}

thread_count()
{
	# shellcheck disable=SC2012 # names are numbers
	ls -d /proc/[0-9]* | wc -l
}

open_close()
{
	local i fd

	for ((i = 0; i < $1; i++)); do
		exec {fd}<> $DEVICE || return
		exec {fd}>&-
	done
}

# what stays is compared for 200 cycles after 200 that warmed every cache
opened_and_closed()
{
	local memory threads files grown more

	memory=$(kernel_memory)
	threads=$(thread_count)
	files=$(cut -f1 /proc/sys/fs/file-nr)
	open_close 200 || return
	wait_until 5 kvnet_unused || fail "the device is still held" || return
	grown=$(($(kernel_memory) - memory))
	more=$(($(thread_count) - threads))
	echo "# kernel memory grew by $grown kB, threads by $more, open files by $(($(cut -f1 /proc/sys/fs/file-nr) - files))"
	# one kB leaked per cycle would be 200
	[ $grown -lt 200 ] && [ $more -le 1 ]
}

# the same with a whole life of a device each: a guest is started and stopped; those
# before have warmed the caches
guest_lived()
{
	local memory grown

	memory=$(kernel_memory)
	test_reload_works && guest_stop || return
	wait_until 5 kvnet_unused || fail "the device is still held" || return
	grown=$(($(kernel_memory) - memory))
	echo "# kernel memory grew by $grown kB over a guest's life"
	[ $grown -lt 1000 ]
}

# The kernel has workers more or fewer and fills caches when it likes; what is leaked
# is so each time.
not_each_time()
{
	"$@" || "$@" || "$@"
}

test_open_close()
{
	open_close 200 && not_each_time opened_and_closed
}

test_guests_leak_nothing()
{
	guest_stop
	not_each_time guest_lived
}

if [ "$BACKEND" = kvnet ]; then
	run_test "module: rmmod is refused while a guest runs" test_rmmod_refused
	run_test "module: removed and loaded when idle" test_rmmod_idle
	run_test "module: 200 times open and close leak nothing" test_open_close
	run_test "module: works after that, and guests that end leak nothing" test_guests_leak_nothing
fi
