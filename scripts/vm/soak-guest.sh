#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# One of the guests of scripts/vm/soak.sh, in a network namespace and with a /tmp of its own:
# what the net tests do to a guest, over and over until it is told to stop. Its last line:
# "guest N (LAYOUT): R rounds, M migrations, B bytes with equal hashes, L lost, F failed".
export BACKEND=kvnet QEMU=10.0 SOAK=1
NUMBER=$1
[ $((NUMBER % 2)) -eq 0 ] || export LAYOUT=packed
DIR=/kvnet/selftests/net
# eight of them share two CPUs, which are emulated at times
export PATIENCE=10
# what each has to carry meanwhile, so that all get on
LOAD_IPERF='-b 4M' LOAD_PING='-i 0.02'
# shellcheck source=selftests/net/lib.sh
. $DIR/lib.sh
# shellcheck source=selftests/net/traffic.sh
. $DIR/traffic.sh
# shellcheck source=selftests/net/test_live.sh
. $DIR/test_live.sh
# shellcheck source=selftests/net/test_migrate.sh
. $DIR/test_migrate.sh

STREAM=$((1 << 20))
GUEST_MB=128
MIGRATE_LOAD=10
# More than some ten unsolicited frames a second leave the guest
# no time for anything else where an emulated SVM serves eight (11 ms a frame of four guests).
[ "${GUEST_ACCEL:-kvm}" != kvm ] || grep -q kvm-clock /sys/devices/system/clocksource/clocksource0/available_clocksource || MIGRATE_LOAD=2
OPTIONS=queue_reset=on
ROUNDS=0 MOVES=0 BYTES=0 LOST=0 FAILED=0
WHAT="streams guest_link_down_up streams monitor_link move streams resize_ring streams rebind_driver move pause_resume"

streams()
{
	streams_both_ways "$STREAM" || return
	BYTES=$((BYTES + 2 * STREAM))
}

# to the other side, with streams of blocks each way; one guest at a time, a guest that would have
# to wait carries streams instead. (What is compared page by page takes long:
# test_migrate.sh does that.)
move()
{
	local status

	# no lock of a file: QEMU would inherit it
	if ! mkdir $SHARED/moving 2> /dev/null; then
		streams
		return
	fi
	MIGRATE_COMPARE='' move_under_load
	status=$?
	rmdir $SHARED/moving
	[ $status -ne 0 ] || MOVES=$((MOVES + 1))
	return $status
}

move_under_load()
{
	flows_start || fail "no traffic" || return
	move_guest $BACKEND $QEMU || return
	wait_until 30 tap_moves || fail "no traffic on the destination" || return
	flows_stop && whole_flows
}

# every 5 s the guest's memory and what its sockets hold, for the evidence of a failed round
watch_memory()
{
	# shellcheck disable=SC2016 # for the guest's shell
	guest '(while sleep 5; do echo $(cut -d " " -f 1 /proc/uptime; head -n 2 /proc/meminfo; grep -E "^(TCP|UDP):" /proc/net/sockstat); done > /tmp/memory) 2> /dev/null < /dev/null &'
}

boot_once()
{
	migrate_boot && watch_memory
}

# the emulated SVM loses a guest now and then, whatever the backend
boot()
{
	boot_once && return
	guest_lost || return
	LOST=$((LOST + 1))
	guest_stop
	boot_once
}

# run_round WHAT: says what went wrong, and has a guest again afterwards
run_round()
{
	local log=/tmp/round.log

	[ -z "$(impossible "$1")" ] || return 0
	echo "$1, since $(uptime_now)" > "$SHARED/$NUMBER.now"
	case $1 in
	streams | move | pause_resume) "$1" ;;
	*) under_load "$1" ;;
	esac > $log 2>&1 && return
	if guest_lost; then
		LOST=$((LOST + 1))
		echo "# guest $NUMBER: the emulated SVM has lost it ($1)"
	else
		FAILED=$((FAILED + 1))
		echo "# guest $NUMBER, round $ROUNDS: $1 has failed"
		sed 's/^\(# \)\?/# /' $log | tail -n 20
		migrate_evidence
	fi
	migrate_clean
	boot
}

is_to_go()
{
	[ -e $SHARED/go ]
}

main()
{
	local what

	ip link set lo up
	if ! { bridge_create && boot; } > /tmp/boot.log 2>&1; then
		sed 's/^/# /' /tmp/boot.log | tail -n 20
		FAILED=1
	fi
	: > "$SHARED/$NUMBER.up"
	wait_until 1000 is_to_go
	# each begins elsewhere
	read -ra what <<< "$WHAT"
	while [ ! -e $SHARED/stop ] && [ $FAILED -lt 3 ]; do
		run_round "${what[(ROUNDS + NUMBER) % ${#what[@]}]}"
		ROUNDS=$((ROUNDS + 1))
		echo $ROUNDS > "$SHARED/$NUMBER.rounds"
	done
	migrate_clean
	bridge_delete
	echo "guest $NUMBER (${LAYOUT:-split}): $ROUNDS rounds, $MOVES migrations, $BYTES bytes with equal hashes, $LOST lost, $FAILED failed"
	: > "$SHARED/$NUMBER.ended"
}

main
