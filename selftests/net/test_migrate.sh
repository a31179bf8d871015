#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Description: a guest moves from one backend to another, under traffic.
#
#   host 10.9.0.1 (bridge mig) --- mig-a <-> QEMU a
#                               \- mig-b <-> QEMU b
#
# What a backend writes into the guest's memory is migrated only if the backend
# logs it, so the blocks of memsum must still lie where the backend wrote them
# when the source stops: its UDP receiver sleeps during all of the migration, its
# TCP receiver leaves the last 2 MiB unread. Both read the rest on the destination.
#
# And before the guest goes on, all of its memory is compared with the source's.
#
#   MIGRATE_CHAIN="vhost/7.2 vhost/7.2 kvnet/10.0/postcopy"   from the first to the
#   second, and so on; default: to vhost_net and back; packed rings, which vhost_net
#   has not, to kvnet, and once more with post-copy: there the guest, and the backend,
#   go on before most of the memory has come
#   MIGRATE_LOAD=50     percent of the usual traffic, where the host is slow
#   MIGRATE_COMPARE=    (empty) the guest goes on at once, to see what that costs;
#   otherwise losses and gap include the time that the guest is held for comparison
#
# @hosts: uml
declare -F run_test > /dev/null || exec bash "${0%/*}/run.sh" "${0##*/}"

MIGRATE_SOCKET=/tmp/migrate.sock
UDP_BLOCKS=5201
TCP_BLOCKS=5202
HOST_BLOCKS=5203
GUEST_MB=256
MIGRATE_COMPARE=${MIGRATE_COMPARE-yes}
MIGRATE_LOAD=${MIGRATE_LOAD:-100}
# numbers of processes, for the end of a test that has failed
PINGER='' UDP_SENDER='' TCP_SENDER='' HOST_RECEIVER=''

# the guest of lib.sh is from now on the one on side a or b
use_side()
{
	SIDE=$1
	GUEST=/tmp/guest-$1
	TAP=mig-$1
}

other_side()
{
	[ "$SIDE" = a ] && echo b || echo a
}

# name_of BACKEND/QEMU[/postcopy]
name_of()
{
	local backend qemu way

	IFS=/ read -r backend qemu way <<< "$1"
	[ "$backend" != vhost ] || backend=vhost_net
	echo "$backend (QEMU $qemu${way:+, $way})"
}

bridge_create()
{
	local side

	ip link add mig type bridge || return
	ip addr add $HOST_IP/24 dev mig || return
	ip link set mig up || return
	for side in a b; do
		tap_create mig-$side && ip link set mig-$side master mig || return
	done
}

bridge_delete()
{
	tap_delete mig-a
	tap_delete mig-b
	tap_delete mig
}

### traffic

# in_guest NAME COMMAND: in the guest, its number in /tmp/NAME.pid
in_guest()
{
	guest "$2 > /tmp/$1 2>&1 & echo \$! > /tmp/$1.pid"
}

flows_start()
{
	in_guest udp "memsum recv udp $UDP_BLOCKS 8 0" &&
		in_guest tcp "memsum recv tcp $TCP_BLOCKS 16 2048" || return
	memsum recv tcp $HOST_BLOCKS 1 0 > /tmp/host-tcp 2>&1 &
	HOST_RECEIVER=$!
	wait_until 30 listens host $HOST_BLOCKS tcp &&
		wait_until 30 listens guest $TCP_BLOCKS tcp &&
		in_guest sender "memsum send tcp $HOST_IP $HOST_BLOCKS $((8 * MIGRATE_LOAD))" || return
	memsum send udp $GUEST_IP $UDP_BLOCKS $((4 * MIGRATE_LOAD)) > /tmp/host-udp-sender 2>&1 &
	UDP_SENDER=$!
	memsum send tcp $GUEST_IP $TCP_BLOCKS $((15 * MIGRATE_LOAD)) > /tmp/host-tcp-sender 2>&1 &
	TCP_SENDER=$!
	ping -D -i "$(printf '%d.%03d' $((1 / MIGRATE_LOAD)) $((1000 / MIGRATE_LOAD % 1000)))" $GUEST_IP > /tmp/ping 2>&1 &
	PINGER=$!
	wait_until 30 tap_moves
}

# ends all flows: each sender first, then its receiver
flows_stop()
{
	kill -INT "$PINGER"
	kill $UDP_SENDER $TCP_SENDER
	# shellcheck disable=SC2016 # for the guest's shell
	guest 'kill $(cat /tmp/sender.pid); kill -CONT $(cat /tmp/udp.pid); kill $(cat /tmp/udp.pid)' || return
	wait $PINGER
	wait $UDP_SENDER $TCP_SENDER || fail "a sender: $(cat /tmp/host-*-sender)" || return
	wait_until 60 guest 'cat /tmp/udp /tmp/tcp | grep -c received | grep -q 2' ||
		fail "the guest's receivers do not end" || return
	wait $HOST_RECEIVER
	guest 'cat /tmp/sender' > /tmp/sender
	guest 'cat /tmp/udp' > /tmp/udp
	guest 'cat /tmp/tcp' > /tmp/tcp
}

blocks()
{
	sed -n "s/.*$1 \([0-9]*\).*/\1/p" "/tmp/$2"
}

# whole_flow SENDER RECEIVER: nothing wrong; over TCP also nothing missing
whole_flow()
{
	echo "$1: $(cat "/tmp/$1"); $2: $(cat "/tmp/$2")"
	grep -q ', wrong 0, stale 0, damaged in memory 0$' "/tmp/$2" ||
		fail "$2: wrong blocks: $(cat "/tmp/$2")" || return
	[ "$(blocks received "$2")" -gt 0 ] || fail "$2: nothing came" || return
	[ "$2" = udp ] || [ "$(blocks sent "$1")" = "$(blocks received "$2")" ] ||
		fail "$2: blocks are missing"
}

whole_flows()
{
	local status=0

	whole_flow host-udp-sender udp || status=1
	whole_flow host-tcp-sender tcp || status=1
	whole_flow sender host-tcp || status=1
	return $status
}

# what a socket of the guest holds unread, in KiB of its buffer
guest_waiting()
{
	guest cat "/proc/net/$1" | awk -v port="$(printf ':%04X' "$2")" '
		$2 ~ port "$" && ($4 == "01" || $4 == "07") { split($5, queue, ":"); print queue[2] }' | {
		read -r size
		echo $((0x$size / 1024))
	}
}

# "LOST of SENT, longest gap between answers in ms"
ping_summary()
{
	sed -n 's/^\[\([0-9.]*\)\].*icmp_seq=\([0-9]*\).*/\1 \2/p' /tmp/ping | awk '
		NR > 1 && $1 - last > gap { gap = $1 - last }
		$2 > top { top = $2 }
		{ last = $1 }
		END { printf "%d of %d, %d ms", top - NR, top, gap * 1000 }'
}

### migration

# what a query has answered: a number of it, or 0
field()
{
	jq "$2 // 0" <<< "$1"
}

# migration_is STATUS...: one of these
migration_is()
{
	[[ " $* " == *" $(qmp query-migrate | jq -r .status) "* ]]
}

# set_bandwidth BYTES-PER-SECOND: slow enough for some rounds under traffic
set_bandwidth()
{
	qmp migrate-set-parameters max-bandwidth="$1" downtime-limit=200
}

# Where an emulated CPU writes memory faster than a busy host sends it, only a longer
# stop ends a migration; the report has it, as the downtime.
migration_end()
{
	wait_until $((45 / PATIENCE)) migration_is completed failed cancelled && return
	qmp migrate-set-parameters downtime-limit=10000
	wait_until 120 migration_is completed failed cancelled
}

# A machine that both QEMUs know, with its memory in a file. init_on_alloc=0: a
# page that the guest clears just before the backend writes it would be logged for
# that reason. no-kvmclock: KVM writes that clock to the memory of the destination.
migrate_launch()
{
	# shellcheck disable=SC2086 # one word or none
	GUEST_MEM=$GUEST_MB GUEST_MACHINE=pc-q35-7.2,memory-backend=ram \
		GUEST_APPEND="init_on_alloc=0 no-kvmclock" guest_launch $OPTIONS -- \
		-object "memory-backend-file,id=ram,size=${GUEST_MB}M,mem-path=$GUEST/ram,share=on" "$@"
}

migrate_boot()
{
	use_side a
	migrate_launch && guest_wait_up && guest_reachable 30 || return
	# Room, in pages, for what comes during a migration; but where that takes long, no
	# more than lets the guest live: it would kill a receiver, and reset its connection.
	# Both receivers' memory, and 12 MiB of the stream, come on top.
	# shellcheck disable=SC2016 # for the guest's shell
	guest 'n=$(awk "/^MemFree/ { print int((\$2 - 36 * 1024) / 10) }" /proc/meminfo); echo $n $n $n > /proc/sys/net/ipv4/udp_mem' || return
	guest "$(trace_resets)" || true
}

qemu_answers()
{
	qmp query-status > /dev/null 2>&1
}

# launch_destination [postcopy]
launch_destination()
{
	rm -f $MIGRATE_SOCKET
	migrate_launch ${MIGRATE_COMPARE:+-S} -incoming defer && wait_until 30 qemu_answers || return
	[ -z "${1:-}" ] || postcopy_allow || return
	qmp migrate-incoming uri="unix:$MIGRATE_SOCKET" &&
		wait_until 30 test -S $MIGRATE_SOCKET || fail "no destination: $(cat $GUEST/qemu.log)"
}

# both sides; slow enough for traffic meanwhile
postcopy_allow()
{
	qmp migrate-set-capabilities 'capabilities=[{"capability":"postcopy-ram","state":true}]' &&
		qmp migrate-set-parameters max-postcopy-bandwidth=15000000
}

# once some of the memory has gone the usual way, the rest goes when it is asked for
postcopy_start()
{
	wait_until 30 sending && qmp migrate-start-postcopy && wait_until 30 migration_is postcopy-active completed
}

# not over before it has begun, and the destination waited for a page
postcopy_was()
{
	[ "$(field "$RESULT" '.ram["postcopy-requests"]')" -gt 0 ] || fail "no page was asked for: $RESULT"
}

is_paused()
{
	[ "$(qmp query-status | jq -r .status)" = paused ]
}

# Neither side runs: a page that differs was written on the source and missing in the dirty log.
same_memory()
{
	local start

	start=$(uptime_now)
	wait_until 30 is_paused || fail "the destination does not wait: $(qmp query-status)" || return
	python3 -ISB "$NET_DIR/ramcmp.py" /tmp/guest-"$(other_side)"/ram $GUEST/ram > /tmp/ramcmp 2>&1 ||
		fail "source and destination differ: $(cat /tmp/ramcmp)" || return
	qmp cont || return
	HELD=$(took "$start")
}

# move_guest BACKEND QEMU [postcopy]: to the other side, which uses these
move_guest()
{
	local from=$SIDE to way=${3:-}

	to=$(other_side)
	use_side "$to"
	BACKEND=$1 QEMU=$2 launch_destination "$way" || return
	use_side "$from"
	[ -z "$way" ] || postcopy_allow || return
	set_bandwidth 40000000 && qmp migrate uri="unix:$MIGRATE_SOCKET" || return
	[ -z "$way" ] || postcopy_start || return
	migration_end
	RESULT=$(qmp query-migrate)
	[ "$(jq -r .status <<< "$RESULT")" = completed ] ||
		fail "$RESULT $(cat /tmp/guest-"$to"/qemu.log)" || return
	use_side "$to"
	[ -z "$MIGRATE_COMPARE" ] || same_memory || return
	wait_until 90 guest -t 5 true ||
		fail "the guest does not go on: $(qmp query-status) $(cat $GUEST/qemu.log) $(tail -n 5 $GUEST/console)" || return
	use_side "$from"
	guest_stop
	use_side "$to"
}

report_move()
{
	local lost sent

	sent=$(blocks sent host-udp-sender)
	lost=$((sent - $(blocks received udp)))
	echo "# migrate: $1: downtime $(field "$RESULT" .downtime) ms," \
		"ping lost $(ping_summary), udp lost $lost of $sent," \
		"rounds $(field "$RESULT" '.ram["dirty-sync-count"]'), total $(field "$RESULT" '.["total-time"]') ms," \
		"unread at switch-over: udp $2 KiB, tcp $3 KiB, guest's memory free: $4 KiB" ${HELD:+"held for $HELD s"} \
		${n_inline:+"received inline on the destination by then: $n_inline of $(kvnet_counter rx.packets) in the end,"} \
		${way:+"pages that had to be asked for: $(field "$RESULT" '.ram["postcopy-requests"]')"}
}

# is an answer to the guest, or a request, received inline?
single_frame_inline()
{
	local before

	before=$(kvnet_counter rx.polls_inline) && ping -q -c 5 -i 0.02 $GUEST_IP > /dev/null &&
		[ "$(kvnet_counter rx.polls_inline)" -gt "$before" ]
}

# check_rx_inline BACKEND WHEN: of kvnet's, if that is not switched off
check_rx_inline()
{
	[ "$1" = kvnet ] && [ "$(< /sys/module/kvnet/parameters/rx_inline)" = Y ] || return 0
	wait_until 30 single_frame_inline || fail "no frame is received inline $2: $(kvnet_counters | grep inline)"
}

# migrate FROM TO: BACKEND/QEMU each; the guest runs on FROM already
migrate()
{
	local udp tcp free backend qemu way n_inline='' HELD='' MIGRATE_COMPARE=$MIGRATE_COMPARE

	IFS=/ read -r backend qemu way <<< "$2"
	check_rx_inline "${1%%/*}" "on the source" || return
	# the guest is to run before all of its memory is there
	[ "$way" != postcopy ] || MIGRATE_COMPARE=''

	flows_start || fail "no traffic" || return
	# shellcheck disable=SC2016 # for the guest's shell
	guest 'kill -STOP $(cat /tmp/udp.pid)'
	move_guest "$backend" "$qemu" "$way" || return
	udp=$(guest_waiting udp $UDP_BLOCKS)
	tcp=$(guest_waiting tcp $TCP_BLOCKS)
	free=$(guest grep MemFree /proc/meminfo | tr -dc 0-9)
	wait_until 30 tap_moves || fail "no traffic on the destination" || return
	[ "$backend" != kvnet ] || n_inline=$(kvnet_counter rx.polls_inline)
	flows_stop || return
	check_rx_inline "$backend" "on the destination" || return
	report_move "$(name_of "$1") -> $(name_of "$2")" "$udp" "$tcp" "$free"
	whole_flows || return
	[ "$udp" -ge 1000 ] && [ "$tcp" -ge 1000 ] || fail "too little was unread" || return
	if [ "$way" = postcopy ]; then
		postcopy_was
	else
		[ "$(field "$RESULT" '.ram["dirty-sync-count"]')" -ge 3 ] || fail "too few rounds: $RESULT"
	fi
}

# for host and guest: memory, connections, and why one was reset
evidence_of()
{
	cat <<- 'EOF'
	head -n 3 /proc/meminfo; cat /proc/net/sockstat /proc/net/tcp;
	awk 'h[$1] { split(h[$1], n); for (i = 2; i <= NF; i++) if ($i + 0 && n[i] ~ /Abort|Rst|Reset|Fail|Memory|Prune|Drop|Retrans|Err/)
		printf "%s%s %s ", $1, n[i], $i } { h[$1] = $0 } END { print "" }' /proc/net/netstat /proc/net/snmp;
	grep reset: /sys/kernel/tracing/trace | tail -n 5;
	dmesg | grep -iE 'out of memory|oom-|segfault|allocation failure|TCP: .*(memory|flood)' | tail -n 5;
	dmesg | sed -n '/Mem-Info/,/Out of memory/p' | tail -n 50;
	[ ! -e /tmp/memory ] || tail -n 24 /tmp/memory;
	for file in udp tcp sender host-tcp host-tcp-sender; do [ ! -s /tmp/$file ] || tail -n 3 /tmp/$file; done
	EOF
}

# the kernel traces each reset of a connection, newer kernels with the reason
trace_resets()
{
	echo 'mount -t tracefs tracefs /sys/kernel/tracing; cd /sys/kernel/tracing/events/tcp && echo 1 | tee tcp_send_reset/enable > tcp_receive_reset/enable'
}

# all that is known at the end of a step that has failed
migrate_evidence()
{
	local side fd

	{
		echo "--- the host's end"
		bash -c "$(evidence_of)"
		echo "--- the guest's end, now on side $SIDE"
		guest -t 20 "$(evidence_of)"
		for side in a b; do
			[ ! -s /tmp/guest-$side/console ] || { echo "--- console of side $side"; tail -n 15 /tmp/guest-$side/console; }
			[ ! -s /tmp/guest-$side/qemu.log ] || { echo "--- QEMU of side $side"; tail -n 5 /tmp/guest-$side/qemu.log; }
		done
		for fd in /proc/[0-9]*/fd/*; do
			[ "$(readlink "$fd")" != /dev/kvnet ] || { echo "--- $fd"; grep -vE '\s0$' "${fd/\/fd\//\/fdinfo\/}"; }
		done
	} 2>&1 | sed 's/^/# /'
}

# the guest was reset, or does not answer on its console any more; says so
guest_died()
{
	local now

	! is_paused || return
	now=$(guest -t 10 cat /proc/sys/kernel/random/boot_id)
	[ "$now" != "$BOOT_ID" ] || return
	echo "# the guest died; the end of its console:"
	tail -n 30 $GUEST/console | sed 's/^/# /'
}

# as migrate, and tells a guest that died from other failures
migrate_alive()
{
	BOOT_ID=$(guest cat /proc/sys/kernel/random/boot_id)
	migrate "$@" && return
	guest_died
	return 1
}

sending()
{
	[ "$(field "$(qmp query-migrate)" .ram.transferred)" -gt 2000000 ]
}

# the log goes on and off under traffic
cancel()
{
	flows_start || fail "no traffic" || return
	set_bandwidth 3000000 || return
	for _ in 1 2 3; do
		qmp migrate uri="exec:cat > /dev/null" || return
		wait_until 30 sending || fail "no migration" || return
		qmp migrate_cancel || return
		wait_until 30 migration_is cancelled || fail "not cancelled" || return
		wait_until 30 tap_moves || fail "no traffic after a cancelled migration" || return
	done
	flows_stop && whole_flows
}

# whatever a failed test has left
migrate_clean()
{
	kill -KILL "$PINGER" "$UDP_SENDER" "$TCP_SENDER" "$HOST_RECEIVER" 2>/dev/null
	use_side a
	guest_stop
	use_side b
	guest_stop
	rm -f /tmp/guest-[ab]/ram
}

# migrate_chain NAME BACKEND/QEMU...: one guest, moved from each to the next
migrate_chain()
{
	local name=$1 from=$2 to

	shift 2
	run_test "$name: the guest boots on $(name_of "$from")" migrate_boot || return
	# the log itself does not depend on the layout of the rings
	[ "${LAYOUT:-}" = packed ] || run_test "$name: started and cancelled three times" cancel || return
	for to; do
		if ! run_test "$name: $(name_of "$from") to $(name_of "$to")" migrate_alive "$from" "$to"; then
			migrate_evidence
			return 1
		fi
		from=$to
	done
}

migrate_plain()
{
	local chain="$BACKEND/$QEMU vhost/$QEMU $BACKEND/$QEMU"

	# vhost_net has no packed rings
	if [ "${LAYOUT:-}" = packed ]; then
		chain="$BACKEND/$QEMU $BACKEND/$QEMU $BACKEND/$QEMU/postcopy"
	elif [ "$BACKEND" = vhost ]; then
		chain="$BACKEND/$QEMU $BACKEND/$QEMU"
	fi
	# shellcheck disable=SC2086 # a list
	migrate_chain migrate ${MIGRATE_CHAIN:-$chain}
}

migrate_main()
{
	local GUEST=$GUEST TAP=$TAP OPTIONS=queue_reset=on

	guest_stop
	tap_delete $TAP
	load_backend && modprobe -a vhost_net bridge
	if [ "$BACKEND" = off ] || ! backend_offers $LOG_ALL; then
		skip migrate "backend $BACKEND does not offer VHOST_F_LOG_ALL"
		return
	fi
	# vhost_net of 6.1 has none, and a feature cannot be lost on the way
	[[ $(uname -r) != 6.1.* ]] || OPTIONS=queue_reset=off
	# fixed in 9.0: physmem: Fix migration dirty bitmap coherency with TCG memory access
	if [ "${GUEST_ACCEL:-kvm}" != kvm ] && [ "$QEMU" = 7.2 ]; then
		skip migrate "QEMU 7.2 loses what an emulated CPU writes during a migration"
		return
	fi
	bash -c "$(trace_resets)" 2> /dev/null
	run_test "migrate: bridge_with_two_taps_is_made" bridge_create
	migrate_plain
	migrate_clean
	bridge_delete
}

# scripts/vm/soak-guest.sh moves its guests by itself
[ -n "${SOAK:-}" ] || migrate_main
