#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The laboratory: measures kvnet beside vhost_net and others, in every lane that
# this machine can run, and writes a report. See Documentation/laboratory.rst.
#
#   scripts/bench.sh              measures; results in build/bench/<date-time>/
#   scripts/bench.sh compare A B  what changed between two results
#   scripts/bench.sh profile      where the worker's time goes (WORK="test=pps dir=rx size=64"),
#                                 or the sender's (TASK=sender)
#
#   LANE="native vtime"   lanes (native, native2, icount, smp, vtime, kvm, emul; default: native,
#                         icount, smp, and kvm where the CPU has virtualization, else vtime)
#   ONLY="pps rr"         tests, by name or glob (default all)
#   REPEAT=9              repetitions, in virtual time seeds (default: icount 2, smp 15,
#                         others 5)
#   BACKENDS="kvnet ..."  these only, such as kvnet-packed (scripts/vm/native-backends.sh,
#                         in a guest's lane scripts/vm/bench-guest.sh)
#   QUICK=1               one small case of each test: does the laboratory work?
#   MOST=20               lanes native, native2: repetitions of a test that cannot tell 5 % before (four
#                         times REPEAT)
#   OUT=dir               where to put results
#   PLAN=bench            which report (tools/bench/plan_*.py)
#
# What has been measured when it is interrupted is kept, and reported.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

ONLY=${ONLY:-}
QUICK=${QUICK:-}
PLAN=${PLAN:-bench}
export BENCH_MS=${BENCH_MS:-40}
# of virtual time, in which the median of few slices is exact
ICOUNT_MS=40
SMP_MS=100
FAILED_LANES=''
STOPPED=0
LANES_KNOWN="native native2 icount smp vtime kvm emul"
# what may follow the name of a backend: scripts/vm/native-backends.sh
BACKEND_KINDS='packed|inorder|user|woken|still|each|uncounted|vectorized|twin|slowed'
BACKENDS_KNOWN="^((kvnet|vhost_net|floor)(-($BACKEND_KINDS))*|qemu|qemu-noioeventfd|e1000|rtl8139)\$"

default_lanes()
{
	echo native icount smp
	if has_virtualization; then echo kvm; else echo vtime; fi
}

### rows

# find_left "step 3 of 12: ...": a guess, from the steps since the boot's first
find_left()
{
	local step all

	LEFT=''
	[[ $1 =~ ^step\ ([0-9]+)\ of\ ([0-9]+): ]] || return 0
	step=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
	[ -n "${STEP_FIRST:-}" ] || { STEP_FIRST=$step STEP_BEGIN=$SECONDS; }
	[ $((step - STEP_FIRST)) -lt 2 ] ||
		LEFT=" (about $((((SECONDS - STEP_BEGIN) * (all - step + 1) / (step - STEP_FIRST) + 59) / 60)) min left)"
}

# One line that changes, on a terminal; else what is new, twice a minute
progress()
{
	if [ -t 1 ]; then
		printf '\r\033[K[%4ds] %.100s' "$SECONDS" "$1"
	elif [ $((SECONDS - ${SHOWN:--60})) -ge 30 ]; then
		SHOWN=$SECONDS
		info "$1"
	fi
}

# takes the rows out of what a lane says; the rest goes to its log. What is built or
# fetched first says so in lines that begin with seconds, as all scripts do.
take_rows()
{
	local line

	while IFS= read -r line; do
		case $line in
		'@bench '* | '@fact '* | '@note '*) echo "$line" >> "$OUT/rows.txt" ;;
		'@progress '*)
			find_left "${line#@progress }"
			progress "${line#@progress }$LEFT"
			;;
		'['*'s] '*) SHOWN=-60 progress "${line#*s] }" ;;
		esac
		echo "$line" >> "$OUT/$1.log"
	done
	[ ! -t 1 ] || printf '\r\033[K'
}

# the end of what a lane said, but for its rows
show_failure()
{
	info "lane $1 failed; the end of $OUT/$1.log:"
	grep -v -E '^#?@(bench|counter|fact|note|progress) ' "$OUT/$1.log" | tail -n 15 || true
}

# what may stand in a value
word()
{
	tr -s ' \t' '_' <<< "$*"
}

fact()
{
	echo "@fact lane=$1 key=$2 value=$(word "${@:3}")" >> "$OUT/rows.txt"
}

commit()
{
	git -C "$TOP" describe --always --dirty --exclude '*' 2>/dev/null || echo unknown
}

cpu_name()
{
	sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | sed -n 1p
}

facts()
{
	fact machine commit "$(commit)"
	fact machine cpu "$(nproc) x $(cpu_name)"
	fact machine kernel "$(uname -r)"
	fact machine compiler "$(gcc -dumpfullversion)"
	fact machine load-before "$(cut -d' ' -f1-3 /proc/loadavg)"
}

### lanes

lane_native()
{
	local status

	info "lane native: User-Mode Linux, a process is the guest"
	set +e
	"$TOP/scripts/native.sh" 2>&1 | take_rows native
	status=${PIPESTATUS[0]}
	set -e
	cp "$BUILD/uml-fast/.config" "$OUT/native.config" 2> /dev/null || true
	return "$status"
}

# The same with two CPUs, which are two of the machine's
lane_native2()
{
	local status

	info "lane native2: User-Mode Linux with two CPUs, a process is the guest"
	set +e
	UML=smp "$TOP/scripts/native.sh" 2>&1 | take_rows native2
	status=${PIPESTATUS[0]}
	set -e
	cp "$BUILD/uml-smp/.config" "$OUT/native2.config" 2> /dev/null || true
	return "$status"
}

# guest_repetition LANE NUMBER ALL DONE: one boot of a test host, with a real guest or, where
# instructions are counted, with a process that is the guest
guest_repetition()
{
	local lane=$1 name=bench-$1 rows=$BUILD/log/bench-$1.rows script=bench-guest.sh options=() status

	case $lane in
	icount)
		script=native.sh
		# vm.sh has an instruction take 2 ns
		options=(--icount "$2" --smp 1 --timeout 1800 "${PROCESS_GUEST[@]}" --env REPEAT=1 --env "FIRST=$2" --env "REPEATS=$3" --env "BEFORE=$4"
			--env "BENCH_MS=$ICOUNT_MS" --env BENCH_NS_PER_INSTRUCTION=2)
		;;
	vtime) options=(--qemu 7.2 --icount "$2") ;;
	kvm) options=(--accel kvm) ;;
	emul) options=(--accel tcg) ;;
	esac
	rm -f "$rows"
	set +e
	"$TOP/scripts/vm.sh" --name "$name" --timeout "${BENCH_GUEST_TIMEOUT:-900}" --stall "${BENCH_GUEST_STALL:-120}" \
		"${options[@]}" "${BENCH_GUEST_OPTIONS[@]}" --env "LANE=$lane" --env "REP=$2" --env "ONLY=$ONLY" \
		--env "QUICK=$QUICK" --env "BACKENDS=${BACKENDS:-}" --output "$rows" -- "$TOP/scripts/vm/$script" 2>&1 |
		sed -u '/^@progress /!s/^@/#&/' | take_rows "$lane"
	status=${PIPESTATUS[0]}
	set -e
	[ "$status" -eq 0 ] || return "$status"
	# once it is complete: an attempt that the rig spoilt leaves no rows
	take_rows "$lane" < "$rows"
}

# is the test to be run? ONLY: patterns of names
wanted()
{
	local glob globs

	read -ra globs <<< "$ONLY"
	[ ${#globs[@]} -gt 0 ] || return 0
	for glob in "${globs[@]}"; do
		# shellcheck disable=SC2053 # a pattern
		[[ $1 != $glob ]] || return 0
	done
	return 1
}

# what the test "layout" boots
newest_guest()
{
	local dir=$BUILD/guest-newest

	"$TOP/scripts/setup.sh" --guests && "$TOP/scripts/mkimage.sh" --guests && [ -f "$dir/kernel" ] ||
		{ info "no newest kernel for the guest: no row in order"; return 0; }
	BENCH_GUEST_OPTIONS+=(--add "$dir:/kvnet/guests/newest")
}

# In virtual time a seed can stall before the guest boots: then the next.
lane_guest()
{
	local lane=$1 want=${REPEAT:-} good=0 number=0 BENCH_GUEST_OPTIONS=()

	[ "$lane" != icount ] || want=${want:-2}
	want=${want:-${BENCH_GUEST_SEEDS:-5}}
	"$TOP/scripts/setup.sh" 6.12
	"$TOP/scripts/build-module.sh" 6.12
	if [ "$lane" = icount ]; then
		prepare_process_guest
	elif wanted layout; then
		newest_guest
	fi
	while [ $good -lt "$want" ] && [ $number -lt $((3 * want)) ] && [ $STOPPED -eq 0 ]; do
		number=$((number + 1))
		info "lane $lane: $([[ " icount vtime " == *" $lane "* ]] && echo seed || echo repetition) $number ($good of $want are there)"
		if guest_repetition "$lane" $number "$want" $good; then
			good=$((good + 1))
		else
			info "lane $lane: $number gave no result (build/log/bench-$lane, $OUT/$lane.log); going on"
		fi
	done
	[ $good -gt 0 ]
}

# what native.sh needs of a test host
prepare_process_guest()
{
	"$TOP/scripts/setup.sh" 6.12
	"$TOP/scripts/build-module.sh" 6.12
	"$TOP/scripts/build-module.sh" --floor 6.12
	make -s -C "$TOP/selftests/perf" OUTPUT="$BUILD/perf" "$BUILD/perf/lab"
	PROCESS_GUEST=(--add "$BUILD/perf/lab" --add "$BUILD/floor-6.12/kvnet_floor.ko")
	[ -z "$QUICK" ] || return 0
	"$TOP/scripts/build-module.sh" --uncounted 6.12
	PROCESS_GUEST+=(--add "$BUILD/uncounted-6.12/drivers/kvnet/kvnet_uncounted.ko")
}

# Two CPUs, in real time: one boot, in which backends take turns as in lane native. Slices
# are longer, since emulated CPUs are slow and their turns on this machine's are long.
lane_smp()
{
	local status

	prepare_process_guest
	set +e
	"$TOP/scripts/vm.sh" --name bench-smp --smp 2 --timeout $((300 + 120 * ${REPEAT:-15})) "${PROCESS_GUEST[@]}" \
		--env LANE=smp --env "REPEAT=${REPEAT:-15}" --env "ONLY=$ONLY" --env "QUICK=$QUICK" --env "BACKENDS=${BACKENDS:-}" \
		--env "BENCH_MS=$SMP_MS" -- "$TOP/scripts/vm/native.sh" 2>&1 | take_rows smp
	status=${PIPESTATUS[0]}
	set -e
	return "$status"
}

run_lane()
{
	case $1 in
	native | native2) lane_$1 ;;
	smp) lane_smp ;;
	icount | vtime | kvm | emul) lane_guest "$1" ;;
	esac
}

# tests_known: of all lanes
tests_known()
{
	{
		echo boot
		grep -ohE 'test=[a-z0-9_]+' "$TOP"/scripts/vm/native*.sh | sed 's/test=//'
		sed -n 's/^test_\([a-z]*\)()$/\1/p' "$TOP"/scripts/vm/bench-guest*.sh
	} | sort -u
}

# any_is PATTERN NAME...
any_is()
{
	local pattern=$1 name

	shift
	for name; do
		# shellcheck disable=SC2053 # a pattern
		[[ $name != $pattern ]] || return 0
	done
	return 1
}

# a name that is wrong is said at once, and not when all has been built
check_names()
{
	local name known globs

	for name in ${LANE:-}; do
		[[ " $LANES_KNOWN " == *" $name "* ]] || die "unknown lane '$name'; known: $LANES_KNOWN"
	done
	for name in ${BACKENDS:-}; do
		[[ $name =~ $BACKENDS_KNOWN ]] || die "unknown backend '$name'; known: kvnet, vhost_net and floor, also with -$BACKEND_KINDS; qemu qemu-noioeventfd e1000 rtl8139"
	done
	readarray -t known < <(tests_known)
	read -ra globs <<< "$ONLY"
	for name in "${globs[@]}"; do
		any_is "$name" "${known[@]}" || die "no test '$name'; known: ${known[*]}"
	done
}

### verbs

# shellcheck disable=SC2317 # a trap
stop()
{
	STOPPED=1
	echo
	info "stopped: reporting what there is"
}

report()
{
	if ! grep -q '^@bench ' "$OUT/rows.txt"; then
		info "no rows: no report; see $OUT/*.log"
		return 1
	fi
	bench_tool collect "$OUT" --meta "date=$(date -u +'%F %H:%M UTC')" --meta "commit=$(commit)" \
		--meta "machine=$(nproc) x $(cpu_name)"
	bench_tool report "$OUT" --plan "$PLAN" | tee "$OUT/report.txt"
	echo
	info "$OUT: report.html, report.txt, plots/, results.json, rows.txt"
}

run()
{
	local lane

	OUT=${OUT:-$BUILD/bench/$(date +%F-%H%M%S)}
	[[ ${REPEAT:-1} =~ ^[1-9][0-9]*$ ]] || die "REPEAT must be a number above 0"
	check_names
	mkdir -p "$OUT"
	rm -f "$OUT"/*.log
	: > "$OUT/rows.txt"
	"$TOP/scripts/setup.sh" --packages-only
	facts
	trap stop INT TERM
	for lane in ${LANE:-$(default_lanes)}; do
		[ $STOPPED -eq 0 ] || break
		run_lane "$lane" || { FAILED_LANES="$FAILED_LANES $lane"; show_failure "$lane"; }
	done
	fact machine load-after "$(cut -d' ' -f1-3 /proc/loadavg)"
	[ $STOPPED -eq 0 ] || fact machine interrupted "after $SECONDS seconds"
	report || FAILED_LANES="$FAILED_LANES report"
	[ -z "$FAILED_LANES" ] || [ $STOPPED -eq 1 ] || die "failed:$FAILED_LANES; see $OUT/*.log"
}

main()
{
	case ${1:-run} in
	run) run ;;
	compare)
		[ -n "${2:-}" ] && [ -n "${3:-}" ] || die "usage: make bench-compare A=<results> B=<results>, directories or results.json"
		bench_tool compare "$2" "$3"
		;;
	profile) "$TOP/scripts/profile.sh" ;;
	*) die "usage: bench.sh [run | compare A B | profile]" ;;
	esac
}

main "$@"
