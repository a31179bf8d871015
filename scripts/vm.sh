#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Boots the test host, a VM in which the module may be loaded, and runs one
# script in it as root (bash). Returns the script's status.
#
#   scripts/vm.sh [options] -- script.sh [arguments]
#   scripts/vm.sh [options] --shell
#
#   --kernel SERIES     6.12 (default), 6.1, newest, or one that looks for bugs and runs no
#                       guests, kasan, kcsan or kmsan; prepared by itself when needed
#   --timeout SECONDS   for the whole run (default 900)
#   --stall SECONDS     end it when the script says nothing for so long
#   --retries N         after a fault of the rig (default 2)
#   --mem MB, --smp N   size of the test host (default 3072, 2)
#   --nodes N           NUMA nodes of it, with as much memory and a CPU each (default 1)
#   --system DIR        in the place of the test host a system of its own, made by
#                       scripts/mksystem.sh: DIR has kernel, l1.cpio and disk, which stays as it is
#   --disk MB           an empty disk, /dev/vda after "modprobe virtio_blk"
#   --qemu 10.0|7.2     QEMU that runs the test host (default: 10.0 if present)
#   --add FILE[:DEST]   put a file or directory into the test host, by default
#                       as /kvnet/<name>; may be repeated
#   --tree DIR          merge a directory into the test host's root; may be repeated
#   --guests            add guests with the other kernels, as /kvnet/guests/X/
#   --env NAME=VALUE    set a variable for the script; may be repeated
#   --append WORDS      more words for the kernel command line
#   --accel kvm|tcg     with hardware virtualization, or fail; or with an emulated CPU
#   --icount SEED       virtual time: the same seed gives the same figures
#   --count FILE        with --icount: into FILE how often each piece of the kernel's code
#                       runs, see vm/count.c; needs QEMU 10.0
#   --output FILE       the script's output of the attempt that counts
#   --name NAME         name of the log directory build/log/NAME
#   --no-verdict        do not fail on a bad kernel message
#
# In the test host: /kvnet/kvnet.ko (if scripts/build-module.sh built it for that
# kernel), /kvnet/scripts and /kvnet/selftests/net (a script of this repository
# runs from there), /kvnet/tools/qemu-kvnet, /kvnet/uapi/* (if built under build/uapi; not
# with --icount), QEMUs under /opt/qemu-7.2 and /opt/qemu-10.0, modules by modprobe. Guests are started with
# the functions of selftests/net/lib.sh.
#
# Hardware virtualization is used when the CPU has it and a boot shows that it
# works; otherwise QEMU emulates a CPU with SVM. An "Oops: int3" of the test host
# under emulation, or one that does not boot, is a fault of the rig: the run is
# repeated, twice at most (--retries). Afterwards scripts/dmesg-verdict.sh reads the kernel
# log: a BUG, WARN and the like in it fails the run, whatever the script said.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

BOOT_TIMEOUT=300

usage()
{
	sed -n '4,/^set -euo/{/^set/d;s/^# \{0,1\}//;p}' "$0"
	exit "${1:-0}"
}

parse_options()
{
	KERNEL=6.12 TIMEOUT=900 RETRIES=2 MEM=3072 SMP=2 NODES=1 DISK=0 HOST_QEMU='' APPEND='' ICOUNT='' COUNT=''
	SYSTEM='' OUTPUT='' NAME='' STALL=0 SHELL_MODE=0 VERDICT=1 GUESTS=0 WANT_ACCEL='' ADD=() TREES=() ENVS=() SCRIPT=()
	while [ $# -gt 0 ]; do
		case $1 in
		--help | -h) usage ;;
		--shell) SHELL_MODE=1; shift; continue ;;
		--guests) GUESTS=1; shift; continue ;;
		--no-verdict) VERDICT=0; shift; continue ;;
		--) shift; SCRIPT=("$@"); break ;;
		-*) [ $# -ge 2 ] || die "$1 needs a value; see vm.sh --help" ;;
		*) die "unexpected '$1'; the script comes after --" ;;
		esac
		case $1 in
		--kernel) KERNEL=$2 ;;
		--timeout) TIMEOUT=$2 ;;
		--mem) MEM=$2 ;;
		--smp) SMP=$2 ;;
		--nodes) NODES=$2 ;;
		--system) SYSTEM=$2 ;;
		--disk) DISK=$2 ;;
		--qemu) HOST_QEMU=$2 ;;
		--add) ADD+=("$2") ;;
		--tree) TREES+=("$2") ;;
		--env) ENVS+=("$2") ;;
		--stall) STALL=$2 ;;
		--retries) RETRIES=$2 ;;
		--append) APPEND=$2 ;;
		--accel) WANT_ACCEL=$2 ;;
		--icount) ICOUNT=$2 ;;
		--count) COUNT=$2 ;;
		--output) OUTPUT=$2 ;;
		--name) NAME=$2 ;;
		*) die "unknown option $1; see vm.sh --help" ;;
		esac
		shift 2
	done
	[ ${#SCRIPT[@]} -gt 0 ] || [ "$SHELL_MODE" -eq 1 ] || usage 1 >&2
	[ "$SHELL_MODE" -eq 1 ] || [ -f "${SCRIPT[0]}" ] || die "no such script: ${SCRIPT[0]}"
	check_series "$KERNEL"
	[[ " kvm tcg " == *" ${WANT_ACCEL:-tcg} "* ]] || die "unknown accelerator '$WANT_ACCEL'; known: kvm tcg"
}

# where a file of the repository is in the test host
inside_path()
{
	local path

	path=$(readlink -f "$1")
	case $path in
	"$TOP"/scripts/* | "$TOP"/selftests/net/*) echo "/kvnet/${path#"$TOP"/}" ;;
	*) echo "/kvnet/${path##*/}" ;;
	esac
}

write_run_script()
{
	local dest

	if [ "$SHELL_MODE" -eq 1 ]; then
		touch "$1/shell"
		chmod +x "$1/shell"
		return
	fi
	dest=$(inside_path "${SCRIPT[0]}")
	[ -e "$1/../$dest" ] || cp "${SCRIPT[0]}" "$1/${dest#/kvnet/}"
	printf 'echo "@@vm-up"\nexec bash %q' "$dest" > "$1/run.sh"
	[ ${#SCRIPT[@]} -eq 1 ] || printf ' %q' "${SCRIPT[@]:1}" >> "$1/run.sh"
	printf '\n' >> "$1/run.sh"
}

write_env()
{
	local item

	{
		printf 'export VM_ACCEL=%q\n' "$ACCEL"
		for item in "${ENVS[@]}"; do
			printf 'export %s=%q\n' "${item%%=*}" "${item#*=}"
		done
	} > "$1/env"
}

# archive DIR: the same files give the same archive, or a seed of virtual time
# would not repeat
archive()
{
	(cd "$1" && find . -exec touch -h -d @0 {} + && find . | LC_ALL=C sort | cpio -o -H newc --quiet --reproducible)
}

# the guest's own second archive: the test programs that run in it
write_guest_overlay()
{
	local tree=$LOG/guest-tree

	mkdir -p "$tree/usr/bin"
	cp "$BUILD"/net-tools/* "$tree/usr/bin/"
	archive "$tree" > "$1/guest-overlay.cpio"
	rm -rf "$tree"
}

copy_uapi_tests()
{
	mkdir -p "$1"
	find "$BUILD/uapi" -maxdepth 1 -type f -perm -u+x -exec cp {} "$1/" \;
}

write_overlay()
{
	local tree=$LOG/tree dir=$LOG/tree/kvnet module=$BUILD/mod-$KERNEL/drivers/kvnet/kvnet.ko item dest

	rm -rf "$tree"
	mkdir -p "$dir/selftests"
	cp -r "$TOP/scripts" "$dir/scripts"
	cp -r "$TOP/selftests/net" "$dir/selftests/net"
	install -D -t "$dir/tools" "$TOP/tools/qemu-kvnet"
	[ ! -f "$module" ] || [ -n "$SYSTEM" ] || cp "$module" "$dir/"
	install -D -t "$tree/usr/bin" "$BUILD"/net-tools/*
	# not in virtual time: with other files it is another run
	[ ! -d "$BUILD/uapi" ] || [ -n "$ICOUNT" ] || copy_uapi_tests "$dir/uapi"
	for item in "${ADD[@]}"; do
		dest=${item#*:}
		[ "$dest" != "$item" ] || dest=/kvnet/${item##*/}
		mkdir -p "$tree$(dirname "$dest")"
		cp -rL "${item%%:*}" "$tree$dest"
	done
	for item in "${TREES[@]}"; do
		cp -a "$item/." "$tree/"
	done
	write_run_script "$dir"
	write_env "$dir"
	write_guest_overlay "$dir"
	archive "$tree" > "$LOG/overlay.cpio"
	cat "$IMAGE/l1.cpio" "$LOG/overlay.cpio" > "$LOG/initrd"
	rm -rf "$tree" "$LOG/overlay.cpio"
}

choose_qemu()
{
	local q10=$BUILD/qemu10/usr

	QEMU=(qemu-system-x86_64)
	case $HOST_QEMU in
	7.2) return ;;
	10.0) [ -x "$q10/bin/qemu-system-x86_64" ] || die "QEMU 10.0 is not under build/; run scripts/setup.sh or use --qemu 7.2" ;;
	esac
	[ ! -x "$q10/bin/qemu-system-x86_64" ] ||
		QEMU=("$q10/bin/qemu-system-x86_64" -L "$q10/share/qemu" -L /usr/share/seabios)
}

# An emulated test host's guests need a QEMU without a fault of its emulated SVM;
# where the copy cannot be made, the run may hang, and goes on without.
repair_qemu()
{
	local from copy

	[ "$ACCEL" = tcg ] || return 0
	from=$(type -P "${QEMU[0]}") || return 0
	# beside its modules and data, which it looks for from where it is
	copy=$(dirname "$from")/qemu-kvnet-$(sha256sum < "$TOP/scripts/vm/fix-qemu.py" | cut -c 1-12)
	if [[ $from != "$BUILD"/* ]]; then
		copy=$BUILD/${copy##*/}
		QEMU+=(-L /usr/share/qemu -L /usr/share/seabios)
		export QEMU_MODULE_DIR=/usr/lib/x86_64-linux-gnu/qemu
	fi
	if [ ! "$copy" -nt "$from" ]; then
		python3 "$TOP/scripts/vm/fix-qemu.py" "$from" "$copy" || return 0
	fi
	QEMU[0]=$copy
}

# hardware virtualization: the CPU flag, and a nested boot that really works
choose_accel()
{
	ACCEL=tcg
	[ -z "$ICOUNT" ] && [ "$WANT_ACCEL" != tcg ] && has_virtualization || return 0
	if [ ! -f "$CACHE/accel" ] && [ -n "${KVNET_PROBE:-}" ]; then
		ACCEL=kvm
		return
	fi
	hold "$CACHE/locks/accel"
	if [ ! -f "$CACHE/accel" ]; then
		printf 'grep -qE "^flags.* (vmx|svm)( |$)" /proc/cpuinfo && [ -e /dev/kvm ]\n' > "$BUILD/probe.sh"
		if KVNET_PROBE=1 "$0" --kernel "$KERNEL" --timeout 60 --retries 0 --name probe -- "$BUILD/probe.sh" > /dev/null 2>&1; then
			echo kvm > "$CACHE/accel"
		else
			echo tcg > "$CACHE/accel"
			info "no test host with hardware virtualization boots ($BUILD/log/probe): emulating; to try again: rm $CACHE/accel" >&2
		fi
	fi
	release
	ACCEL=$(cat "$CACHE/accel")
}

# The emulated time stamp counter is this machine's; on a busy one the test host
# cannot find out how fast it is.
tsc_words()
{
	local tool=$BUILD/tsc-khz source=$TOP/scripts/vm/tsc-khz.c

	[ "$ACCEL" = tcg ] && [ -z "$ICOUNT" ] || return 0
	if [ ! "$tool" -nt "$source" ]; then
		gcc -O2 -o "$tool.$$" "$source" && mv "$tool.$$" "$tool" || return 0
	fi
	echo "tsc_early_khz=$("$tool")"
}

# Without cmpxchg16b, whose emulation leaves wrong flags behind for one instruction;
# an interrupt there ends in a double fault.
EMULATED_CPU=EPYC,-cx16

disk_arguments()
{
	DRIVE=()
	[ -z "$SYSTEM" ] || DRIVE=(-drive "file=$SYSTEM/disk,format=raw,if=virtio,snapshot=on")
	[ "$DISK" -gt 0 ] || return 0
	rm -f "$LOG/disk"
	truncate -s "${DISK}M" "$LOG/disk"
	DRIVE+=(-drive "file=$LOG/disk,format=raw,if=virtio,cache=unsafe")
}

accel_arguments()
{
	if [ -n "$ICOUNT" ]; then
		MACHINE=(-accel "tcg,thread=single" -cpu "$EMULATED_CPU" -icount "shift=1,sleep=off"
			-seed "$ICOUNT" -rtc "base=2026-01-01,clock=vm")
	elif [ "$ACCEL" = kvm ]; then
		MACHINE=(-accel kvm -cpu host)
	else
		MACHINE=(-accel "tcg,thread=multi" -cpu "$EMULATED_CPU")
	fi
}

count_arguments()
{
	local plugin=$BUILD/count.so source=$TOP/scripts/vm/count.c

	[ -n "$COUNT" ] || return 0
	[ -n "$ICOUNT" ] && [[ ${QEMU[0]} == "$BUILD"/qemu10/* ]] || die "--count needs --icount and QEMU 10.0"
	[ "$plugin" -nt "$source" ] ||
		gcc -O2 -Wall -Wextra -Werror -shared -fPIC -fvisibility=hidden -o "$plugin" "$source"
	MACHINE+=(-plugin "$plugin,out=$COUNT")
}

# run_qemu BUFFERING FILTER...: of what the script says
# into NUMA: the last node has the CPUs that are left, too; none shares its cache with
# another node's
find_nodes()
{
	local node last=$((NODES - 1))

	NUMA=(-smp "$SMP")
	[ "$NODES" -gt 1 ] || return 0
	NUMA=(-smp "$SMP,sockets=$SMP")
	for ((node = 0; node < last; node++)); do
		NUMA+=(-object "memory-backend-ram,id=node$node,size=$((MEM / NODES))M" -numa "node,cpus=$node,memdev=node$node")
	done
	NUMA+=(-object "memory-backend-ram,id=node$last,size=$((MEM - last * (MEM / NODES)))M"
		-numa "node,cpus=$last-$((SMP - 1)),memdev=node$last")
}

run_qemu()
{
	local NUMA words="console=ttyS0 panic=-1 loglevel=7 mitigations=off tsc=reliable"

	find_nodes
	words="$words $(tsc_words)"
	[ -z "$ICOUNT" ] || words="$words nokaslr"
	[ "$SHELL_MODE" -eq 0 ] || exec 3<&0
	[ "$SHELL_MODE" -eq 1 ] || exec 3< /dev/null
	timeout --foreground "$TIMEOUT" "${QEMU[@]}" -nodefaults -no-user-config \
		-display none -no-reboot -M q35 -m "$MEM" "${NUMA[@]}" "${MACHINE[@]}" "${DRIVE[@]}" \
		-kernel "$IMAGE/kernel" -initrd "$LOG/initrd" \
		-append "$words $APPEND" \
		-chardev "file,id=console,path=$LOG/console.log" -serial chardev:console \
		-chardev stdio,id=script,signal=on -serial chardev:script <&3 2> "$LOG/qemu.log" |
		stdbuf "$1" tr -d '\r' | tee "$LOG/output.log" | "${@:2}"
}

# The attempt's status: what the script returned, 124 after the time was over,
# or 125 for a fault of the rig.
attempt_status()
{
	local status

	status=$(sed -n 's/^@@vm-status //p' "$LOG/output.log" | tail -n 1)
	if [ "$ACCEL" = tcg ] && grep -aq 'Oops: int3' "$LOG/console.log"; then
		echo 125
	elif [ -n "$status" ]; then
		echo "$status"
	elif [ "$SHELL_MODE" -eq 0 ] && ! grep -q '^@@vm-up' "$LOG/output.log"; then
		echo 125
	elif grep -aqE 'Kernel panic|Oops|BUG:' "$LOG/console.log"; then
		echo 1
	else
		echo 124
	fi
}

end_test_host()
{
	local pid

	for pid in $(pgrep -f -- "path=$LOG/console.log"); do
		kill "$pid" 2>/dev/null || true
	done
}

# ends a test host that does not come up, long before the whole time is over;
# with --stall also one whose script says nothing more
watch_test_host()
{
	local deadline=$((SECONDS + BOOT_TIMEOUT)) size=0 now

	until grep -q '^@@vm-' "$LOG/output.log" 2>/dev/null; do
		[ $SECONDS -lt $deadline ] || { end_test_host; return; }
		sleep 1
	done
	[ "$STALL" -gt 0 ] || return 0
	deadline=$((SECONDS + STALL))
	while [ $SECONDS -lt $deadline ]; do
		now=$(stat -c %s "$LOG/output.log")
		[ "$now" -eq "$size" ] || deadline=$((SECONDS + STALL))
		size=$now
		sleep 1
	done
	end_test_host
}

run_attempts()
{
	local attempt watcher

	for ((attempt = 0; attempt <= RETRIES; attempt++)); do
		: > "$LOG/console.log"
		: > "$LOG/output.log"
		watcher=''
		if [ "$SHELL_MODE" -eq 0 ]; then
			watch_test_host &
			watcher=$!
		fi
		# a prompt is no whole line
		if [ "$SHELL_MODE" -eq 1 ]; then
			run_qemu -o0 cat || true
		else
			run_qemu -oL grep --line-buffered -v '^@@vm-' || true
		fi
		[ -z "$watcher" ] || kill "$watcher" 2>/dev/null || true
		STATUS=$(attempt_status)
		[ "$STATUS" -eq 125 ] || return 0
		cp "$LOG/console.log" "$LOG/console-fault-$((attempt + 1)).log"
		echo "vm.sh: fault of the rig (the test host did not boot, or the emulator's int3 hazard); attempt $((attempt + 1)) of $((RETRIES + 1))" >&2
		grep -am 1 -A 3 'Oops: int3' "$LOG/console.log" >&2 || true
	done
}

# the guest with the test host's own kernel is there anyway
add_guests()
{
	local dir

	is_made kernel-newest || "$TOP/scripts/setup.sh" --guests
	"$TOP/scripts/mkimage.sh" --guests
	for dir in "$BUILD"/guest-*; do
		[ "${dir##*/guest-}" = "$KERNEL" ] || ADD+=("$dir:/kvnet/guests/${dir##*/guest-}")
	done
}

prepare_image()
{
	is_made "kernel-$KERNEL" || "$TOP/scripts/setup.sh" "$KERNEL"
	"$TOP/scripts/mkimage.sh" "$KERNEL"
	IMAGE=$BUILD/image-$KERNEL
}

prepare()
{
	NAME=${NAME:-$KERNEL-$$}
	LOG=$BUILD/log/$NAME
	mkdir -p "$LOG"
	own_log
	IMAGE=$SYSTEM
	[ -n "$SYSTEM" ] || prepare_image
	[ "$GUESTS" -eq 0 ] || add_guests
	build_net_tools
	locked net-tools make -s -C "$TOP/selftests/perf" OUTPUT="$BUILD/net-tools" "$BUILD/net-tools/rr" "$BUILD/net-tools/tally"
	choose_qemu
	choose_accel
	[ "$WANT_ACCEL" != kvm ] || [ "$ACCEL" = kvm ] || die "there is no hardware virtualization here that works"
	repair_qemu
	accel_arguments
	disk_arguments
	count_arguments
	write_overlay
}

main()
{
	parse_options "$@"
	prepare
	run_attempts
	rm -f "$LOG/initrd" "$LOG/disk"
	[ -z "$OUTPUT" ] || grep -v '^@@vm-' "$LOG/output.log" > "$OUTPUT" || true
	[ "$STATUS" -ne 124 ] || echo "vm.sh: the test host did not finish within $TIMEOUT seconds or fell silent; see $LOG" >&2
	[ "$STATUS" -ne 125 ] || echo "vm.sh: the rig failed $((RETRIES + 1)) times; see $LOG" >&2
	if [ "$VERDICT" -eq 1 ] && ! "$TOP/scripts/dmesg-verdict.sh" "$LOG/console.log"; then
		[ "$STATUS" -ne 0 ] || STATUS=99
	fi
	exit "$STATUS"
}

main "$@"
