#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The demonstration: from nothing to a table that compares kvnet with in-tree
# vhost_net and QEMU's own virtio-net, for a guest in a test host in a VM.
#
# With hardware virtualization one test host measures in real time, in rounds. Where
# the CPU is emulated, time says nothing: there several test hosts count instructions,
# one for each seed, as many at a time as there are CPUs and memory for. A seed gives
# the same figures whatever else the machine does; what another seed gives is the spread.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

SAMPLES=${SAMPLES:-6}	# seeds or rounds
TCP_BYTES=192M		# of a row in virtual time
UDP_BYTES=$((16000 * 64))
HOST_MB=1536		# memory of a test host
UNITS_BOOT=8		# what a boot takes, in rows of a round
UNITS_ROUND=15
OUT=$BUILD/log/demo
# what the steps take on a machine with two CPUs that has nothing, in seconds
EXPECTED=(20 30 10 10 175)
TITLES=("packages" "kernel and QEMU, downloaded and unpacked" "images of the test host and its guest"
	"kvnet.ko and test programs" "test hosts")

STEP=0
SHOWN=0
declare -A JOBS=()

### steps and progress

units_done()
{
	cat "$OUT"/*.out 2> /dev/null | awk -v boot=$UNITS_BOOT '/^@up/ { n += boot } /^@row/ { n++ } END { print n + 0 }'
}

# what this step still takes: by what is done of its units, or as expected
rest_of_step()
{
	local spent=$((SECONDS - STEP_BEGAN)) expected=${EXPECTED[STEP - 1]} ready

	if [ $STEP -eq ${#TITLES[@]} ]; then
		ready=$(units_done)
		[ "$ready" -le $((UNITS / 10)) ] || expected=$((spent * UNITS / ready))
	fi
	echo $((expected > spent ? expected - spent : 1))
}

rest()
{
	local sum i

	sum=$(rest_of_step)
	for ((i = STEP; i < ${#TITLES[@]}; i++)); do
		sum=$((sum + EXPECTED[i]))
	done
	if [ $sum -ge 60 ]; then
		echo "about $((sum / 60)) min $((sum % 60 / 10 * 10)) s to go"
	else
		echo "about $(((sum + 4) / 5 * 5)) s to go"
	fi
}

# One line that changes, on a terminal; else a line every five seconds.
progress()
{
	local text="step $STEP of ${#TITLES[@]}: ${TITLES[STEP - 1]}" last=''

	if [ $STEP -eq ${#TITLES[@]} ]; then
		text="$text, $((100 * $(units_done) / UNITS)) %"
	else
		last=$(sed -n '$s/^\[ *[0-9]*s\] //p' "$OUT/step.log")
	fi
	text="$text; $(rest)${last:+ ($last)}"
	if [ -t 1 ]; then
		printf '\r\033[K[%4ds] %.*s' "$SECONDS" $((${COLUMNS:-80} - 8)) "$text"
	elif [ $((SECONDS - SHOWN)) -ge 5 ]; then
		SHOWN=$SECONDS
		info "$text"
	fi
}

progress_end()
{
	[ ! -t 1 ] || printf '\r\033[K'
}

# the next of TITLES; all but the last end with the command that is given
step()
{
	local pid

	STEP=$((STEP + 1))
	STEP_BEGAN=$SECONDS SHOWN=-5
	: > "$OUT/step.log"
	[ $# -gt 0 ] || return 0
	start_job "$OUT/step.log" "$@"
	while [ ${#JOBS[@]} -gt 0 ]; do
		progress
		reap_job 1 || continue
		[ "$STATUS" -eq 0 ] || { progress_end; cat "$OUT/step.log" >&2; die "stopped at: ${TITLES[STEP - 1]}"; }
	done
	progress_end
	[ $((SECONDS - STEP_BEGAN)) -lt 2 ] || info "step $STEP of ${#TITLES[@]}: ${TITLES[STEP - 1]}: done"
}

### jobs: each a process group of its own, so that ^C ends them

# start_job LOG COMMAND...
start_job()
{
	local log=$1

	shift
	set -m
	"$@" > "$log" 2>&1 < /dev/null &
	set +m
	JOBS[$!]=$log
}

# reap_job SECONDS: waits so long for one to end; sets STATUS and LOG
reap_job()
{
	local pid

	sleep "$1"
	for pid in "${!JOBS[@]}"; do
		! kill -0 "$pid" 2> /dev/null || continue
		STATUS=0
		wait "$pid" || STATUS=$?
		LOG=${JOBS[$pid]}
		unset "JOBS[$pid]"
		return 0
	done
	return 1
}

# shellcheck disable=SC2317 # a trap
end_jobs()
{
	local pid

	for pid in "${!JOBS[@]}"; do
		kill -- "-$pid" 2> /dev/null || true
	done
}

### test hosts

build_programs()
{
	"$TOP/scripts/build-module.sh" 6.12 &&
		make -s -C "$TOP/selftests/net" OUTPUT="$BUILD/net-tools" &&
		make -s -C "$TOP/selftests/perf" OUTPUT="$BUILD/net-tools" "$BUILD/net-tools/rr"
}

# how long a healthy test host may be silent: longer on a busy machine
patience()
{
	echo $((90 + 40 * $(cut -d. -f1 /proc/loadavg) / $(nproc)))
}

# host NUMBER: of the test hosts; in virtual time its seed
host()
{
	local options=(--name "demo-$1" --mem "$HOST_MB" --timeout 500 --env "REP=$1" --env "LANE=$LANE")

	if [ $LANE = vtime ]; then
		options+=(--qemu 7.2 --icount "$1" --retries 0 --stall "$(patience)" --env PINGS=300 --env "TCP=-n $TCP_BYTES" --env "UDP=-n $UDP_BYTES")
	else
		options+=(--accel kvm --stall 60 --env PINGS=500 --env "ROUNDS=$SAMPLES")
	fi
	start_job "$OUT/$1.out" "$TOP/scripts/vm.sh" "${options[@]}" -- "$TOP/scripts/vm/demo.sh"
}

# how many test hosts at a time
room()
{
	local cpus memory

	cpus=$(nproc)
	memory=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
	memory=$((memory / (HOST_MB + 256)))
	echo $((memory < 1 ? 1 : memory < cpus ? memory : cpus))
}

# in real time where it can be, see vm.sh for what it finds out
choose_lane()
{
	LANE=vtime WANT=$SAMPLES LANES=$(room) UNITS=$((SAMPLES * (2 * UNITS_BOOT + UNITS_ROUND)))
	! has_virtualization || LANE=kvm WANT=1 LANES=1 UNITS=$((2 * UNITS_BOOT + SAMPLES * UNITS_ROUND))
}

# One that does not come up, or falls silent, is the rig's fault: then another seed.
# All else is a failure.
host_ended()
{
	progress_end
	if [ "$STATUS" -eq 0 ]; then
		mv "$LOG" "${LOG%.out}.good.out"
		return
	fi
	if [ $LANE = kvm ] && ! has_virtualization; then
		info "no test host with hardware virtualization boots here ($BUILD/log/probe): in virtual time, then; to try again: rm $CACHE/accel"
		rm "$LOG"
		choose_lane
		return
	fi
	if [ $LANE != vtime ] || { [ "$STATUS" -ne 124 ] && [ "$STATUS" -ne 125 ]; }; then
		grep -v '^@' "$LOG" | tail -n 15 >&2
		die "the test host failed ($STATUS); see $BUILD/log/demo-*"
	fi
	info "seed $(basename "$LOG" .out) gave no result, which can happen in virtual time: another one"
	rm "$LOG"
}

run_hosts()
{
	local next=1 good=0

	step
	while [ $good -lt "$WANT" ]; do
		while [ ${#JOBS[@]} -lt "$LANES" ] && [ $((good + ${#JOBS[@]})) -lt "$WANT" ]; do
			[ $next -le $((2 * WANT)) ] || die "too many test hosts gave no result; see $BUILD/log/demo-*"
			host $next
			next=$((next + 1))
		done
		progress
		if reap_job 1; then
			host_ended
			good=$(find "$OUT" -name '*.good.out' | wc -l)
		fi
	done
	progress_end
}

### the result

# of the first test host: in virtual time all have been checked, and count alike
show_proof()
{
	local file

	for file in "$OUT"/*.good.out; do
		echo
		sed -n 's/^@proof //p' "$file"
		return
	done
}

show_table()
{
	echo
	if [ $LANE = vtime ]; then
		echo "One guest with three network devices. Median and range of $SAMPLES seeds in virtual time: the CPU is emulated, and"
		echo "instructions are counted instead of seconds. So it shows the length of the path; compare, do not take as absolute."
	else
		echo "One guest with three network devices, on nested KVM. Median and range of $SAMPLES rounds."
	fi
	echo
	cat "$OUT"/*.good.out | awk -f "$TOP/scripts/table.awk"
	echo
	echo "even: the ranges overlap, this run shows no difference. Above 1 kvnet is faster."
}

show_next()
{
	echo
	echo "By hand:  scripts/vm.sh --shell, then: . /kvnet/selftests/net/lib.sh; guest_need; ping -c 3 10.9.0.2; kvnet_counters; exit"
	echo "Read:     README.md, then Documentation/datapath.rst (how it works), vmms.rst (QEMU, libvirt, DPDK), limits.rst"
	echo "Install:  apt install linux-headers-\$(uname -r) && make && make install && modprobe kvnet     (on a host with KVM)"
}

main()
{
	choose_lane
	trap end_jobs EXIT
	trap 'exit 130' INT TERM
	rm -rf "$OUT"
	mkdir -p "$OUT"
	info "demo: a guest on kvnet, on vhost_net and on QEMU itself, in a VM; nothing is loaded on this machine"
	step "$TOP/scripts/setup.sh" --packages-only
	step "$TOP/scripts/setup.sh" 6.12
	step "$TOP/scripts/mkimage.sh" 6.12
	step build_programs
	run_hosts
	show_proof
	show_table
	show_next
	echo
	info "demo: done"
}

main "$@"
