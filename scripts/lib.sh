# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What every script of this directory shares: where things are, how to speak,
# how to stop with one line, and stamps (a step that is done is not done again).
#
#   build/debs/        downloaded packages (or $KVNET_DOWNLOADS)
#   build/kernel-X/    unpacked image, headers and kbuild of kernel series X
#   build/qemu10/      unpacked QEMU 10.0 of the distribution's backports
#   build/image-X/     kernel and initramfs of the test host and of its guest
#   build/uml-src/     source of User-Mode Linux, without what it does not need
#   build/uml[-fast]/  User-Mode Linux that looks for bugs, or is fast
#   build/mod-X/       the module, built for kernel series X, uml or uml-fast
#   build/log/         one directory of logs per run of a test host
#
# Nothing that stays there holds the name of a directory outside: a checkout may be
# moved or copied together with it.

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
BUILD=$(realpath -m -- "${KVNET_BUILD:-$TOP/build}")
DEBS=$(realpath -m -- "${KVNET_DOWNLOADS:-$BUILD/debs}")
STAMPS=$BUILD/stamps
SERIES_ALL="6.12 6.1"
# kernels that the module is built for and that are no series of Debian's
# shellcheck disable=SC2034 # for build-module.sh
UML_ALL="uml uml-fast"

# What else to tell the compiler for one of them. Kernels for hardware have small
# copies made into loads and stores, User-Mode Linux has not: measured would be calls
# that nobody else makes.
uml_flags()
{
	case $1 in
	uml-fast) echo KCFLAGS=-fbuiltin ;;
	*) echo ;;
	esac
}

PROG=${0##*/}
# by itself it says only whether this is a place to work in
[ "$0" != "${BASH_SOURCE[0]}" ] || PROG=kvnet

die()
{
	printf '%s: %s\n' "$PROG" "$*" >&2
	exit 1
}

# Some characters in a path end what make, the kernel's build system and QEMU read.
check_place()
{
	local LC_ALL=C path

	for path in "$TOP" "$BUILD" "$DEBS"; do
		case $path in
		*[!A-Za-z0-9/._+@~$'\x80'-$'\xff'-]*)
			die "cannot work in '$path': make and the kernel's build system take letters, digits and ._+@~- in a path; move it" ;;
		esac
	done
	[ -x "$TOP/scripts/test.sh" ] ||
		die "cannot work in '$TOP': programs cannot be run from there (mounted noexec?); move it"
}

# progress, with the seconds since the first line
info()
{
	printf '[%4ds] %s\n' "$SECONDS" "$*"
}

have()
{
	command -v "$1" >/dev/null 2>&1
}

# stamp_is <name> <content>: was this step done with exactly this input?
stamp_is()
{
	[ -f "$STAMPS/$1" ] && [ "$(cat "$STAMPS/$1")" = "$2" ]
}

stamp_set()
{
	mkdir -p "$STAMPS"
	printf '%s\n' "$2" > "$STAMPS/$1"
}

# the CPUs that we may use, in any order
cpus()
{
	local part

	for part in $(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status | tr ',' ' '); do
		seq "${part%-*}" "${part#*-}"
	done | shuf
}

# One of the machine's CPUs: CPU. The kernel that is a process and its processes take
# turns, never two at a time; on two CPUs each turn wakes one that has just gone to sleep,
# which in a virtual machine takes ten times as long as the turn. Runs side by side, of
# any checkout, take different ones while there are: the lock ends with the processes
# that inherit it.
take_cpu()
{
	local all lock

	readarray -t all < <(cpus)
	for CPU in "${all[@]}"; do
		exec {lock}> "${CPU_LOCK:-/tmp/kvnet-cpu}-$CPU"
		! flock -n "$lock" || return 0
		exec {lock}>&-
	done
}

# What the test host on KVM needs; that it boots there is for vm.sh to find out
has_virtualization()
{
	grep -qE '^flags.* (vmx|svm)( |$)' /proc/cpuinfo && [ -w /dev/kvm ] && ! stamp_is accel tcg
}

# the kernel release (uname -r) of a series that is unpacked under build/
kernel_release()
{
	local dir

	for dir in "$BUILD/kernel-$1"/lib/modules/*; do
		[ -d "$dir" ] && { basename "$dir"; return; }
	done
	die "no kernel of series $1 here; run: scripts/setup.sh $1"
}

kernel_headers()
{
	echo "$BUILD/kernel-$1/usr/src/linux-headers-$(kernel_release "$1")"
}

check_series()
{
	case " $SERIES_ALL newest " in
	*" $1 "*) ;;
	*) die "unknown kernel series '$1'; known: $SERIES_ALL newest" ;;
	esac
}

check_place
