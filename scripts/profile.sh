#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Where the time goes: perf looks from outside at User-Mode Linux while kvnet and
# vhost_net do the same work, and names the costliest functions of each, at the end
# side by side.
#
#   scripts/profile.sh
#
#   LANE=icount                      count instructions in a test host instead: exact, and the
#                                    same each time (vm/count.c)
#   LANE=native2                     User-Mode Linux with two CPUs
#   TASK=sender                      not the worker, but the task that puts frames into the tap
#   WORK="test=pps dir=rx size=64"   what to do (parameters of selftests/perf)
#   BACKENDS="kvnet vhost_net"       of scripts/vm/native-backends.sh, such as kvnet-packed
#   PROFILE_MS=8000                  for how long, each
#   TOP_N=10                         how many functions to name
#
# Only the workers' samples count: those on kernel stacks on which what workers alone run was
# seen, or else on the one with most of the backend's own code; of the sender, most of
# tun_net_xmit(). That kernel is a process for this machine, hence ":u".
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

WORK=${WORK:-test=pps dir=tx size=64}
PROFILE_MS=${PROFILE_MS:-8000}
BACKENDS=${BACKENDS:-kvnet vhost_net}
TASK=${TASK:-worker}
RATE=4999
FLAVOUR=fast
[ "${LANE:-}" != native2 ] || FLAVOUR=smp

# perf_begin BACKEND
perf_begin()
{
	local pid

	pid=$(cat "/tmp/kvnet-$UML_PID/pid") || die "where is User-Mode Linux?"
	perf record -q -e cpu-clock:u -F $RATE --user-regs=sp -p "$pid" -o "$OUT/$1.data" > "$OUT/$1.log" 2>&1 &
	PERF_PID=$!
}

perf_end()
{
	kill -INT "$PERF_PID" 2>/dev/null || true
	wait "$PERF_PID" 2>/dev/null || true
	PERF_PID=''
	[ -s "$OUT/$1.data" ] || die "perf recorded nothing: $(tail -n 3 "$OUT/$1.log")"
	perf script -i "$OUT/$1.data" -F ip,sym,uregs 2>> "$OUT/$1.log" > "$OUT/$1.samples" ||
		die "perf cannot read what it recorded; see $OUT/$1.log"
	info "$1: $(wc -l < "$OUT/$1.samples") samples"
}

# the script inside says where modules are, and when it begins and ends
follow()
{
	local line

	while IFS= read -r line; do
		case $line in
		'@begin '*) perf_begin "${line#@begin }" ;;
		'@end '*) perf_end "${line#@end }" ;;
		'@symbol '*) echo "${line#@symbol }" >> "$OUT/symbols" ;;
		'@bench '*) echo "$line" >> "$OUT/rows.txt" ;;
		*) echo "$line" >> "$OUT/profile.log" ;;
		esac
	done
}

# one boot in virtual time; an instruction takes 2 ns of it
count()
{
	info "instructions of: $WORK"
	"$TOP/scripts/setup.sh" 6.12
	"$TOP/scripts/build-module.sh" 6.12
	make -s -C "$TOP/selftests/perf" OUTPUT="$BUILD/perf" "$BUILD/perf/lab"
	"$TOP/scripts/vm.sh" --name profile-icount --icount "${SEED:-1}" --count "$OUT/counts" --smp 1 --stall 300 \
		--add "$BUILD/perf/lab" --env LANE=icount --env "WORK=$WORK" --env "BACKENDS=$BACKENDS" --env BENCH_MS=40 \
		--env BENCH_NS_PER_INSTRUCTION=2 --output "$OUT/profile.log" -- "$TOP/scripts/vm/profile.sh" > /dev/null ||
		die "the run failed: $(grep -v '^@symbols' "$OUT/profile.log" | tail -n 5)"
	sed -n 's/^@symbols //p' "$OUT/profile.log" | base64 -d | gzip -d > "$OUT/symbols"
	grep '^@bench ' "$OUT/profile.log" > "$OUT/rows.txt"
}

show()
{
	# shellcheck disable=SC2086 # words
	python3 -B "$TOP/tools/bench/profile_top.py" "$OUT" "$BUILD/uml-$FLAVOUR/linux" "${TOP_N:-10}" "$TASK" $BACKENDS | tee "$OUT/profile.txt"
}

main()
{
	local pipe

	OUT=${OUT:-$BUILD/bench/profile-$(date +%F-%H%M%S)}
	mkdir -p "$OUT"
	if [ "${LANE:-}" = icount ]; then
		count
		show
		info "$OUT: profile.txt, counts"
		return
	fi
	"$TOP/scripts/setup.sh" --perf
	: > "$OUT/symbols"
	nice "$TOP/scripts/uml/build.sh" uml-$FLAVOUR
	"$TOP/scripts/build-module.sh" uml-$FLAVOUR
	make -s -C "$TOP/selftests/perf" OUTPUT="$BUILD/perf"
	info "profile of: $WORK"
	pipe=$OUT/pipe
	mkfifo "$pipe"
	"$TOP/scripts/uml.sh" --$FLAVOUR --mem 1024 --name profile --timeout 600 --add "$BUILD/perf/lab" \
		--env "WORK=$WORK" --env "PROFILE_MS=$PROFILE_MS" --env "BACKENDS=$BACKENDS" -- "$TOP/scripts/vm/profile.sh" > "$pipe" 2>&1 &
	UML_PID=$!
	follow < "$pipe"
	rm -f "$pipe"
	wait $UML_PID || die "the run failed: $(tail -n 5 "$OUT/profile.log")"
	show
	info "$OUT: profile.txt, *.samples"
}

main "$@"
