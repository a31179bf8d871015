#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The tests, in two tiers. "first" is what each change has to pass: static checks, unit
# tests, User-Mode Linux in two shards, one test host, with fixed seeds. "all" adds other
# kernels, layouts, guests and VMMs, fuzzing and the laboratory, with random seeds. Goes on
# after a failure; the last lines say what was skipped, the very last is "N passed,
# N failed, N skipped". A skip that scripts/skips.list does not allow is a failure.
#
#   scripts/test.sh first | all | unit | uml | uapi | net | debug
#
#   TESTS="name..."   tests to run (not of "first" and "all")
#   KERNEL=6.1        kernel of "uapi" and "net" (default 6.12); for "debug" one of smp-kasan,
#                     smp-kcsan, kasan, kcsan, kmsan, by default all; for "uml" smp-kasan or smp-kcsan
#   PACKED=           "uml", "uapi": not once more with packed rings
#   KVNET_LAYOUT=     "uml", "uapi": in this layout only, such as packed,in_order
#   KSFT_SEED=N UNIT_SEED=N   other random inputs (default 1; "all" takes random ones and says which)
#   KSFT_LONG=3       "uml", "uapi": rounds of races and the like, times that
#   LIFE_CYCLES=N     "uml", "uapi": of each death in life_test
#   RUN_SECONDS=N     "uml", "uapi": for all of it (default 3600)
#   STREAM_BYTES=N    "net": what traffic sends each way
#   HOST_APPEND=      "uapi", "net": more words for the kernel of the test host
#   KVNET_PARAMS=     parameters of the module, for "uml", "uapi" and "net"
#
# What does not need each other runs at the same time, in lanes: each tells its
# steps as it goes, and shows its whole log (build/log/lane-NAME.log) when it ends.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/lanes.sh
. "$(dirname "$0")/lanes.sh"

# what make was told is in TESTS, and shall not be told to other makes
unset MAKEFLAGS MFLAGS MAKEOVERRIDES
# Tier one: uapi tests that it leaves out, since they take long, or need what only test hosts
# have; what it runs with a module whose calls fail; and in its test host.
UAPI_NOT_FIRST="isolation_test backpressure_test netconsole_test hibernate_test netlink_storm_test life_test sysfuzz_test"
# mostly wait, and so take little of what the others need
UAPI_WAITING="close_test owner_kthread_test"
UAPI_FAILING_FIRST="fault_each_test held_change_test"
UAPI_FIRST_HOST="loop_rx_test loop_tx_test notify_test lifecycle_test"
NET_FIRST_HOST="traffic kill module"
# net tests that "all" runs in User-Mode Linux and not in a test host
NET_UML="migrate"
# net tests of "all" in each test host, so that all are busy for the same time; 6.12
# also runs those of no list. In this order some find a guest running that the one
# before has left.
NET_612="exits offload live"
NET_61="reboot dpdk guests ipxe libvirt mq replace wrapper"
# of the newest kernel, or, where that cannot be had, of 6.12 too
NET_NEWEST="traffic module kill"
# uapi tests of "all": races, which two CPUs make likelier; on 6.1 those to which an older
# kernel makes a difference, on the newest those that would meet what has changed there.
# All run in User-Mode Linux, a 6.12.
UAPI_RACES="page_cache_test dirty_log_test iotlb_live_test lifecycle_test live_test ring_pin_change_test storm_test"
# what waits for a minute: in User-Mode Linux, where time travels
UAPI_IDLE="idle_test"
# with a module whose calls fail, or wait, in User-Mode Linux
UAPI_FAILING="fault_each_test fault_call_test held_change_test fault_sum_test load_fail_test"
# what a worker is: on 6.12 and the newest; devices that are closed early, policies and counters on the newest alone
UAPI_WORKER="freezer_test close_test worker_test"
UAPI_612="netconsole_test hibernate_test invalidate_test"	# senders in interrupts; a disk to write an image to; two threads in the kernel
# with a module whose calls fail or wait, and two CPUs
UAPI_FAILING_SMP="backpressure_test"
UAPI_EARLY_CLOSE="early_close_test netlink_set_test counters_test"
UAPI_61="close_test set_backend_test packet_socket_test ioctl_test
fault_test feature_test hostile_test rx_inline_test rx_inline_burst_test iotlb_test leak_test lifecycle_test loop_rx_test
loop_tx_test notify_test offload_test owner_test owner_kthread_test last_holder_test ring_pin_change_test ring_pin_test stall_test
non_owner_test worker_test xdp_test tx_inline_test tx_inline_exit_test tx_full_test tx_batch_test direct_test invalidate_test netlink_test netlink_queue_test netlink_storm_test"
UAPI_NEWEST="backpressure_test ioctl_test feature_test iotlb_test netlink_test netlink_queue_test offload_test ring_pin_test
call_test tx_batch_test direct_test"
# net tests that run only when they are named: programs of 230 MB; a QEMU of the next
# release, under which the emulated SVM loses guests now and then
NET_APART="trace qemu"
# User-Mode Linux with two CPUs, which runs only when it is named
UML_FLAVOURS="smp-kasan smp-kcsan"
# uapi tests of "debug" in a test host: what x86 itself, its interrupts, preemption and two CPUs
# that are not the machine's may make a difference to. All run in User-Mode Linux with two CPUs.
UAPI_DEBUG="loop_rx_test notify_test lifecycle_test close_test worker_test owner_test owner_kthread_test rx_inline_test storm_test"
# and on kmsan: what a guest, a VMM or the host reads, and what decides about it
UAPI_KMSAN="content_test info_leak_test loop_rx_test offload_test rx_copy_test rx_inline_test
hostile_test iotlb_test netlink_test netlink_queue_test packet_socket_test lifecycle_test"
# For the kernels that look for bugs: the sooner something is freed, the sooner its late
# use is seen; and an access is watched for up to a millisecond, since the other CPU, which is
# emulated, gets nowhere within KCSAN's 80 us. The 256 MB where PCI's configuration is would get
# a shadow from KMSAN, for minutes.
DEBUG_WORDS="pci=nommconf rcupdate.rcu_expedited=1 kcsan.udelay_task=1000 kcsan.udelay_interrupt=200 kcsan.skip_watch=4000"
# memory in MB for two test hosts and User-Mode Linux at the same time
LANES_MB=8000

### what the lanes do

# kvnetctl, what these scripts share, installing, litmus tests; not in tier one: the model of a
# queue's run state, the laboratory's arithmetic and reports, ten seconds of fuzzing
run_tools()
{
	local status=0 part

	make -s -C "$TOP/selftests/kvnetctl" run OUTPUT="$BUILD/unit/kvnetctl" || status=1
	for part in rig/run.sh packages/quick.sh; do "$TOP/selftests/$part" || status=1; done
	[ "$TIER" != first ] || { "$TOP/selftests/models/run.sh" litmus || status=1; }
	[ "$TIER" != first ] || return $status
	"$TOP/selftests/models/run.sh" || status=1
	bench_tool test || status=1
	FUZZ_SECONDS=10 "$TOP/scripts/fuzz.sh" || status=1
	return $status
}

make_unit()
{
	make -s -C "$TOP/selftests/unit" run OUTPUT="$BUILD/unit" TESTS="$*" ONCE="$([ "$TIER" != first ] || echo 1)" > "$BUILD/log/test-unit.log" 2>&1
}

# run_unit [TEST]...
run_unit()
{
	local log=$BUILD/log/test-unit.log before=$FAILED status=0

	say "unit tests"
	mkdir -p "$BUILD/log"
	hold unit
	watched "unit tests" "" -- make_unit "$@" || status=$?
	grep -E '^not ok|^# |passed,|^unit:|error|ERROR' "$log" || [ $status -eq 0 ] || tail -n 20 "$log"
	if [ $# -eq 0 ]; then
		run_tools > "$BUILD/log/test-tools.log" 2>&1 || { status=1; cat "$BUILD/log/test-tools.log"; }
		grep ' passed, ' "$BUILD/log/test-tools.log" | tee -a "$log"
	fi
	count_log "$log" unit "unit tests"
	release
	count_status "$before" $status "unit tests"
}

# shellcheck disable=SC2317 # for watch_begin
files_done()
{
	awk '/: all of it took / { n++ } END { print n + 0 }' "$1"
}

# run_host NAME COMMAND...: a test host or User-Mode Linux; FILES test files
run_host()
{
	local name=$1 before=$FAILED status=0

	shift
	say "$name: starting"
	# who is shown no line for each test is shown how many files of them are done
	[ -z "$LANE" ] || WATCH_EVERY=60 watch_begin "$name: test files" "${FILES:-0}" files_done "$BUILD/log/$name/output.log"
	"$@" || status=$?
	[ -z "$LANE" ] || watch_end
	count_log "$BUILD/log/$name.tap" "$name" "$name"
	count_status "$before" $status "$name"
	[ -n "$LANE" ] || show_times "$name" "$BUILD/log/$name.tap"
	say "$name: ended"
}

# Does the laboratory work? A row of each kind in its lane of User-Mode Linux, with
# the kernel that looks for bugs; no figure decides anything.
run_lab()
{
	local out=$BUILD/log/lab

	say "laboratory"
	rm -rf "$out"
	step "laboratory: rows of every kind" env LANE=native UML=debug QUICK=1 REPEAT=1 BENCH_MS=20 ONLY='' PLAN=bench \
		OUT="$out" "$TOP/scripts/bench.sh"
	step "laboratory: results, plots and report" python3 -B "$TOP/tools/bench" check "$out" pps gso queues rr sender crowd load neighbour xdp floor idle
	step "laboratory: a run does not differ from itself" same_results "$out"
}

# one that compares nothing proves nothing
same_results()
{
	"$TOP/scripts/bench.sh" compare "$1" "$1" | grep -E '^([1-9][0-9]*) of \1 rows: no difference'
}

# what kvnetctl has printed as JSON in a run, see selftests/net/test_kvnetctl.sh
run_schema()
{
	! grep -q '^# json ' "$1" || step "JSON of kvnetctl fits its schema" python3 -B "$TOP/selftests/kvnetctl/fits.py" "$1"
}

# find_extras TEST...: what these net tests want beyond the usual: trees of VMMs and
# tracers, guests with other kernels. What cannot be had is left out, and its test says so.
find_extras()
{
	local name

	EXTRAS=()
	[ $# -gt 0 ] || set -- dpdk libvirt guests qemu
	for name in dpdk libvirt; do
		[[ " $* " != *" $name "* ]] || ! "$TOP/scripts/mkvmm.sh" "$name" || EXTRAS+=(--tree "$BUILD/vmm-$name")
	done
	[[ " $* " != *" qemu "* ]] || ! "$TOP/scripts/mkqemu.sh" || EXTRAS+=(--tree "$BUILD/vmm-qemu")
	[[ " $* " != *" guests "* ]] || EXTRAS+=(--guests)
	[[ " $* " != *" trace "* ]] || ! "$TOP/scripts/mkvmm.sh" tracers ||
		EXTRAS+=(--tree "$BUILD/vmm-tracers" --add "$TOP/Documentation/debugging.rst" --add "$TOP/tools/trace:/kvnet/tools/trace")
}

# run_vm SERIES NAME SCRIPT ARGUMENTS...
run_vm()
{
	local series=$1 name=$2 short=${SHORT:-} EXTRAS=()

	shift 2
	[[ $1 == */uapi.sh ]] || find_extras "${@:2}"
	[ "$series" != 6.1 ] || short=1
	# what looks at each access, on a CPU that is emulated, takes its time; and at all memory, 20 s
	! is_debug "$series" || EXTRAS+=(--append "$DEBUG_WORDS" --env "KSFT_SLOW=${KSFT_SLOW:-20}" --env KSFT_LEAKS=end)
	# tier one has it under AddressSanitizer only
	if [ "$TIER" != first ]; then
		build_kvnetctl
		EXTRAS+=(--add "$BUILD/tools/kvnetctl" --add "$BUILD/tools/other/kvnetctl:/kvnet/kvnetctl-other")
	fi
	rm -f "$BUILD/log/$name.tap"
	run_host "$name" "$TOP/scripts/vm.sh" --kernel "$series" --name "$name" --timeout "${RUN_SECONDS:-3600}" --mem "${HOST_MB:-3072}" --nodes "${NODES:-1}" --disk 2048 --append "${HOST_APPEND:-}" --env "SHORT=$short" \
		--env "BACKEND=${BACKEND:-kvnet}" --env "KVNET_PARAMS=${KVNET_PARAMS:-}" --env "QEMU=${QEMU:-7.2}" --env "UAPI=${UAPI:-}" \
		--env "PACKED=${PACKED:-}" --env "KVNET_LAYOUT=${KVNET_LAYOUT:-}" --env "KVNET_WORKER=${KVNET_WORKER:-}" \
		--env "KSFT_SEED=${KSFT_SEED:-}" --env "KSFT_LONG=${KSFT_LONG:-}" --env "LIFE_CYCLES=${LIFE_CYCLES:-}" --env "UAPI_TIMEOUT=${RUN_SECONDS:-}" \
		--env "SYSFUZZ_SECONDS=${SYSFUZZ_SECONDS:-}" --env "STREAM_BYTES=${STREAM_BYTES:-}" \
		--output "$BUILD/log/$name.tap" "${EXTRAS[@]}" -- "$@"
	run_schema "$BUILD/log/$name.tap"
}

# uapi tests run a second time with packed rings, unless the caller says otherwise
choose_packed()
{
	[ "${BACKEND:-kvnet}" = kvnet ] && [ -z "${KVNET_LAYOUT:-}" ] || PACKED=''
	PACKED=${PACKED-1}
	[ "$PACKED" != 0 ] || PACKED=''
}

run_uml()
{
	local name=uapi-uml FILES

	FILES=$(find "$BUILD/uapi" -maxdepth 1 -type f | wc -l)
	[[ ${UML_FLAVOUR:-} != smp-* ]] || name=uapi-$UML_FLAVOUR
	choose_packed
	rm -f "$BUILD/log/$name.tap"
	# shellcheck disable=SC2086 # a list of names
	run_host $name "$TOP/scripts/uml.sh" "--${UML_FLAVOUR:-debug}" --name $name --timeout "${RUN_SECONDS:-3600}" --env "BACKEND=${BACKEND:-kvnet}" --env "KVNET_PARAMS=${KVNET_PARAMS:-}" \
		--env "LIFE_CYCLES=${LIFE_CYCLES:-}" --env "UAPI_TIMEOUT=${RUN_SECONDS:-}" --env "PACKED=$PACKED" --env "KVNET_LAYOUT=${KVNET_LAYOUT:-}" --env "KVNET_WORKER=${KVNET_WORKER:-}" --env "KSFT_LONG=${KSFT_LONG:-}" \
		--env "KSFT_SEED=${KSFT_SEED:-}" --env "KSFT_SLOW=${KSFT_SLOW:-}" --env "SYSFUZZ_SECONDS=${SYSFUZZ_SECONDS:-}" \
		--output "$BUILD/log/$name.tap" -- "$TOP/scripts/vm/uapi.sh" "$@"
}

# run_uml_as NAME TESTS OPTION...
run_uml_as()
{
	local name=uapi-uml-$1 tests FILES

	read -ra tests <<< "$2"
	FILES=${#tests[@]}
	rm -f "$BUILD/log/$name.tap"
	run_host "$name" "$TOP/scripts/uml.sh" --name "$name" --timeout 1200 "${@:3}" --env PACKED= \
		--env "KSFT_SEED=${KSFT_SEED:-}" --env "KSFT_LONG=${KSFT_LONG:-}" --env "LIFE_CYCLES=${LIFE_CYCLES:-}" \
		--output "$BUILD/log/$name.tap" -- "$TOP/scripts/vm/uapi.sh" "${tests[@]}"
}

run_uml_failing()
{
	local and=${UML_FLAVOUR:+-$UML_FLAVOUR}

	step "kvnet.ko whose calls can fail${and:+, $UML_FLAVOUR}" "$TOP/scripts/build-module.sh" --failing "uml$and"
	run_uml_as "failing$and" "$UAPI_FAILING${and:+ backpressure_test}" "--${UML_FLAVOUR:-debug}" --add "$BUILD/failing-uml$and/drivers/kvnet/kvnet.ko"
}

# run_uml_net TEST...: net tests with real guests. QEMU 7.2 cannot migrate a guest
# whose CPU it emulates, see test_migrate.sh.
run_uml_net()
{
	local name=net-uml FILES=$#

	if [ ! -x "$BUILD/qemu10/usr/bin/qemu-system-x86_64" ]; then
		skip $name "$*" "QEMU 10.0 cannot be had here"
		return
	fi
	rm -f "$BUILD/log/$name.tap"
	run_host $name "$TOP/scripts/uml.sh" --guest --name $name --timeout 2400 --env "BACKEND=${BACKEND:-kvnet}" --env "KVNET_PARAMS=${KVNET_PARAMS:-}" \
		--env QEMU=10.0 --env MIGRATE_LOAD=50 --env "MIGRATE_CHAIN=${MIGRATE_CHAIN:-}" --env "MIGRATE_IOMMU=${MIGRATE_IOMMU:-}" \
		--output "$BUILD/log/$name.tap" -- "$TOP/selftests/net/run.sh" "$@"
}

# A copy of the checkout below /tmp, reached through a link: it finds User-Mode Linux in the
# cache; a module of one file is built there.
try_moved_checkout()
{
	local dir=$1 build=$1/tree/build built

	mkdir -p "$build/uapi" "$dir/tree/selftests/perf"
	ln -s tree "$dir/link"
	cp -a "$TOP"/{Kbuild,drivers,include,scripts} "$dir/tree/" || return
	cp -a "$TOP"/selftests/{lib,net} "$dir/tree/selftests/" && cp -a "$TOP/selftests/perf/floor" "$dir/tree/selftests/perf/" || return
	cp -a "$BUILD/mod-uml" "$build/" && cp "$BUILD/uapi/feature_test" "$build/uapi/" || return
	built=$(stat -c '%i %Y' "$BUILD/uml/linux")
	env -u KVNET_BUILD "$dir/link/scripts/build-module.sh" --floor uml || return
	env -u KVNET_BUILD "$dir/link/scripts/uml.sh" --name moved --timeout 300 \
		-- "$dir/link/scripts/vm/uapi.sh" feature_test || return
	[ "$(stat -c '%i %Y' "$build/uml/linux")" = "$built" ] || { echo "# User-Mode Linux was built again"; return 1; }
}

run_moved()
{
	local dir status=0

	dir=$(mktemp -d /tmp/kvnet-moved.XXXXXX)
	try_moved_checkout "$dir" > "$BUILD/log/moved.log" 2>&1 || status=$?
	[ $status -eq 0 ] || tail -n 20 "$BUILD/log/moved.log"
	rm -rf "$dir"
	return $status
}

# some of the uapi tests as anybody has them who has installed them
run_installed()
{
	local name=installed-uml

	make -s -C "$TOP/selftests" install TARGETS=uapi TESTS="feature_test notify_test loop_tx_test" OUTPUT="$BUILD" \
		INSTALL_PATH="$BUILD/ksft" || { step "uapi tests can be installed" false; return; }
	rm -f "$BUILD/log/$name.tap"
	run_host $name "$TOP/scripts/uml.sh" --name $name --timeout 300 --add "$BUILD/ksft:ksft" --output "$BUILD/log/$name.tap" \
		-- "$TOP/selftests/rig/installed.sh"
}

# what needs no test host
run_here()
{
	run_unit
	step "User-Mode Linux runs from a checkout that was moved below /tmp" run_moved
	run_installed
	run_uml
	run_uml_as idle "$UAPI_IDLE" --append time-travel
	run_uml_failing
	# shellcheck disable=SC2086 # a list of names
	run_uml_net $NET_UML
	run_lab
}

build_uapi()
{
	local names

	read -ra names <<< "$*"
	names=("${names[@]%_test}")
	# where they run there is no debugger
	locked uapi make -s -j "$(nproc)" -C "$TOP/selftests/uapi" CFLAGS='-O1 -s' OUTPUT="$BUILD/uapi" ${names:+"TESTS=${names[*]/%/_test}"}
}

build_module()
{
	step "kvnet.ko for $1 builds without a warning (W=1, sparse)" "$TOP/scripts/build-module.sh" --sparse "$1"
}

build_uml()
{
	local STEPS=4 before=$FAILED

	step "User-Mode Linux is there" "$TOP/scripts/uml/build.sh" uml
	[ "$FAILED" -gt "$before" ] || step "kvnet.ko for User-Mode Linux builds without a warning" "$TOP/scripts/build-module.sh" uml
	step "kvnet.ko for User-Mode Linux with two CPUs" "$TOP/scripts/build-module.sh" uml-smp-kasan
	step "kvnet.ko whose calls can fail, for two CPUs" "$TOP/scripts/build-module.sh" --failing uml-smp-kasan
}

# The newest kernel needs more than the others, and a network to the backports of the
# next release: without these its tests are skipped. What is there stays as it is.
get_newest()
{
	say "the newest kernel, and what builds modules for it"
	"$TOP/scripts/setup.sh" newest || true
	if ! have_newest; then
		skip test-newest "the newest kernel" "cannot be had here"
		say "kvnet.ko for newest: skipped"
		return
	fi
	"$TOP/scripts/mkimage.sh" newest
	build_module newest
}

have_newest()
{
	is_made kernel-newest && is_made root-newest
}

build_for_hosts()
{
	local STEPS=9 series name

	say "kernels and QEMU of the test hosts"
	"$TOP/scripts/setup.sh"
	say "images of the test hosts and of guests"
	for series in $SERIES_ALL; do
		"$TOP/scripts/mkimage.sh" "$series"
	done
	say "other VMMs: dpdk, libvirt"
	for name in dpdk libvirt; do
		"$TOP/scripts/mkvmm.sh" "$name" || echo "# no $name: its tests will be skipped"
	done
	for series in $SERIES_ALL; do
		build_module "$series"
	done
	get_newest
	"$TOP/scripts/mkimage.sh" --guests
	step "uapi tests build" build_uapi
	run_static
}

# host SERIES NAME UAPI-TESTS NET-TESTS
host()
{
	local FILES UAPI=${3:-none} PACKED=''

	FILES=$(wc -w <<< "$3 $4")
	# shellcheck disable=SC2086 # a list of names
	run_vm "$1" "$2" "$TOP/scripts/vm/all.sh" ${4:-none}
}

test_6.12()
{
	local file net=$NET_612 uapi="$UAPI_WORKER $UAPI_612"

	have_newest || { net="$net $NET_NEWEST" uapi="$uapi $UAPI_EARLY_CLOSE $UAPI_RACES"; }
	for file in "$TOP"/selftests/net/test_*.sh; do
		file=${file##*/test_}
		[[ " $NET_612 $NET_61 $NET_NEWEST $NET_UML $NET_APART " == *" ${file%.sh} "* ]] || net="$net ${file%.sh}"
	done
	host 6.12 test-6.12 "$uapi life_test" "$net"
}

test_6.1()
{
	host 6.1 test-6.1 "$UAPI_61" "$NET_61"
}

# two hosts, of less memory, one with two NUMA nodes
test_newest()
{
	! have_newest || HOST_MB=2048 NODES=2 host newest test-newest "$UAPI_NEWEST $UAPI_RACES $UAPI_WORKER $UAPI_EARLY_CLOSE" ""
}

test_newest_net()
{
	! have_newest || HOST_MB=2048 host newest test-newest-net "" "$NET_NEWEST"
}

# the two-CPU pass under KASAN and lockdep
test_smp()
{
	local kind=smp-kasan

	UML_FLAVOUR=$kind PACKED='' KSFT_LONG=1/3 run_uml
	run_uml_as "failing-$kind" "$UAPI_FAILING_SMP" --$kind --add "$BUILD/failing-uml-$kind/drivers/kvnet/kvnet.ko"
}

test_hosts()
{
	test_6.12
	test_6.1
	test_newest
	test_newest_net
	test_smp
}

# User-Mode Linux and a test host, the others where one has ended, whichever that is; two at the
# same time only where there are CPUs for them: see testing.rst. One host after the other where
# there is less memory.
run_lanes()
{
	local free second=lane

	free=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
	lane uml run_here
	if [ "$free" -lt $LANES_MB ]; then
		lane tests test_hosts
		return
	fi
	[ "$(nproc)" -ge 4 ] || second=lane_later
	lane test-6.12 test_6.12
	$second test-6.1 test_6.1
	lane_later test-newest test_newest
	lane_later test-newest-net test_newest_net
	lane_later uml-smp test_smp
}

### tier one

# how_long TEXT: and how long it took here the last time
how_long()
{
	local last=$BUILD/log/seconds-of-$TIER

	info "$1: $([ ! -f "$last" ] || echo "it took $(cat "$last") s the last time; ")KSFT_SEED=$KSFT_SEED UNIT_SEED=$UNIT_SEED"
}

build_user_mode_linux()
{
	step "User-Mode Linux is there" "$TOP/scripts/uml/build.sh" uml
}

# mostly waits for the network
get_first_host()
{
	say "kernel and QEMU of the test host"
	"$TOP/scripts/setup.sh" 6.12
}

build_first_uml()
{
	local STEPS=3

	step "kvnet.ko for User-Mode Linux builds without a warning" "$TOP/scripts/build-module.sh" uml
	step "kvnet.ko whose calls can fail" "$TOP/scripts/build-module.sh" --failing uml
	step "uapi tests build" build_uapi
}

build_first_host()
{
	local STEPS=3

	build_module 6.12
	say "images of the test host and its guest"
	"$TOP/scripts/mkimage.sh" 6.12
	build_net_tools
	run_static
}

run_static()
{
	local before=$FAILED status=0 log=$BUILD/log/test-static.log

	say "static checks"
	"$TOP/scripts/check.sh" static > "$log" || status=$?
	cat "$log"
	count_log "$log" static "static checks"
	count_status "$before" $status "static checks"
}

# uapi tests of tier one: all but those that "all" runs elsewhere
first_uapi()
{
	local file name

	for file in "$TOP"/selftests/uapi/*/*_test.c; do
		name=$(basename "$file" .c)
		[[ " $UAPI_FAILING $UAPI_IDLE $UAPI_NOT_FIRST " == *" $name "* ]] || echo "$name"
	done
}

# what of User-Mode Linux is in tier one, as "VARIANT TEST": for mutants.py
list_first()
{
	# with a module whose calls fail all runs that runs without
	{ first_uapi; tr ' ' '\n' <<< "$UAPI_FAILING_FIRST"; } | sed 's/^/split /'
	tr ' ' '\n' <<< "$UAPI_FAILING_FIRST" | sed 's/^/failing /'
}

# shard NUMBER TEST...: one half of these tests, with as many seconds to do as the other
shard()
{
	local number=$1

	shift
	printf '%s\n' "$@" | awk 'NR == FNR { seconds[$1] = $2; next } { print ($1 in seconds) ? seconds[$1] : 1, $1 }' \
		"$TOP/selftests/uapi/seconds" - | sort -k 1,1rn -k 2 |
		awk -v wanted="$number" '{ half = load[2] < load[1] ? 2 : 1; load[half] += $1 } half == wanted { print $2 }'
}

# first_uml NUMBER
first_uml()
{
	local tests

	readarray -t tests < <(first_uapi | grep -vxF "$(tr ' ' '\n' <<< "$UAPI_WAITING")")
	run_uml_as "$1" "$(shard "$1" "${tests[@]}" | tr '\n' ' ')"
}

first_uml_1()
{
	first_uml 1
}

first_uml_2()
{
	first_uml 2
}

first_waiting()
{
	run_uml_as waiting "$UAPI_WAITING"
}

first_failing()
{
	run_uml_as failing "$UAPI_FAILING_FIRST" --append time-travel --add "$BUILD/failing-uml/drivers/kvnet/kvnet.ko"
}

first_host()
{
	SHORT=1 STREAM_BYTES=$((1 << 23)) host 6.12 test-6.12 "$UAPI_FIRST_HOST" "$NET_FIRST_HOST"
}

run_first()
{
	# what is repeated to meet a race is for "all"
	export KSFT_SEED=${KSFT_SEED:-1} UNIT_SEED=${UNIT_SEED:-1} KSFT_LONG=${KSFT_LONG:-1/3} LIFE_CYCLES=1
	how_long "tier one"
	info "part 1 of 3: packages"
	"$TOP/scripts/setup.sh" --first
	info "part 2 of 3: builds"
	# the longest one, with both CPUs for itself
	lane user-mode-linux build_user_mode_linux
	lane downloads get_first_host
	lanes_end
	lane build-uml build_first_uml
	lane build-host build_first_host
	lane units run_unit
	lanes_end
	# tests have deadlines: none runs beside a build
	info "part 3 of 3: tests"
	lane uml-1 first_uml_1
	lane uml-2 first_uml_2
	lane uml-waiting first_waiting
	lane_later test-6.12 first_host
	lane_later uml-failing first_failing
	lanes_end
	elapsed > "$BUILD/log/seconds-of-$TIER"
}

### all of it

# bash's random numbers have 15 bits
random_seed()
{
	echo $((RANDOM << 15 | RANDOM))
}

run_all()
{
	export KSFT_SEED=${KSFT_SEED:-$(random_seed)} UNIT_SEED=${UNIT_SEED:-$(random_seed)}
	how_long "everything"
	info "part 1 of 3: packages"
	"$TOP/scripts/setup.sh" --fuzz
	info "part 2 of 3: builds"
	lane uml-build build_uml
	lane builds build_for_hosts
	lanes_end

	# "make life" has them die a thousand times
	export LIFE_CYCLES=1
	# tests have deadlines: none runs beside a build
	info "part 3 of 3: tests"
	build_net_tools
	run_lanes
	lanes_end
	elapsed > "$BUILD/log/seconds-of-$TIER"
}

run_one()
{
	local series=${KERNEL:-6.12}

	[ "$1" = uapi ] || ! is_debug "$series" || die "no guests run on kernel $series"
	"$TOP/scripts/setup.sh" "$series"
	step "kvnet.ko for $series" "$TOP/scripts/build-module.sh" "$series"
	[ "$FAILED" -eq 0 ] || return 0
	if [ "$1" = uapi ]; then
		step "uapi tests build" build_uapi "${TESTS:-}"
		[ "$FAILED" -eq 0 ] || return 0
		choose_packed
		# shellcheck disable=SC2086 # a list of names
		run_vm "$series" "uapi-$series" "$TOP/scripts/vm/uapi.sh" ${TESTS:-}
	else
		# shellcheck disable=SC2086 # a list of names
		run_vm "$series" "net-$series" "$TOP/selftests/net/run.sh" ${TESTS:-}
	fi
}

# The uapi tests on kernels that look for bugs and have two CPUs, one after the other, since what
# races shall have both: all in User-Mode Linux, then in the test host what may differ there.
run_debug()
{
	local kernel kernels=${KERNEL:-smp-kasan smp-kcsan $DEBUG_ALL} packed=${PACKED-} SYSFUZZ_SECONDS=${SYSFUZZ_SECONDS:-120} RUN_SECONDS=${RUN_SECONDS:-7200}

	step "uapi tests build" build_uapi "${TESTS:-}"
	for kernel in $kernels; do prepare_debug "$kernel"; done
	[ "$FAILED" -eq 0 ] || return 0
	for kernel in $kernels; do
		# shellcheck disable=SC2086 # lists of names
		if is_debug "$kernel"; then
			PACKED=$packed KSFT_LONG=${KSFT_LONG:-1/3} run_vm "$kernel" "uapi-$kernel" "$TOP/scripts/vm/uapi.sh" ${TESTS:-$(debug_tests "$kernel")}
		else
			UML_FLAVOUR=$kernel run_uml ${TESTS:-}
			[ -n "${TESTS:-}" ] || UML_FLAVOUR=$kernel run_uml_failing
		fi
	done
}

debug_tests()
{
	case $1 in
	kmsan) echo "$UAPI_KMSAN" ;;
	*) echo "$UAPI_DEBUG" ;;
	esac
}

prepare_debug()
{
	case $1 in
	smp-kasan | smp-kcsan) step "kvnet.ko for User-Mode Linux, $1" "$TOP/scripts/build-module.sh" "uml-$1" ;;
	*)
		step "the test host's kernel $1 is there" "$TOP/scripts/setup.sh" "$1"
		step "kvnet.ko for $1" "$TOP/scripts/build-module.sh" "$1"
		;;
	esac
}

run_one_uml()
{
	local name net=() uapi=() idle=() failing=() UML_FLAVOUR=${KERNEL:-}

	for name in ${TESTS:-}; do
		[[ " $UAPI_FAILING " != *" ${name%_test}_test "* ]] || failing=(too)
		if [[ " $NET_UML " == *" ${name%:*} "* ]]; then
			net+=("$name")
		elif [ -z "$UML_FLAVOUR" ] && [[ " $UAPI_IDLE " == *" ${name%_test}_test "* ]]; then
			idle+=("$name")
		elif [[ " $UAPI_FAILING " != *" ${name%_test}_test "* ]]; then
			uapi+=("$name")
		fi
	done
	# the other flavours: with no guests, and time that passes at once is for one CPU
	# shellcheck disable=SC2206 # lists of names
	[ -n "${TESTS:-}$UML_FLAVOUR" ] || net=($NET_UML) idle=($UAPI_IDLE) failing=(too)
	"$TOP/scripts/setup.sh" --packages-only
	step "kvnet.ko for User-Mode Linux" "$TOP/scripts/build-module.sh" "uml${UML_FLAVOUR:+-$UML_FLAVOUR}"
	[ "$FAILED" -eq 0 ] || return 0
	if [ -z "${TESTS:-}" ] || [ ${#uapi[@]} -gt 0 ] || [ ${#idle[@]} -gt 0 ] || [ ${#failing[@]} -gt 0 ]; then
		step "uapi tests build" build_uapi "${TESTS:+${uapi[*]} ${idle[*]} ${failing[*]:+$UAPI_FAILING backpressure_test}}"
		[ "$FAILED" -eq 0 ] || return 0
	fi
	[ -n "${TESTS:-}" ] && [ ${#uapi[@]} -eq 0 ] || run_uml "${uapi[@]}"
	[ ${#idle[@]} -eq 0 ] || run_uml_as idle "$UAPI_IDLE" --append time-travel
	[ ${#failing[@]} -eq 0 ] || run_uml_failing
	[ ${#net[@]} -eq 0 ] || run_uml_net "${net[@]}"
}

# is_test KIND NAME
is_test()
{
	local name=${2%:*}

	case $1 in
	unit) [ -f "$TOP/selftests/unit/${name%_test}_test.c" ] || [ -f "$TOP/selftests/unit/$name.c" ] ;;
	uapi) compgen -G "$TOP/selftests/uapi/*/${name%_test}_test.c" > /dev/null ;;
	net) [ -f "$TOP/selftests/net/test_${name#test_}.sh" ] ;;
	esac
}

# a name that is wrong is said at once, and not when all has been built
check_names()
{
	local name kind kinds=uapi known

	case $TIER in
	unit | net) kinds=$TIER ;;
	uml) kinds="uapi net" ;;
	esac
	for name in ${TESTS:-}; do
		known=''
		for kind in $kinds; do
			! is_test $kind "$name" || known=1
		done
		[ -n "$known" ] || die "no test '$name'; there are: $(tests_there $kinds)"
	done
	case $TIER in
	uml) [ -z "${KERNEL:-}" ] || [[ " $UML_FLAVOURS " == *" $KERNEL "* ]] || die "no such User-Mode Linux: $KERNEL; there are: $UML_FLAVOURS" ;;
	uapi | net) check_series "${KERNEL:-6.12}" ;;
	debug)
		for name in ${KERNEL:-}; do
			[[ " smp-kasan smp-kcsan $DEBUG_ALL " == *" $name "* ]] ||
				die "kernel $name does not look for bugs on two CPUs; those that do: smp-kasan smp-kcsan $DEBUG_ALL"
		done
		;;
	esac
	[[ " kvnet vhost off " == *" ${BACKEND:-kvnet} "* ]] || die "unknown backend '$BACKEND'; known: kvnet vhost off"
}

# tests_there KIND...
tests_there()
{
	local kind

	for kind; do
		case $kind in
		net) (cd "$TOP/selftests/net" && echo test_*.sh | sed 's/test_//g; s/\.sh//g') ;;
		uapi) (cd "$TOP/selftests/uapi" && echo */*_test.c | sed 's/_test\.c//g') ;;
		unit) (cd "$TOP/selftests/unit" && echo *_test.c | sed 's/_test\.c//g') ;;
		esac
	done | tr '\n' ' '
}

main()
{
	trap cleanup EXIT
	trap 'exit 130' INT TERM
	TIER=${1:-first}
	check_names
	case $TIER in
	first) run_first ;;
	list-first) list_first; return ;;
	all) run_all ;;
	unit)
		"$TOP/scripts/setup.sh" --packages-only
		# shellcheck disable=SC2086 # a list of names
		run_unit ${TESTS:-}
		;;
	uml) run_one_uml ;;
	uapi | net) run_one "$1" ;;
	debug) run_debug ;;
	*) die "usage: test.sh first | all | unit | uml | uapi | net | debug" ;;
	esac
	info "done"
	count_skips
	echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
	[ "$FAILED" -eq 0 ]
}

main "$@"
