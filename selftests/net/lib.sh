# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For scripts that run in the test host as root: taps, guests, and talking to
# them. One guest at a time, "the guest"; its files are under $GUEST.
#
#   BACKEND   kvnet (default), vhost (in-tree vhost_net) or off (QEMU's own)
#   QEMU      7.2 (default) or 10.0
#   GUEST_ACCEL   kvm (default), or what else QEMU's -accel takes
#   PATIENCE  how many times longer than on a good machine something may take (default 3)
#   SHORT     without what "make test" has run elsewhere
#
# A test may set GUEST_SMP, GUEST_MEM, GUEST_CPU, GUEST_MACHINE, GUEST_APPEND (more
# words for its kernel), GUEST_KERNEL and GUEST_CPIO (files), and GUEST_FIRST, an
# array: devices that QEMU must know before all others, and GUEST_NIC (rtl8139,
# with BACKEND=off). It unsets them at its end. With GUEST_MACHINE=pc a guest that
# runs gets another network device in place of a boot, see guest_need.
#
#   host 10.9.0.1 (tap0)  <---- backend under test ---->  guest 10.9.0.2 (eth0)

NET_DIR=${BASH_SOURCE[0]%/*}
BACKEND=${BACKEND:-kvnet}
QEMU=${QEMU:-7.2}
DEVICE=/dev/kvnet
TAP=tap0
HOST_IP=10.9.0.1
GUEST_IP=10.9.0.2
GUEST=/tmp/guest
GUEST_MAC=52:54:00:12:34:56
BOOT_DEADLINE=${BOOT_DEADLINE:-120}
PATIENCE=${PATIENCE:-3}
GUEST_FIRST=()
# The guest kernel's command line. All but the first words save an emulated CPU some work:
# above all the search for devices on 255 empty buses, which takes 8000 exits to QEMU.
GUEST_WORDS="console=ttyS0 panic=-1 quiet mitigations=off tsc=reliable no_timer_check pci=lastbus=0"
GUEST_WORDS="$GUEST_WORDS apparmor=0 cryptomgr.notests 8250.nr_uarts=1 i8042.noaux"

marker()
{
	echo "<5>kvnet-test: $*" > /dev/kmsg
}

fail()
{
	echo "# $*"
	return 1
}

# seconds since boot, with hundredths
uptime_now()
{
	cut -d' ' -f1 /proc/uptime
}

# wait_until SECONDS COMMAND...: poll for a condition
wait_until()
{
	local deadline=$((SECONDS + $1 * PATIENCE))

	shift
	until "$@" > /dev/null 2>&1; do
		[ $SECONDS -lt $deadline ] || return 1
		sleep 0.05
	done
}

### modules and taps

kvnet_loaded()
{
	[ -d /sys/module/kvnet ]
}

load_kvnet()
{
	modprobe -a tun tap || return
	# shellcheck disable=SC2086 # a list of words
	kvnet_loaded || insmod /kvnet/kvnet.ko ${KVNET_PARAMS:-} || return
	wait_until 5 test -c $DEVICE
}

load_backend()
{
	modprobe tun || return
	case $BACKEND in
	kvnet) load_kvnet ;;
	vhost) modprobe vhost_net ;;
	off) ;;
	*) fail "unknown BACKEND '$BACKEND'" ;;
	esac
}

# the module's reference count
kvnet_users()
{
	cat /sys/module/kvnet/refcnt
}

# no process has its device open
kvnet_unused()
{
	[ "$(kvnet_users)" -eq 0 ]
}

# a persistent tap; more arguments go to "ip tuntap"
tap_create()
{
	local name=$1

	shift
	ip tuntap add dev "$name" mode tap vnet_hdr "$@" || return
	if [ "$name" = $TAP ]; then
		ip addr add $HOST_IP/24 dev "$name" || return
	fi
	ip link set "$name" up
}

tap_delete()
{
	ip link del "$1" 2>/dev/null
}

### the guest's life

guest_pid()
{
	cat $GUEST/pid 2>/dev/null
}

guest_running()
{
	local pid

	pid=$(guest_pid)
	[ -n "$pid" ] && [ -d "/proc/$pid/task" ] && ! grep -q '^State:.Z' "/proc/$pid/status"
}

netdev_argument()
{
	local arg="tap,id=net0,ifname=$TAP,script=no,downscript=no"

	case $BACKEND in
	kvnet) echo "$arg,vhost=on,vhostfd=9" ;;
	vhost) echo "$arg,vhost=on" ;;
	off) echo "$arg,vhost=off" ;;
	esac
}

# sets QEMU_COMMAND: the QEMU under test, and what each guest has besides its machine and its
# network device: GUEST_FIRST, a console, a monitor for qmp and a serial device for guest
set_qemu_command()
{
	local dir=/opt/qemu-$QEMU

	QEMU_COMMAND=("$dir/bin/qemu-system-x86_64" -L "$dir/share" -name "guest,debug-threads=on"
		-nodefaults -no-user-config -display none -serial "file:$GUEST/console" "${GUEST_FIRST[@]}"
		-qmp "unix:$GUEST/qmp,server=on,wait=off" -chardev "pipe,id=control,path=$GUEST/control"
		-device virtio-serial-pci -device "virtserialport,chardev=control,name=control")
}

# guest_exec DEVICE-OPTIONS QEMU-ARGUMENTS...: becomes QEMU, which inherits the backend's
# device as descriptor 9
guest_exec()
{
	local options=$1

	shift
	[ "${LAYOUT:-}" != packed ] || options=,packed=on$options
	[ "$BACKEND" != kvnet ] || exec 9<> $DEVICE
	set_qemu_command
	exec "${QEMU_COMMAND[@]}" -accel "${GUEST_ACCEL:-kvm}" -cpu "${GUEST_CPU:-max}" -smp "${GUEST_SMP:-1}" \
		-m "${GUEST_MEM:-256}" -M "${GUEST_MACHINE:-q35}" -kernel "${GUEST_KERNEL:-/guest-kernel}" \
		-initrd $GUEST/initrd -append "$GUEST_WORDS ${GUEST_APPEND:-}" \
		-netdev "${GUEST_NETDEV:-$(netdev_argument)}" \
		-device "${GUEST_NIC:-virtio-net-pci},id=nic0,romfile=,netdev=net0,mac=$GUEST_MAC$options" "$@"
}

prepare_guest_files()
{
	rm -rf $GUEST
	mkdir -p $GUEST
	mkfifo $GUEST/control.in $GUEST/control.out || return
	cat "${GUEST_CPIO:-/guest.cpio}" /kvnet/guest-overlay.cpio > $GUEST/initrd
}

# launch CONFIGURATION COMMAND...: the command becomes QEMU
launch()
{
	prepare_guest_files || return
	("${@:2}") > $GUEST/qemu.log 2>&1 < /dev/null &
	echo $! > $GUEST/pid
	echo "$1" > $GUEST/config
}

guest_configuration()
{
	echo "$BACKEND $QEMU ${LAYOUT:-} ${GUEST_NIC:-} ${GUEST_MACHINE:-} ${GUEST_SMP:-1} ${GUEST_KERNEL:-} ${GUEST_APPEND:-} ${GUEST_FIRST[*]}|$1"
}

# guest_start [,device-option]... [-- qemu arguments]: boots and waits for it
guest_start()
{
	guest_boot guest_launch "$@"
}

# guest_boot COMMAND...: which launches a guest
guest_boot()
{
	once_more_if_lost launch_and_wait "$@"
}

launch_and_wait()
{
	"$@" && guest_wait_up
}

# once_more_if_lost COMMAND...: which fails when the test host has lost the guest
once_more_if_lost()
{
	"$@" && return
	guest_lost || return 1
	echo "# the emulated SVM has lost the guest: once more"
	guest_stop
	"$@"
}

# In rare cases the emulated SVM loses a guest's registers, with any backend and with none: it
# saves the test host's registers at VMRUN in their place. Then a virtual CPU stays within
# kvm_amd, with the address of a VMCB in RAX.
guest_lost()
{
	local base size register rax=0 at

	[ "${VM_ACCEL:-}" = tcg ] && guest_running && [ -S $GUEST/qmp ] || return
	# or it reports an injected event that no guest had, with an address in its error code
	! grep -q 'KVM internal error. Suberror: 3' $GUEST/qemu.log || return 0
	read -r base size < <(awk '$1 == "kvm_amd" { print $6, $2 }' /proc/modules)
	[ -n "$base" ] || return
	for register in $(hmp info registers -a | grep -oE 'R(AX|IP)=[0-9a-f]{16}'); do
		at=$((16#${register#*=}))
		case $register in
		RAX=*) rax=$at ;;
		*) [ $((at - base)) -lt 0 ] || [ $((at - base)) -ge "$size" ] || [ "$rax" -eq 0 ] || [ $((rax & 4095)) -ne 0 ] || return 0 ;;
		esac
	done
	return 1
}

# guest_launch [,device-option]... [-- qemu arguments]: does not wait, as for "-incoming defer"
guest_launch()
{
	local options=''

	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		options=$options,${1#,}
		shift
	done
	[ $# -eq 0 ] || shift
	launch "$(guest_configuration "$options")" guest_exec "$options" "$@"
}

# wrapped_launch PAIRS DEVICE-OPTIONS: in place of guest_launch, a guest with two processors, or
# GUEST_SMP; tools/qemu-kvnet opens what is needed, as for a user
wrapped_launch()
{
	launch "wrapped $*" wrapped_exec "$@"
}

wrapped_exec()
{
	set_qemu_command
	exec bash /kvnet/tools/qemu-kvnet --queues "$1" --device "$(backend_node)" --nic "romfile=,mac=$GUEST_MAC$2" \
		"${QEMU_COMMAND[@]}" -accel kvm -cpu max -smp "${GUEST_SMP:-2}" -m 256 -M q35 \
		-kernel /guest-kernel -initrd $GUEST/initrd -append "$GUEST_WORDS ${GUEST_APPEND:-}"
}

# guest_need [device options]: as guest_start, but keeps a good guest that has
# just this configuration, or all of it but the device options where those can be
# changed; so that many tests share one boot
guest_need()
{
	local options='' option config=''

	for option; do
		options=$options,${option#,}
	done
	! guest_running || config=$(cat $GUEST/config)
	if [ "$config" = "$(guest_configuration "$options")" ] && guest_reachable 2; then
		return
	fi
	if [ "${GUEST_MACHINE:-}" = pc ] && [ "${config%|*}|" = "$(guest_configuration '')" ]; then
		guest_replug "$options" && return
		echo "# QEMU said: $(cat $GUEST/qemu.log)"
		tail -n 5 $GUEST/console | sed 's/^/# /'
		guest_lost || { guest_stop; return 1; }
		echo "# the emulated SVM has lost the guest: once more"
	fi
	guest_stop
	load_backend || return
	[ -e /sys/class/net/$TAP ] || tap_create $TAP || return
	guest_start "$@" && guest_reachable 30
}

nic_unplugged()
{
	qmp qom-list path=/machine/peripheral | jq -e 'all(.name != "nic0")'
}

# one that is lost answers nothing
guest_has_nic()
{
	local start=$SECONDS

	until guest -t 5 test -e /sys/class/net/eth0 2> /dev/null; do
		[ $((SECONDS - start)) -lt $((30 * PATIENCE)) ] || return 1
		[ $((SECONDS - start)) -lt 20 ] || ! guest_lost || return 1
	done
}

# guest_replug DEVICE-OPTIONS: QEMU takes the network device away, which the guest
# has to agree to, and gives it another on the same backend
guest_replug()
{
	local device="${GUEST_NIC:-virtio-net-pci},id=nic0,romfile=,netdev=net0,mac=$GUEST_MAC" said

	[ "${LAYOUT:-}" != packed ] || device=$device,packed=on
	qmp device_del id=nic0 || return
	wait_until 30 nic_unplugged || fail "the guest does not let its network device go" || return
	said=$(hmp "device_add $device$1") && [ -z "$said" ] || fail "device_add: $said" || return
	guest_configuration "$1" > $GUEST/config
	guest_has_nic || fail "the guest has no new network device" || return
	guest -t 30 "ip addr add $GUEST_IP/24 dev eth0; ip link set eth0 up" && guest_reachable 30
}

guest_wait_up()
{
	local start=$SECONDS

	until guest -t 2 true 2>/dev/null; do
		if ! guest_running || [ $((SECONDS - start)) -ge $((BOOT_DEADLINE * PATIENCE)) ] || { [ $((SECONDS - start)) -gt 40 ] && guest_lost; }; then
			echo "# the guest does not come up; QEMU said: $(cat $GUEST/qemu.log)"
			tail -n 5 $GUEST/console | sed 's/^/# /'
			return 1
		fi
	done
}

guest_gone()
{
	! guest_running
}

guest_signal()
{
	local pid

	pid=$(guest_pid)
	[ -n "$pid" ] || return 0
	kill "-$1" "$pid" 2>/dev/null
	wait_until 30 guest_gone
}

guest_stop()
{
	[ -e $GUEST/pid ] || return 0
	guest_signal TERM || guest_signal KILL
	wait "$(guest_pid)" 2>/dev/null
	rm -f $GUEST/pid
}

### talking to the guest

# guest [-t SECONDS] COMMAND: run by the guest's shell, over virtio-serial and
# so without the network under test; prints its output, returns its status
guest()
{
	local limit=$((60 * PATIENCE)) id=$RANDOM$RANDOM line in out status=124 deadline

	if [ "$1" = -t ]; then
		limit=$2
		shift 2
	fi
	command=$*
	deadline=$((SECONDS + limit + 1))
	exec {in}<> $GUEST/control.in {out}<> $GUEST/control.out
	echo "$id ${command//$'\n'/ }" >&"$in"
	while [ $SECONDS -lt $deadline ] && IFS= read -r -t "$limit" line <&"$out"; do
		if [[ $line == *@@$id\ * ]]; then
			status=${line##*@@"$id" }
			[ -z "${line%@@*}" ] || echo "${line%@@*}"
			break
		fi
		# the end of an earlier answer, whose reader gave up
		[[ $line == @@* ]] || echo "$line"
	done
	exec {in}>&- {out}>&-
	return "$status"
}

# qmp COMMAND [NAME=VALUE...]: prints what QEMU returns
qmp()
{
	python3 -ISB "$NET_DIR/qmp.py" $GUEST/qmp "$@"
}

# hmp COMMAND...: the same for a command of the monitor for people
hmp()
{
	qmp human-monitor-command command-line="$*"
}

ping_guest()
{
	ping -q -c "${1:-3}" -i 0.05 -W "$PATIENCE" $GUEST_IP
}

guest_reachable()
{
	wait_until "${1:-20}" ping -q -c 1 -W 1 $GUEST_IP
}

# bits of the features
# shellcheck disable=SC2034 # read by tests
MRG_RXBUF=15 CTRL_MQ=22 LOG_ALL=26 INDIRECT=28 EVENT_IDX=29 MODERN=32 ACCESS_PLATFORM=33 PACKED=34 IN_ORDER=35 RING_RESET=40

# guest_feature BIT 0|1: has the guest's driver agreed on it?
guest_feature()
{
	[ "$(guest cut -c$(($1 + 1)) /sys/class/net/eth0/device/features)" = "$2" ] || fail "feature bit $1 is not $2"
}

# guest_features BIT|-BIT...: it must have agreed on "BIT", and must not on "-BIT"
guest_features()
{
	local want

	for want; do
		if [[ $want == -* ]]; then
			guest_feature "${want#-}" 0 || return
		else
			guest_feature "$want" 1 || return
		fi
	done
}

# are the rings that the guest's driver took laid out as LAYOUT says?
guest_has_layout()
{
	local packed=0

	[ "${LAYOUT:-}" != packed ] || packed=1
	guest_feature $PACKED $packed
}

# guest_rebinds_driver [MORE]: three times; stops and starts the rings, and with them all of MSI-X
guest_rebinds_driver()
{
	local dir=/sys/bus/virtio/drivers/virtio_net

	guest "dev=\$(basename \$(readlink /sys/class/net/eth0/device));
		for _ in 1 2 3; do echo \$dev > $dir/unbind; echo \$dev > $dir/bind; done;
		ip addr add $GUEST_IP/24 dev eth0; ip link set eth0 up; ${1:-}"
}

guest_link_down_up()
{
	guest 'for _ in 1 2 3 4 5; do ip link set eth0 down && ip link set eth0 up || exit 1; done'
}

guest_has_rebooted()
{
	guest -t 2 'test ! -e /tmp/before-reboot'
}

# guest_reboots COMMAND...: the command reboots it, and it is a new guest
guest_reboots()
{
	guest 'touch /tmp/before-reboot' && "$@" || return
	wait_until "$BOOT_DEADLINE" guest_has_rebooted || fail "no sign of a reboot"
}

### what the backend says of itself

backend_node()
{
	[ "$BACKEND" = vhost ] && echo /dev/vhost-net || echo $DEVICE
}

# backend_offers BIT: one of its features
backend_offers()
{
	local features

	features=$(vhost_features "$(backend_node)") && [ $((features >> $1 & 1)) -eq 1 ]
}

# the QEMU process's descriptors of the backend's device, one per line
backend_fd()
{
	# shellcheck disable=SC2012 # busybox's find cannot match what links point to
	ls -l "/proc/$(guest_pid)/fd" | awk -v dev=$DEVICE '$NF == dev { print $(NF - 2); n++ } END { exit !n }'
}

# kvnet_counter REGEX: the sum of the counters whose name, without its "kvnet.",
# matches as a whole, as in "rx.packets" or ".*.drop_.*"
kvnet_counter()
{
	kvnet_counters | awk -v name="^kvnet\\.($1):$" '$1 ~ name { sum += $2; n++ } END { print sum + 0; exit !n }'
}

# nothing was out of the backend's reach
nothing_dropped()
{
	[ "$BACKEND" = kvnet ] || return 0
	[ "$(kvnet_counter '.*[.](drop_.*|broken)')" -eq 0 ] || fail "$(kvnet_counters | grep -E 'drop|broken')"
}

kvnet_counters()
{
	local fd

	for fd in $(backend_fd); do
		grep '^kvnet\.' "/proc/$(guest_pid)/fdinfo/$fd"
	done
}

### running tests

# use_qemu VERSION, or 7.2 where there is none
use_qemu()
{
	QEMU=$1
	[ -d "/opt/qemu-$QEMU" ] || QEMU=7.2
}

TESTS_PASSED=0
TESTS_FAILED=0
TESTS_SKIPPED=0

# skip TEST REASON: the test's @skip lines say what may be skipped
skip()
{
	TESTS_SKIPPED=$((TESTS_SKIPPED + 1))
	echo "# SKIP $1: $2"
}

# run_test NAME FUNCTION [arguments]: one TAP line; what it said only on failure
run_test()
{
	local name=$1 log=/tmp/test.log start status

	shift
	start=$(uptime_now)
	marker "begin $name"
	set +e
	"$@" > $log 2>&1
	status=$?
	marker "end $name"
	if [ $status -eq 0 ]; then
		TESTS_PASSED=$((TESTS_PASSED + 1))
		grep '^#' $log
		echo "ok - $name ($(took "$start") s)"
	else
		TESTS_FAILED=$((TESTS_FAILED + 1))
		sed 's/^\(# \)\?/# /' $log | tail -n 30
		echo "not ok - $name ($(took "$start") s)"
	fi
	return $status
}

took()
{
	awk -v a="$1" -v b="$(uptime_now)" 'BEGIN { printf "%.1f", b - a }'
}
