#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Repeats the evaluation of Ozaki and Nakao, "Analysis of Network I/O Performance
# in KVM", with kvnet where the paper proposes a device in the kernel, and shows its
# figures beside ours. See Documentation/paper.rst.
#
#   scripts/paper.sh              results in build/bench/<date-time>-paper/
#
#   REPEAT=3     repetitions: boots of the test host, in virtual time seeds (default 3)
#   QUICK=1      one repetition, three windows, three runs of Table 3
#   LANE=vtime   or kvm, emul (default: kvm where the CPU has virtualization, else vtime)
#   PARTS="hypercall exits windows question irqchip"     some of them (default all)
#   OUT=dir      where to put results
#
# Interrupted, it reports what it has by then.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

SERIES=6.12
ALL_PARTS="hypercall exits windows question irqchip"
RUN_TIMEOUT=${RUN_TIMEOUT:-1200}
STALL=${STALL:-120}
STOPPED=0

default_lane()
{
	if has_virtualization; then echo kvm; else echo vtime; fi
}

# the guest's module of Table 2
build_hypercall()
{
	local dir=$BUILD/hypercall

	mkdir -p "$dir"
	cp "$TOP"/tools/paper/hypercall/* "$dir/"
	make -s -C "$(kernel_headers $SERIES)" M="$dir" W=1 modules > "$dir/build.log" 2>&1 ||
		die "building the guest's module failed, see $dir/build.log"
	strip --strip-debug "$dir/hypercall.ko"
}

# Rows go to a file of this repetition at once, the rest to the log. A run that the
# rig has spoilt is repeated by vm.sh: its rows do not count.
take_rows()
{
	local line

	: > "$1"
	while IFS= read -r line; do
		case $line in
		'@progress '*) info "${line#@progress }" ;;
		'vm.sh: fault of the rig'*) : > "$1" ;;
		'@'*) echo "$line" >> "$1" ;;
		esac
		echo "$line" >> "$OUT/$LANE.log"
	done
}

# Table 3 needs many runs in one boot, not boots: once is enough
parts_wanted()
{
	local parts=${PARTS:-$ALL_PARTS}

	! grep -qs 'test=irqchip' "$OUT"/*.rows || parts=${parts//irqchip/}
	echo "$parts"
}

repetition()
{
	local options=() status

	case $LANE in
	vtime) options=(--qemu 7.2 --icount "$1") ;;
	kvm) options=(--accel kvm) ;;
	emul) options=(--accel tcg) ;;
	esac
	[ -z "${QUICK:-}" ] || options+=(--env "WINDOWS=4096 32768 262144" --env RUNS=3)
	set +e
	"$TOP/scripts/vm.sh" --name "paper-$LANE" --kernel $SERIES --timeout "$RUN_TIMEOUT" --stall "$STALL" "${options[@]}" \
		--add "$BUILD/hypercall/hypercall.ko" --env "LANE=$LANE" --env "REP=$1" --env "PARTS=$(parts_wanted)" \
		--env "QUICK=${QUICK:-}" -- "$TOP/scripts/vm/paper.sh" 2>&1 | take_rows "$OUT/$1.rows"
	status=${PIPESTATUS[0]}
	set -e
	return "$status"
}

# shellcheck disable=SC2317 # a trap
stop()
{
	STOPPED=1
	info "stopped: reporting what there is"
}

fact()
{
	echo "@fact lane=machine key=$1 value=$(tr -s ' \t' '_' <<< "$2")"
}

facts()
{
	fact commit "$(git -C "$TOP" describe --always --dirty --exclude '*' 2> /dev/null || echo unknown)"
	fact cpu "$(nproc) x $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | sed -n 1p)"
	fact load "$(cut -d' ' -f1-3 /proc/loadavg)"
}

report()
{
	cat "$OUT"/facts "$OUT"/*.rows > "$OUT/rows.txt"
	grep -q '^@bench ' "$OUT/rows.txt" || die "no rows: see $OUT/$LANE.log and build/log/paper-$LANE"
	bench_tool collect "$OUT" --meta "date=$(date -u +'%F %H:%M UTC')"
	bench_tool report "$OUT" --plan paper | tee "$OUT/report.txt"
	echo
	info "$OUT: report.html, report.txt, plots/, results.json, rows.txt"
}

main()
{
	local want number=0 good=0

	LANE=${LANE:-$(default_lane)}
	case $LANE in
	vtime | kvm | emul) ;;
	*) die "LANE must be vtime, kvm or emul" ;;
	esac
	want=${REPEAT:-$([ -n "${QUICK:-}" ] && echo 1 || echo 3)}
	[[ $want =~ ^[1-9][0-9]*$ ]] || die "REPEAT must be a number above 0"
	OUT=${OUT:-$BUILD/bench/$(date +%F-%H%M%S)-paper}
	mkdir -p "$OUT"
	"$TOP/scripts/setup.sh" $SERIES
	"$TOP/scripts/build-module.sh" $SERIES
	build_hypercall
	facts > "$OUT/facts"
	trap stop INT TERM
	while [ $good -lt "$want" ] && [ $number -lt $((2 * want)) ] && [ $STOPPED -eq 0 ]; do
		number=$((number + 1))
		info "lane $LANE, repetition $number: $good of $want are complete"
		if repetition $number; then
			good=$((good + 1))
		elif [ $STOPPED -eq 0 ]; then
			info "repetition $number is not complete: see $OUT/$LANE.log and build/log/paper-$LANE"
		fi
	done
	report
	[ $STOPPED -eq 1 ] || [ $good -eq "$want" ] || die "$good of $want repetitions are complete"
}

main "$@"
