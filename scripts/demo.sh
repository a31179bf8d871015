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
declare -A JOBS=()	# the test hosts that run: process to output

# step TITLE SECONDS COMMAND...: what it says only on failure; SECONDS are those of a machine with
# two CPUs that has nothing
step()
{
	watch_begin "$1" "$2"
	"${@:3}" > "$OUT/step.log" 2>&1 < /dev/null || { cat "$OUT/step.log" >&2; die "stopped at: $1"; }
	watch_end
	info "$1: done"
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

# start_host NUMBER: of the test hosts; in virtual time its seed. A process group of its own, so
# that ^C ends all of it.
start_host()
{
	local options=(--name "demo-$1" --mem "$HOST_MB" --timeout 500 --env "REP=$1" --env "LANE=$LANE")

	if [ $LANE = vtime ]; then
		options+=(--qemu 7.2 --icount "$1" --retries 0 --stall "$(patience)" --env PINGS=300 --env "TCP=-n $TCP_BYTES" --env "UDP=-n $UDP_BYTES")
	else
		options+=(--accel kvm --stall 60 --env PINGS=500 --env "ROUNDS=$SAMPLES")
	fi
	set -m
	"$TOP/scripts/vm.sh" "${options[@]}" -- "$TOP/tools/bench/inside/demo.py" > "$OUT/$1.out" 2>&1 < /dev/null &
	set +m
	JOBS[$!]=$OUT/$1.out
}

# shellcheck disable=SC2317 # a trap
end_hosts()
{
	local pid

	for pid in "${!JOBS[@]}"; do
		kill -- "-$pid" 2> /dev/null || true
	done
}

units_done()
{
	cat "$OUT"/*.out | awk -v boot=$UNITS_BOOT '/^@up/ { n += boot } /^@row/ { n++ } END { print n + 0 }'
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

# host_ended OUTPUT STATUS: one that does not come up, or falls silent, is the rig's fault: then
# another seed. All else is a failure.
host_ended()
{
	if [ "$2" -eq 0 ]; then
		mv "$1" "${1%.out}.good.out"
	elif [ $LANE = kvm ] && ! has_virtualization; then
		info "no test host with hardware virtualization boots here ($BUILD/log/probe): in virtual time, then; to try again: rm $CACHE/accel"
		rm "$1"
		choose_lane
	elif [ $LANE = vtime ] && { [ "$2" -eq 124 ] || [ "$2" -eq 125 ]; }; then
		info "seed $(basename "$1" .out) gave no result, which can happen in virtual time: another one"
		rm "$1"
	else
		grep -v '^@' "$1" | tail -n 15 >&2
		die "the test host failed ($2); see $BUILD/log/demo-*"
	fi
}

run_hosts()
{
	local next=1 good=0 pid output status

	watch_begin "test hosts" "$UNITS" units_done
	while [ "$good" -lt "$WANT" ]; do
		while [ ${#JOBS[@]} -lt "$LANES" ] && [ $((good + ${#JOBS[@]})) -lt "$WANT" ]; do
			[ $next -le $((2 * WANT)) ] || die "too many test hosts gave no result; see $BUILD/log/demo-*"
			start_host $next
			next=$((next + 1))
		done
		status=0
		wait -n -p pid "${!JOBS[@]}" || status=$?
		output=${JOBS[$pid]}
		unset "JOBS[$pid]"
		host_ended "$output" $status
		good=$(find "$OUT" -name '*.good.out' | wc -l)
	done
	watch_end
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
	trap end_hosts EXIT
	trap 'exit 130' INT TERM
	rm -rf "$OUT"
	mkdir -p "$OUT"
	info "demo: a guest on kvnet, on vhost_net and on QEMU itself, in a VM; nothing is loaded on this machine"
	step "packages" 20 "$TOP/scripts/setup.sh" --packages-only
	step "kernel and QEMU, downloaded and unpacked" 30 "$TOP/scripts/setup.sh" 6.12
	step "images of the test host and its guest" 10 "$TOP/scripts/mkimage.sh" 6.12
	step "kvnet.ko and test programs" 10 build_programs
	run_hosts
	show_proof
	show_table
	show_next
	echo
	info "demo: done"
}

main "$@"
