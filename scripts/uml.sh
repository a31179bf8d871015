#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Boots User-Mode Linux, a kernel that is a process and runs at the machine's own
# speed, and runs one script in it as root (bash). Returns the script's status.
#
#   scripts/uml.sh [options] -- script.sh [arguments]
#
#   --debug             (default) the kernel that looks for bugs: KASAN, lockdep,
#                       kmemleak, failing allocations; built by itself, once
#   --fast              the kernel to measure with, likewise
#   --smp               the same with two CPUs, which are two of the machine's
#   --smp-kasan         as --debug, with two CPUs
#   --smp-kcsan         with two CPUs, looks for data races
#   --timeout SECONDS   for the whole run (default 900)
#   --mem MB            size of its memory (default 768)
#   --guest             what a guest needs, for selftests/net/lib.sh: stock QEMU, which
#                       emulates the CPU, and a kernel and an image
#   --add FILE[:NAME]   put a file or directory at /kvnet/NAME; may be repeated
#   --env NAME=VALUE    set a variable for the script; may be repeated
#   --append WORDS      more words for the kernel command line
#   --output FILE       the script's output
#   --name NAME         name of the log directory build/log/NAME
#   --no-verdict        do not fail on a bad kernel message
#
# The script finds what it finds in the test host of scripts/vm.sh: /kvnet/kvnet.ko
# (if scripts/build-module.sh built it for that kernel), /kvnet/scripts,
# /kvnet/selftests/net, /kvnet/uapi/*, modules by modprobe. All else is this
# machine's own files, read-only; nothing is loaded or configured on it.
#
# Afterwards scripts/dmesg-verdict.sh reads the kernel log: a BUG, WARN, KASAN line
# and the like in it fails the run, whatever the script said. So does a kernel that
# dies, with the end of its log. UML_AS_BUILT=1: the caller has seen that the kernel is there.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

GUEST_SERIES=6.12

usage()
{
	sed -n '4,/^set -euo/{/^set/d;s/^# \{0,1\}//;p}' "$0"
	exit "${1:-0}"
}

parse_options()
{
	FLAVOUR=debug TIMEOUT=900 MEM='' APPEND='' OUTPUT='' NAME='' VERDICT=1 GUEST=0
	ADD=() ENVS=() SCRIPT=()
	while [ $# -gt 0 ]; do
		case $1 in
		--help | -h) usage ;;
		--debug | --fast | --smp | --smp-kasan | --smp-kcsan) FLAVOUR=${1#--}; shift; continue ;;
		--guest) GUEST=1; shift; continue ;;
		--no-verdict) VERDICT=0; shift; continue ;;
		--) shift; SCRIPT=("$@"); break ;;
		-*) [ $# -ge 2 ] || die "$1 needs a value; see uml.sh --help" ;;
		*) die "unexpected '$1'; the script comes after --" ;;
		esac
		case $1 in
		--timeout) TIMEOUT=$2 ;;
		--mem) MEM=$2 ;;
		--add) ADD+=("$2") ;;
		--env) ENVS+=("$2") ;;
		--append) APPEND=$2 ;;
		--output) OUTPUT=$2 ;;
		--name) NAME=$2 ;;
		*) die "unknown option $1; see uml.sh --help" ;;
		esac
		shift 2
	done
	[ ${#SCRIPT[@]} -gt 0 ] || usage 1 >&2
	[ -f "${SCRIPT[0]}" ] || die "no such script: ${SCRIPT[0]}"
	KERNEL=uml
	# ticks are 10 ms long, and a grace period takes some: half of some tests' time;
	# and the sooner something is freed, the sooner its late use is seen
	[[ " debug smp-kasan smp-kcsan " != *" $FLAVOUR "* ]] || [ "$GUEST" -eq 1 ] || APPEND="rcupdate.rcu_expedited=1 $APPEND"
	# kmemleak's own thread is nice, and among guests on a busy machine kept from running: a reader
	[ "$GUEST" -eq 0 ] || APPEND="rcupdate.rcu_cpu_stall_timeout=120 $APPEND"
	[ "$FLAVOUR" = debug ] || KERNEL=uml-$FLAVOUR
	# who has another task for each CPU cannot ptrace
	[[ $FLAVOUR != smp* ]] || APPEND="ncpus=2 seccomp=on $APPEND"
	[ -n "$MEM" ] || MEM=$((GUEST ? 1536 : 768))
	NAME=${NAME:-$KERNEL-$$}
	LOG=$BUILD/log/$NAME
}

# where a file of the repository is under /kvnet
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

	dest=$(inside_path "${SCRIPT[0]}")
	[ -e "$1/${dest#/kvnet/}" ] || cp "${SCRIPT[0]}" "$1/${dest#/kvnet/}"
	printf 'exec bash %q' "$dest" > "$1/run.sh"
	[ ${#SCRIPT[@]} -eq 1 ] || printf ' %q' "${SCRIPT[@]:1}" >> "$1/run.sh"
	printf '\n' >> "$1/run.sh"
}

write_env()
{
	local item

	{
		printf 'export VM_ACCEL=uml GUEST_ACCEL=tcg,tb-size=64\n'
		for item in "${ENVS[@]}"; do
			printf 'export %s=%q\n' "${item%%=*}" "${item#*=}"
		done
	} > "$1/env"
}

# What lib.sh finds in the test host as /opt/qemu-VERSION, /guest-kernel, /guest.cpio
# and guest-overlay.cpio; the first three by links that scripts/uml/run makes.
write_guest()
{
	local dir=$1

	mkdir -p "$dir/guest/usr/bin" "$dir"/opt/qemu-{7.2,10.0}/bin
	cp "$BUILD/guest-$GUEST_SERIES"/{kernel,guest.cpio} "$dir/"
	cp "$BUILD"/net-tools/* "$dir/guest/usr/bin/"
	(cd "$dir/guest" && find . | cpio -o -H newc --quiet) > "$dir/guest-overlay.cpio"
	ln -s /usr/bin/qemu-system-x86_64 "$dir/opt/qemu-7.2/bin/"
	ln -s /usr/share/qemu "$dir/opt/qemu-7.2/share"
	if [ -x "$BUILD/qemu10/usr/bin/qemu-system-x86_64" ]; then
		cp "$BUILD/qemu10/usr/bin/qemu-system-x86_64" "$dir/opt/qemu-10.0/bin/"
		mkdir "$dir/opt/qemu-10.0/share"
		cp "$BUILD"/qemu10/usr/share/qemu/{kvmvapic,linuxboot_dma,linuxboot,pvh}.bin \
			/usr/share/seabios/bios-256k.bin "$dir/opt/qemu-10.0/share/"
	fi
}

# Copies: what is tested stays as it is now, whatever is built meanwhile.
write_tree()
{
	local dir=$LOG/tree module=$BUILD/mod-$KERNEL/drivers/kvnet/kvnet.ko item name

	rm -rf "$dir"
	mkdir -p "$dir/selftests" "$dir/uapi"
	cp -r "$TOP/scripts" "$dir/scripts"
	cp -r "$TOP/selftests/net" "$dir/selftests/net"
	[ ! -f "$module" ] || cp "$module" "$dir/"
	[ ! -d "$BUILD/uapi" ] || find "$BUILD/uapi/" -maxdepth 1 -type f -perm -u+x -exec cp -t "$dir/uapi" {} +
	[ "$GUEST" -eq 0 ] || write_guest "$dir"
	for item in "${ADD[@]}"; do
		name=${item#*:}
		[ "$name" != "$item" ] || name=${item##*/}
		mkdir -p "$(dirname "$dir/$name")"
		cp -rL "${item%%:*}" "$dir/$name"
	done
	write_run_script "$dir"
	write_env "$dir"
}

# UML keeps its memory in a file: in memory too, if there is room, and if code may run
# from there
memory_dir()
{
	local free

	free=$(df -Pm /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
	if [ "${free:-0}" -gt $((MEM + 100)) ] && ! findmnt -n -o OPTIONS -T /dev/shm | grep -qw noexec; then
		echo /dev/shm
	else
		echo "$LOG"
	fi
}

# When it is killed, by ^C or after its time, processes of its own stay behind and
# keep the script's output open: they are of its process group.
end_leftovers()
{
	local file=/tmp/kvnet-$$/pid pid turn

	trap '' INT TERM
	for ((turn = 0; turn < 100; turn++)); do
		[ ! -s "$file" ] || break
		sleep 0.1
	done
	pid=$(cat "$file" 2> /dev/null) || return 0
	tail -s 0.5 --pid="$pid" -f /dev/null
	kill -KILL -- "-$pid" 2> /dev/null || true
}

run_uml()
{
	local leftovers

	take_cpu
	[[ $FLAVOUR != smp* ]] || CPU=$(cpus | sort -n | head -n 2 | paste -s -d ,)
	ulimit -c 0
	end_leftovers > /dev/null 2>&1 < /dev/null &
	leftovers=$!
	# killed when its time is over: it does not take SIGTERM well
	# shellcheck disable=SC2086 # words
	TMPDIR=$(memory_dir) timeout --foreground -s KILL "$TIMEOUT" taskset -c "$CPU" \
		"$BUILD/$KERNEL/linux" "mem=${MEM}M" umid="kvnet-$$" uml_dir=/tmp/ \
		root=/dev/root rootfstype=hostfs rootflags=/ ro \
		init="$TOP/scripts/uml/init" con=null con0=null,fd:2 con1=null,fd:1 ssl=null \
		loglevel=7 panic=-1 $APPEND -- "$LOG/tree" "$BUILD/$KERNEL/root" "$LOG/root" < /dev/null 2> "$LOG/console.log" |
		stdbuf -oL tr -d '\r' | tee "$LOG/output.log" | { grep --line-buffered -v '^@@vm-' || true; }
	# it has the log's lock, too, and the next run would not get it
	wait "$leftovers" || true
}

# what the script returned, 124 if the time was over (given: seconds that it took),
# 1 for a kernel that died
run_status()
{
	local status

	status=$(sed -n 's/^@@vm-status //p' "$LOG/output.log" | tail -n 1)
	if [ -n "$status" ]; then
		echo "$status"
	elif [ "$1" -ge "$TIMEOUT" ]; then
		echo 124
	else
		echo 1
	fi
}

prepare_guest()
{
	is_made "kernel-$GUEST_SERIES" || "$TOP/scripts/setup.sh" "$GUEST_SERIES"
	is_made "guest-$GUEST_SERIES" || "$TOP/scripts/mkimage.sh" --guests
	build_net_tools
}

main()
{
	local start

	parse_options "$@"
	mkdir -p "$LOG/root"
	own_log
	[ -n "${UML_AS_BUILT:-}" ] || "$TOP/scripts/uml/build.sh" "$KERNEL"
	[ "$GUEST" -eq 0 ] || prepare_guest
	write_tree
	start=$SECONDS
	run_uml || true
	STATUS=$(run_status $((SECONDS - start)))
	rm -rf "$LOG/tree" "/tmp/kvnet-$$"
	rmdir "$LOG/root"
	[ -z "$OUTPUT" ] || grep -v '^@@vm-' "$LOG/output.log" > "$OUTPUT" || true
	if [ "$STATUS" -eq 124 ]; then
		echo "uml.sh: not finished within $TIMEOUT seconds; see $LOG" >&2
	elif ! grep -q '^@@vm-status' "$LOG/output.log"; then
		echo "uml.sh: User-Mode Linux died; the end of $LOG/console.log:" >&2
		tail -n 30 "$LOG/console.log" >&2
	fi
	if [ "$VERDICT" -eq 1 ] && ! "$TOP/scripts/dmesg-verdict.sh" "$LOG/console.log"; then
		[ "$STATUS" -ne 0 ] || STATUS=99
	fi
	exit "$STATUS"
}

main "$@"
