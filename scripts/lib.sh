# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What every script of this directory shares: where things are, how to speak,
# how to stop with one line, and the cache of the machine.
#
# The cache ($KVNET_CACHE, default ~/.cache/kvnet) has what takes long to make and does
# not depend on the module; all checkouts of the machine share it. Each entry is a
# directory NAME-HASH, where HASH stands for all that it is made from, and build/NAME
# is a link to the one that this checkout uses:
#
#   kernel-X       unpacked image, headers and kbuild of kernel series X; kasan, kcsan and
#                  kmsan are built here (scripts/debug)
#   qemu10         unpacked QEMU 10.0 of the distribution's backports
#   cbmc           unpacked CBMC of the next release
#   kernel-tests   the newest kernel's own tests of network drivers, built
#   image-X        what the test host boots: kernel, image of the root, an initramfs that mounts it
#   guest-X        kernel and initramfs of a guest alone
#   uml[-smp...]-src   source of User-Mode Linux, without what it does not need
#   uml, uml-fast, uml-smp   User-Mode Linux with debugging, fast, or with two CPUs;
#                  uml-smp-kasan, uml-smp-kcsan: two CPUs and debugging
#   vmm-X          another VMM
#   system-X       a bare Debian (deb12, deb13) to try packages on
#   debs/          downloaded packages (or $KVNET_DOWNLOADS), no entry
#   passed/        inputs on which checkers have found nothing, no entries either
#
# What depends on the module or its tests is in the checkout's build/ itself:
#
#   build/mod-X/   the module, built for kernel series X, uml, uml-fast or uml-smp
#   build/deb/     Debian packages of kvnet
#   build/debs-X/  what apt got for system X
#   build/log/     one directory of logs per run of a test host

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
BUILD=$(realpath -m -- "${KVNET_BUILD:-$TOP/build}")
CACHE=$(realpath -m -- "${KVNET_CACHE:-${HOME:-/root}/.cache/kvnet}")
DEBS=$(realpath -m -- "${KVNET_DOWNLOADS:-$CACHE/debs}")
# of the machine, not of the checkout; in /tmp itself other users' could be in the way
LOCKS=/run/kvnet
[ -w /run ] || LOCKS=/tmp/kvnet-locks-$UID
# shellcheck disable=SC2034 # for setup.sh
APT_LOCK=$LOCKS/apt
SERIES_ALL="6.12 6.1"
# kernels of the test host that look for bugs, built here, kmsan by clang; no guests run on them
DEBUG_ALL="kasan kcsan kmsan"
# of the build matrix: Debian 12 and 13 have it
# shellcheck disable=SC2034 # for setup.sh and build-module.sh
CLANG=19
# kernels that the module is built for and that are no series of Debian's
# shellcheck disable=SC2034 # for build-module.sh
UML_ALL="uml uml-fast uml-smp uml-smp-kasan uml-smp-kcsan"

# What else to tell the compiler for one of them. Kernels for hardware have small
# copies made into loads and stores, User-Mode Linux has not: measured would be calls
# that nobody else makes.
uml_flags()
{
	case $1 in
	uml-fast | uml-smp) echo KCFLAGS=-fbuiltin ;;
	*) echo ;;
	esac
}

PROG=${0##*/}
# by itself it says only whether this is a place to work in
[ "$0" != "${BASH_SOURCE[0]}" ] || PROG=kvnet

die()
{
	[ -z "${WATCHER:-}" ] || watch_end
	printf '%s: %s\n' "$PROG" "$*" >&2
	exit 1
}

# Some characters in a path end what make, the kernel's build system and QEMU read.
check_place()
{
	local LC_ALL=C path

	for path in "$TOP" "$BUILD" "$CACHE" "$DEBS"; do
		case $path in
		*[!A-Za-z0-9/._+@~$'\x80'-$'\xff'-]*)
			die "cannot work in '$path': make and the kernel's build system take letters, digits and ._+@~- in a path; move it" ;;
		esac
	done
	[ -x "$TOP/scripts/test.sh" ] ||
		die "cannot work in '$TOP': programs cannot be run from there (mounted noexec?); move it"
}

# when the verb began: what it calls goes on counting
[ -n "${KVNET_START:-}" ] || printf -v KVNET_START '%(%s)T' -1
export KVNET_START

elapsed()
{
	local now

	printf -v now '%(%s)T' -1
	echo $((now - KVNET_START))
}

# progress, with the seconds since the first line
info()
{
	printf '[%4ds] %s\n' "$(elapsed)" "$*"
}

have()
{
	command -v "$1" >/dev/null 2>&1
}

# hold NAME: others that want it wait, until release or the end of this script and of
# what it started. A name with a slash is for all checkouts of the machine.
hold()
{
	local file=$BUILD/locks/$1

	[[ $1 != /* ]] || file=$1
	mkdir -p "${file%/*}"
	exec {HELD}> "$file"
	flock -n "$HELD" || { info "${1##*/}: waiting for another run that is at it" >&2; flock "$HELD"; }
}

release()
{
	exec {HELD}>&-
}

# locked NAME COMMAND...
locked()
{
	(hold "$1"; shift; "$@")
}

# The cache, with the tag by which programs for backups know one (and clean-cache.sh).
make_cache()
{
	[ ! -f "$CACHE/CACHEDIR.TAG" ] || return 0
	mkdir -p "$CACHE" || die "cannot create $CACHE: make its parent writable or set KVNET_CACHE"
	printf '%s\n' 'Signature: 8a477f597d28d172789f06886806bc55' '# of kvnet; "make clean-cache" removes it' > "$CACHE/CACHEDIR.TAG"
}

# is_made NAME: is there an entry that this checkout uses?
is_made()
{
	[ -L "$BUILD/$1" ] && [ -f "$(readlink "$BUILD/$1").made" ]
}

# made_as NAME: the entry that this checkout uses, as NAME-HASH
made_as()
{
	basename "$(readlink "$BUILD/$1")"
}

# An entry of the cache is made once, whichever checkout needs it first. entry_needed NAME
# INPUT fails when it has been made from exactly this input; otherwise the caller makes it,
# in the empty directory ENTRY, and ends with entry_made, or with release if it cannot be
# made. Others that need it wait meanwhile, and then find it.
entry_needed()
{
	local hash

	hash=$(sha256sum <<< "$2" | cut -c 1-12)
	ENTRY=$CACHE/$1-$hash ENTRY_NAME=$1 ENTRY_INPUT=$2
	! entry_found || return 1
	make_cache
	hold "$CACHE/locks/$1-$hash"
	if entry_found; then
		release
		return 1
	fi
	remove_unused_entries "$1"
	rm -rf "$ENTRY" "${BUILD:?}/$1"
	mkdir -p "$ENTRY" "$BUILD"
}

# notes that it is in use
entry_found()
{
	[ -f "$ENTRY.made" ] && touch -c "$ENTRY.made" || return
	[ "$(readlink "$BUILD/$ENTRY_NAME")" = "$ENTRY" ] || link_entry
}

# A link takes the place of another in one step: another script finds one or the other.
link_entry()
{
	mkdir -p "$BUILD"
	[ -L "$BUILD/$ENTRY_NAME" ] || rm -rf "${BUILD:?}/$ENTRY_NAME"
	ln -s "$ENTRY" "$BUILD/.$ENTRY_NAME.$BASHPID"
	mv -T "$BUILD/.$ENTRY_NAME.$BASHPID" "$BUILD/$ENTRY_NAME"
}

entry_made()
{
	printf '%s\n' "$ENTRY_INPUT" > "$ENTRY.made"
	link_entry
	release
}

# those of this name that no checkout has used for two weeks
remove_unused_entries()
{
	local made

	find "$CACHE" -maxdepth 1 -regextype posix-extended -regex ".*/$1-[0-9a-f]{12}\.made" -mtime +14 2> /dev/null | while read -r made; do
		rm -rf "$made" "${made%.made}"
	done
}

# What a checker says depends on its input alone: has_passed NAME < INPUT, and if it has not
# on exactly this, and does now, passes_now. For all checkouts.
has_passed()
{
	PASSED_FILE=$CACHE/passed/$1-$(sha256sum | cut -c 1-32)
	[ -e "$PASSED_FILE" ] && touch -c "$PASSED_FILE"
}

passes_now()
{
	mkdir -p "${PASSED_FILE%/*}"
	find "${PASSED_FILE%/*}" -type f -mtime +14 -delete
	touch "$PASSED_FILE"
}

### what takes longer than ten seconds

# how_far TOTAL DONE SECONDS, as words; without DONE the total is one of seconds. The
# first twentieth says little of the rest.
how_far()
{
	if [ -z "$2" ]; then
		echo "$3 s${1:+ of about $1 s}"
	elif [ $((20 * $2)) -lt "$1" ] || [ "$1" -eq 0 ]; then
		echo "$3 s"
	elif [ "$2" -ge "$1" ]; then
		echo "all but done, $3 s"
	else
		echo "$2 of about $1 ($((100 * $2 / $1)) %), $3 s, about $(($3 * ($1 - $2) / $2)) s to go"
	fi
}

# a line for whoever waits, past the log of a lane of test.sh (descriptor 3)
tell()
{
	if [ -n "${KVNET_LANE:-}" ]; then
		{ printf '[%4ds] %s: %s\n' "$(elapsed)" "$KVNET_LANE" "$1" >&3; } 2> /dev/null || true
	elif [ -t 2 ]; then
		printf '\r\033[K[%4ds] %.100s' "$(elapsed)" "$1" >&2
	else
		printf '[%4ds] %s\n' "$(elapsed)" "$1" >&2
	fi
}

# watch_begin TEXT TOTAL [COMMAND...]: until watch_end, or the end of this script, how
# far something is: COMMAND prints how much of TOTAL is done; without it TOTAL are the
# seconds that it takes, or nothing. A line that changes, or, where nobody would see
# that, one after WATCH_EVERY seconds (10), then each three times as long.
watch_begin()
{
	watch_loop $BASHPID "$@" > /dev/null < /dev/null &
	WATCHER=$!
}

# shellcheck disable=SC2317 # in the background
watch_loop()
{
	local parent=$1 text=$2 total=$3 start now every=${WATCH_EVERY:-10} next pipe said=''

	shift 3
	trap - EXIT INT TERM
	start=$(elapsed)
	next=$every
	[ -z "${KVNET_LANE:-}" ] && [ -t 2 ] && next=2 every=1
	# a pipe that nobody writes to: a sleep that leaves no process behind
	exec {pipe}<> <(:)
	while kill -0 "$parent" 2> /dev/null; do
		read -r -t 1 -u "$pipe" || true
		now=$(($(elapsed) - start))
		[ $now -ge $next ] || continue
		next=$((now + (every > 1 ? 3 * every : 1)))
		[ $# -eq 0 ] || said=$("$@" 2> /dev/null || echo 0)
		tell "$text: $(how_far "$total" "$said" $now)"
	done
}

watch_end()
{
	kill "$WATCHER" 2> /dev/null || true
	wait "$WATCHER" 2> /dev/null || true
	WATCHER=''
	[ -n "${KVNET_LANE:-}" ] || [ ! -t 2 ] || printf '\r\033[K' >&2
}

# watched TEXT TOTAL [COUNTER...] -- COMMAND...
watched()
{
	local text=$1 total=$2 counter=() status=0

	shift 2
	while [ "$1" != -- ]; do
		counter+=("$1")
		shift
	done
	shift
	watch_begin "$text" "$total" "${counter[@]}"
	"$@" || status=$?
	watch_end
	return $status
}

# a counter
megabytes_in()
{
	du -sm "$1" | cut -f 1
}

### what this machine has

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
	case " $SERIES_ALL newest $DEBUG_ALL " in
	*" $1 "*) ;;
	*) die "unknown kernel series '$1'; known: $SERIES_ALL newest $DEBUG_ALL" ;;
	esac
}

# what a kernel that looks for bugs, and modules for it, are built with
debug_compiler()
{
	case $1 in
	kmsan) echo "clang-$CLANG" ;;
	*) echo gcc ;;
	esac
}

# one that looks for bugs, is slow, and runs no guests
is_debug()
{
	[[ " $DEBUG_ALL " == *" $1 "* ]]
}

check_place
