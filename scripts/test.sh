#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The tests: builds, unit tests, User-Mode Linux, and the test host on both
# kernels. Goes on after a failure; the last line is "N passed, N failed".
#
#   scripts/test.sh all | unit | uml | uapi | net
#
#   TESTS="name..."   tests of "uml", "uapi" or "net" to run (default all; "all"
#                     divides the net tests between the kernels)
#   KERNEL=6.1        kernel of "uapi" and "net" (default 6.12)
#
# What does not need each other runs at the same time, in lanes: each tells its
# steps as it goes, and shows its whole log (build/log/lane-NAME.log) when it ends.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

PASSED=0
FAILED=0
# net tests that "all" runs in User-Mode Linux and not in a test host
NET_UML="migrate migrate:packed"
# net tests of "all" in each test host, so that both are busy for the same time; 6.12
# also runs those of neither list. In this order some find a guest running that the
# one before has left.
NET_612="exits offload traffic module live"
NET_61="reboot kill dpdk guests ipxe libvirt mq"
# uapi tests of "all" on 6.12: races, which two CPUs make likelier; and on 6.1: those to
# which an older kernel makes a difference. All run in User-Mode Linux, a 6.12.
UAPI_612="dirtylog_live_test iotlb_live_test iotlb_storm_test lifecycle_test live_test pin_change_test storm_test"
UAPI_61="backend_change_test backend_packet_change_test backend_packet_test backend_test contract_test dirtylog_test
fault_test feature_test hostile_test ioctl_test iotlb_msg_test iotlb_test leak_test lifecycle_test loop_rx_test
loop_tx_test notify_test offload_test pin_change_test pin_memory_test pin_test pin_wait_test stall_test xdp_test"
# the same once more, for guests with packed rings
NET_PACKED="live:packed"
# memory in MB for two test hosts and User-Mode Linux at the same time
LANES_MB=8000

declare -A LANES=()
LANE=''

### counting

count()
{
	PASSED=$((PASSED + $1))
	FAILED=$((FAILED + $2))
}

say()
{
	info "$*"
	[ -z "$LANE" ] || printf '[%4ds] %s: %s\n' "$SECONDS" "$LANE" "$*" >&3
}

# one step that is a test as a whole
step()
{
	local name=$1

	shift
	say "$name"
	if "$@"; then
		echo "ok - $name"
		count 1 0
	else
		echo "not ok - $name"
		count 0 1
	fi
}

# show_times NAME FILE: where the time went, in seconds, the most first
show_times()
{
	sed -n 's/^# \(.*\): all of it took \([0-9.]*\) s$/\2 \1/p' "$2" 2>/dev/null | sort -rn |
		awk -v name="$1" '{ text = text sep $2 " " $1; sep = ", " } END { if (NR) print name ": " text }' | fold -s -w 110
}

# adds up every "N passed, N failed" line of a log; without any, it failed
count_log()
{
	local sums

	sums=$(awk '/^[0-9]+ passed, [0-9]+ failed$/ { p += $1; f += $3; n++ } END { print p + 0, f + 0, n + 0 }' "$1")
	# shellcheck disable=SC2086 # three numbers
	set -- $sums "$2"
	if [ "$3" -eq 0 ]; then
		echo "not ok - $4 did not come to its end"
		count 0 1
	fi
	count "$1" "$2"
}

# a failure that no test line shows (a bad kernel message, a timeout)
count_status()
{
	local before=$1 status=$2 name=$3

	if [ "$status" -ne 0 ] && [ "$FAILED" -eq "$before" ]; then
		echo "not ok - $name (status $status)"
		count 0 1
	fi
}

### lanes

# lane NAME COMMAND...: in the background; a process group, so that it can be ended
lane()
{
	local name=$1 log=$BUILD/log/lane-$1

	shift
	mkdir -p "$BUILD/log"
	rm -f "$log.count"
	set -m
	(
		set +m
		trap - EXIT INT TERM
		exec 3>&1 > "$log.log" 2>&1 < /dev/null
		LANE=$name PASSED=0 FAILED=0
		"$@"
		times > "$log.times"
		echo "$PASSED $FAILED $(cpu_seconds < "$log.times")" > "$log.count"
	) &
	set +m
	LANES[$!]=$name
}

# of what "times" says of a shell and its children
cpu_seconds()
{
	tr 'ms' '  ' | awk '{ sum += 60 * ($1 + $3) + $2 + $4 } END { printf "%d\n", sum }'
}

# waits for all lanes; one that did not come to its end counts as failed
lanes_end()
{
	local pid name sums ended=()

	while [ ${#LANES[@]} -gt 0 ]; do
		wait -n -p pid "${!LANES[@]}" || true
		name=${LANES[$pid]}
		unset "LANES[$pid]"
		ended+=("$name")
		sums=$(cat "$BUILD/log/lane-$name.count" 2>/dev/null || echo "0 1 died")
		echo
		printf '[%4ds] ===== %s: %s =====\n' "$SECONDS" "$name" \
			"$(awk '{ print $1, "passed,", $2, "failed,", $3 == "died" ? $3 : $3 " s of CPU" }' <<< "$sums")"
		cat "$BUILD/log/lane-$name.log"
		# shellcheck disable=SC2086 # numbers
		count ${sums% *}
	done
	echo
	for name in "${ended[@]}"; do
		show_times "$name" "$BUILD/log/lane-$name.log"
	done
}

# shellcheck disable=SC2317 # a trap
lanes_kill()
{
	local pid

	for pid in "${!LANES[@]}"; do
		kill -- "-$pid" 2>/dev/null || true
	done
}

### what the lanes do

# the laboratory's arithmetic and reports, and what these scripts share
run_tools()
{
	local status=0

	python3 -B "$TOP/tools/bench/test_bench.py" || status=1
	"$TOP/selftests/rig/run.sh" | sed 's/, 0 skipped$//' || status=1
	return $status
}

run_unit()
{
	local log=$BUILD/log/unit.log before=$FAILED status=0

	say "unit tests"
	mkdir -p "$BUILD/log"
	make -s -C "$TOP/selftests/unit" run > "$log" 2>&1 || status=$?
	grep -E '^not ok|^# |passed,|error|ERROR' "$log" || [ $status -eq 0 ] || tail -n 20 "$log"
	run_tools > "$BUILD/log/tools.log" 2>&1 || { status=1; cat "$BUILD/log/tools.log"; }
	grep ' passed, ' "$BUILD/log/tools.log" >> "$log"
	count_log "$log" "unit tests"
	count_status "$before" $status "unit tests"
}

# run_host NAME COMMAND...: a test host or User-Mode Linux
run_host()
{
	local name=$1 before=$FAILED status=0

	shift
	say "$name: starting"
	"$@" || status=$?
	count_log "$BUILD/log/$name.tap" "$name"
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
	step "laboratory: results, plots and report" python3 -B "$TOP/tools/bench" check "$out" pps gso queues rr idle
	step "laboratory: a run does not differ from itself" same_results "$out"
}

same_results()
{
	"$TOP/scripts/bench.sh" compare "$1" "$1" | grep -E '^([0-9]+) of \1 rows: no difference'
}

# find_extras TEST...: what these net tests want beyond the usual: trees of VMMs,
# guests with other kernels. What cannot be had is left out, and its test says so.
find_extras()
{
	local name

	EXTRAS=()
	[ $# -gt 0 ] || set -- dpdk libvirt guests
	for name in dpdk libvirt; do
		[[ " $* " != *" $name "* ]] || ! "$TOP/scripts/mkvmm.sh" "$name" || EXTRAS+=(--tree "$BUILD/vmm-$name")
	done
	[[ " $* " != *" guests "* ]] || EXTRAS+=(--guests)
}

# run_vm SERIES NAME SCRIPT ARGUMENTS...
run_vm()
{
	local series=$1 name=$2 short='' EXTRAS=()

	shift 2
	[[ $1 == */uapi.sh ]] || find_extras "${@:2}"
	[ "$series" != 6.1 ] || short=1
	rm -f "$BUILD/log/$name.tap"
	run_host "$name" "$TOP/scripts/vm.sh" --kernel "$series" --name "$name" --timeout 2100 --env "SHORT=$short" \
		--env "BACKEND=${BACKEND:-kvnet}" --env "QEMU=${QEMU:-7.2}" --env "UAPI=${UAPI:-}" \
		--output "$BUILD/log/$name.tap" "${EXTRAS[@]}" -- "$@"
}

run_uml()
{
	local name=uapi-uml packed=1

	# a second time with packed rings, or, of tests by name, as the caller says
	[ $# -eq 0 ] || packed=${PACKED:-}
	rm -f "$BUILD/log/$name.tap"
	# shellcheck disable=SC2086 # a list of names
	run_host $name "$TOP/scripts/uml.sh" --name $name --timeout 1800 --env "BACKEND=${BACKEND:-kvnet}" \
		--env "PACKED=$packed" --env "KVNET_LAYOUT=${KVNET_LAYOUT:-}" \
		--output "$BUILD/log/$name.tap" -- "$TOP/scripts/vm/uapi.sh" "$@"
}

# run_uml_net TEST...: net tests with real guests. QEMU 7.2 cannot migrate a guest
# whose CPU it emulates, see test_migrate.sh.
run_uml_net()
{
	local name=net-uml

	if [ ! -x "$BUILD/qemu10/usr/bin/qemu-system-x86_64" ]; then
		echo "# SKIP $*: QEMU 10.0 cannot be had here"
		return
	fi
	rm -f "$BUILD/log/$name.tap"
	run_host $name "$TOP/scripts/uml.sh" --guest --name $name --timeout 1200 --env "BACKEND=${BACKEND:-kvnet}" \
		--env QEMU=10.0 --env MIGRATE_LOAD=50 --env "MIGRATE_CHAIN=${MIGRATE_CHAIN:-}" --env "MIGRATE_IOMMU=${MIGRATE_IOMMU:-}" \
		--output "$BUILD/log/$name.tap" -- "$TOP/selftests/net/run.sh" "$@"
}

# A copy of the checkout below /tmp, reached through a link: User-Mode Linux comes with
# it, and is not built again; the module is, with its headers.
try_moved_checkout()
{
	local dir=$1 build=$1/tree/build built

	mkdir -p "$build/uapi" "$dir/tree/selftests"
	ln -s tree "$dir/link"
	cp -a "$TOP"/{Kbuild,drivers,include,scripts} "$dir/tree/" || return
	cp -a "$TOP/selftests/net" "$dir/tree/selftests/" || return
	cp -a "$STAMPS" "$BUILD/uml" "$build/" && ln -s "$BUILD/uml-src" "$build/" || return
	cp "$BUILD/uapi/feature_test" "$build/uapi/" || return
	built=$(stat -c '%i %Y' "$build/uml/linux")
	env -u KVNET_BUILD "KVNET_DOWNLOADS=$DEBS" "$dir/link/scripts/build-module.sh" uml || return
	env -u KVNET_BUILD "KVNET_DOWNLOADS=$DEBS" "$dir/link/scripts/uml.sh" --name moved --timeout 120 \
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

run_uml_and_lab()
{
	step "User-Mode Linux runs from a checkout that was moved below /tmp" run_moved
	run_uml
	# shellcheck disable=SC2086 # a list of names
	run_uml_net $NET_UML
	run_lab
}

build_uapi()
{
	make -s -C "$TOP/selftests/uapi" OUTPUT="$BUILD/uapi" "$@"
}

build_module()
{
	step "kvnet.ko for $1 builds without a warning (W=1, sparse)" "$TOP/scripts/build-module.sh" --sparse "$1"
}

build_uml()
{
	step "User-Mode Linux is there" "$TOP/scripts/uml/build.sh" uml
	[ "$FAILED" -gt 0 ] || step "kvnet.ko for User-Mode Linux builds without a warning" "$TOP/scripts/build-module.sh" uml
	run_unit
}

build_for_hosts()
{
	local series

	say "kernels and QEMU of the test hosts"
	"$TOP/scripts/setup.sh"
	# two lanes use these later
	"$TOP/scripts/mkimage.sh" --guests
	for series in $SERIES_ALL; do
		build_module "$series"
	done
	step "uapi tests build" build_uapi
}

test_6.12()
{
	local file names

	read -ra names <<< "$NET_612"
	for file in "$TOP"/selftests/net/test_*.sh; do
		file=${file##*/test_}
		[[ " ${names[*]} $NET_61 $NET_UML " == *" ${file%.sh} "* ]] || names+=("${file%.sh}")
	done
	# shellcheck disable=SC2086 # a list of names
	UAPI=$UAPI_612 run_vm 6.12 test-6.12 "$TOP/scripts/vm/all.sh" "${names[@]}" $NET_PACKED
}

test_6.1()
{
	# shellcheck disable=SC2086 # a list of names
	UAPI=$UAPI_61 run_vm 6.1 test-6.1 "$TOP/scripts/vm/all.sh" $NET_61
}

test_both()
{
	test_6.12
	test_6.1
}

run_all()
{
	local free

	"$TOP/scripts/setup.sh" --packages-only
	lane uml-build build_uml
	lane builds build_for_hosts
	lanes_end

	# tests have deadlines: none runs beside a build
	make -s -C "$TOP/selftests/net" OUTPUT="$BUILD/net-tools"
	lane uml run_uml_and_lab
	free=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
	if [ "$free" -ge $LANES_MB ]; then
		lane test-6.12 test_6.12
		lane test-6.1 test_6.1
	else
		lane tests test_both
	fi
	lanes_end
}

run_one()
{
	local series=${KERNEL:-6.12}

	"$TOP/scripts/setup.sh" "$series"
	step "kvnet.ko for $series" "$TOP/scripts/build-module.sh" "$series"
	[ "$FAILED" -eq 0 ] || return 0
	if [ "$1" = uapi ]; then
		step "uapi tests build" build_uapi
		# shellcheck disable=SC2086 # a list of names
		run_vm "$series" "uapi-$series" "$TOP/scripts/vm/uapi.sh" ${TESTS:-}
	else
		# shellcheck disable=SC2086 # a list of names
		run_vm "$series" "net-$series" "$TOP/selftests/net/run.sh" ${TESTS:-}
	fi
}

run_one_uml()
{
	local name net=() uapi=()

	for name in ${TESTS:-}; do
		if [[ " $NET_UML " == *" ${name%:*} "* ]]; then
			net+=("$name")
		else
			uapi+=("$name")
		fi
	done
	# shellcheck disable=SC2206 # a list of names
	[ -n "${TESTS:-}" ] || net=($NET_UML)
	"$TOP/scripts/setup.sh" --packages-only
	step "kvnet.ko for User-Mode Linux" "$TOP/scripts/build-module.sh" uml
	[ "$FAILED" -eq 0 ] || return 0
	if [ -z "${TESTS:-}" ] || [ ${#uapi[@]} -gt 0 ]; then
		step "uapi tests build" build_uapi ${uapi[@]:+"TESTS=${uapi[*]}"}
		[ "$FAILED" -eq 0 ] || return 0
		run_uml "${uapi[@]}"
	fi
	[ ${#net[@]} -eq 0 ] || run_uml_net "${net[@]}"
}

main()
{
	trap lanes_kill EXIT
	trap 'exit 130' INT TERM
	case ${1:-all} in
	all) run_all ;;
	unit)
		"$TOP/scripts/setup.sh" --packages-only
		run_unit
		;;
	uml) run_one_uml ;;
	uapi | net) run_one "$1" ;;
	*) die "usage: test.sh all | unit | uml | uapi | net" ;;
	esac
	info "done"
	echo "$PASSED passed, $FAILED failed"
	[ "$FAILED" -eq 0 ]
}

main "$@"
