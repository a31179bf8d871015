#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds kvnet.ko for one of the test kernels in a copy of the sources under
# build/mod-X, with W=1; a warning is a failure. With --sparse also runs sparse
# with endianness checks (its messages about kernel headers do not count). With --floor
# it is the laboratory's kvnet_floor.ko, in build/floor-X, with --hosttime its
# kvnet_hosttime.ko (User-Mode Linux only), in build/hosttime-X, with --uncounted its
# kvnet_uncounted.ko (uncounted.sh), in build/uncounted-X, with --failing one whose
# calls can fail (failing.sh), in build/failing-X. With --arch arm64, --clang or both it is
# built for that, in build/mod-X-arm64-clang (after setup.sh --cross).
#
#   scripts/build-module.sh [--sparse] [--floor | --hosttime | --uncounted | --failing] [--arch arm64] [--clang] 6.12 | 6.1 | newest | kasan | kcsan | kmsan | uml | uml-fast | uml-smp | uml-smp-kasan | uml-smp-kcsan
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

sources()
{
	(cd "$1" && find "${PARTS[@]}" \( -name '*.[ch]' -o -name Kbuild \) ! -name '*.mod.c')
}

# only what changed, so that make rebuilds only what did
copy_sources()
{
	local file

	[ -e "$FROM/Kbuild" ] || die "no Kbuild in $FROM: nothing to build"
	mkdir -p "$DIR"
	sources "$FROM" | while read -r file; do
		mkdir -p "$DIR/$(dirname "$file")"
		cmp -s "$FROM/$file" "$DIR/$file" || cp "$FROM/$file" "$DIR/$file"
	done
	{ sources "$DIR" 2>/dev/null || true; } | while read -r file; do
		[ -e "$FROM/$file" ] || rm -f "$DIR/$file"
	done
}

# The newest kernel's compiler and tools run in a root of their own, with the
# sources at /kvnet.
in_newest_root()
{
	# shellcheck disable=SC2016 # arguments of that shell
	unshare -m bash -c 'cd / && mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" &&
		mount --bind "$1" "$0/kvnet" && shift && exec chroot "$0" "$@"' "$BUILD/root-newest" "$DIR" "$@"
}

kmake()
{
	local arguments=(make -s -j "$(nproc)" -C "$HEADERS" W=1 "${ARCH[@]}" "$@")

	if [ "$SERIES" = newest ]; then
		in_newest_root "${arguments[@]}" M=/kvnet modules
	else
		"${arguments[@]}" M="$DIR" modules
	fi
}

# messages that point into our own sources
own_messages()
{
	grep -E "(^|[ /])(drivers/kvnet|include/(compat|uapi)|kvnet|kvnet_floor|kvnet_hosttime)[^ ]*[.:][^ ]*.*(warning|error)" "$1" ||
		grep -E '^(ERROR|WARNING): modpost' "$1" || true
}

build()
{
	local log=$DIR/build.log messages

	if ! kmake > "$log" 2>&1; then
		cat "$log" >&2
		die "building for $SERIES failed"
	fi
	messages=$(own_messages "$log")
	[ -z "$messages" ] && [ ! -s "$log" ] && return
	grep -qE 'warning|WARNING' "$log" || return 0
	cat "$log" >&2
	die "warnings when building for $SERIES"
}

# all that sparse's verdict depends on; its flags are this script's
sparse_input()
{
	echo "$RELEASE $(sparse --version)"
	{ sources "$DIR" | LC_ALL=C sort | (cd "$DIR" && xargs cat); cat "$TOP/scripts/build-module.sh"; } | sha256sum
}

# It looks at files that are not built again, too: once is enough.
run_sparse()
{
	local log=$DIR/sparse.log messages

	have sparse || die "sparse is not installed; run: scripts/setup.sh --packages-only"
	! has_passed sparse < <(sparse_input) || return 0
	kmake C=2 CF=-D__CHECK_ENDIAN__ "${SPARSE[@]}" > "$log" 2>&1 || { cat "$log" >&2; die "the build under sparse failed"; }
	messages=$(own_messages "$log")
	[ -z "$messages" ] || { echo "$messages" >&2; die "sparse has complaints for $SERIES"; }
	passes_now
}

# Its headers use what Debian's sparse does not know yet, and lack the script that
# would leave sparse out for that.
newest_sparse()
{
	local script=$BUILD/root-newest/usr/src/linux-headers-${RELEASE%-amd64}-common/scripts/checker-valid.sh

	SPARSE=("CHECK=sparse -D__typeof_unqual__=__typeof__ '-D__builtin_strlen(s)=(sizeof(s)-1)'")
	[ -e "$script" ] || install -m 755 /dev/stdin "$script" <<< $'#!/bin/sh\necho 1'
}

# Headers that setup.sh --cross has laid beside the others. The newest kernel's gcc for
# arm64 is in its root, with the same name as on this machine.
find_cross_headers()
{
	HEADERS=${HEADERS%-amd64}-$TARGET
	[ "$TARGET" != arm64 ] || ARCH+=(CROSS_COMPILE=aarch64-linux-gnu-)
	if [ $COMPILER = clang ]; then
		HEADERS=$HEADERS-clang
		ARCH+=("CC=clang-$CLANG" "LD=ld.lld-$CLANG")
	fi
}

# prepared by themselves when they are not there
find_headers()
{
	ARCH=() SPARSE=()
	case " $UML_ALL " in
	*" $SERIES "*)
		# of another configuration it would have to be another module, too
		[ -n "${UML_AS_BUILT:-}" ] || "$TOP/scripts/uml/build.sh" "$SERIES"
		HEADERS=$BUILD/$SERIES
		RELEASE=$SERIES
		read -ra ARCH < <(echo "ARCH=um $(uml_flags "$SERIES")")
		# the kernel has the compiler clear what is on the stack, which hides what nobody
		# has written and somebody reads
		[ "$SERIES" != uml-fast ] || return 0
		ARCH+=("KCFLAGS=-ftrivial-auto-var-init=pattern")
		return
		;;
	esac
	check_series "$SERIES"
	if [ "$SERIES" = newest ]; then
		is_made kernel-newest && is_made root-newest || "$TOP/scripts/setup.sh" newest
		RELEASE=$(kernel_release newest)
		HEADERS=/usr/src/linux-headers-$RELEASE
		newest_sparse
		return
	fi
	is_made "kernel-$SERIES" || "$TOP/scripts/setup.sh" "$SERIES"
	! is_debug "$SERIES" || ARCH=("CC=$(debug_compiler "$SERIES")")
	HEADERS=$(kernel_headers "$SERIES")
	RELEASE=$(kernel_release "$SERIES")
}

# All objects of a module whose calls can fail but one are those of the module itself; what
# make has noted of them names their directory.
take_objects()
{
	local from=$BUILD/mod-$SERIES

	[ -f "$from/$MODULE" ] || return 0
	rm -rf "$DIR"
	cp -a "$from" "$DIR"
	find "$DIR" -name '.*.cmd' -exec sed -i "s,$from/,$DIR/,g" {} +
}

main()
{
	local sparse=0

	TARGET=amd64 COMPILER=gcc
	FROM=$TOP KIND=mod MODULE=drivers/kvnet/kvnet.ko PARTS=(Kbuild drivers include)
	while [[ ${1:-} == --* ]]; do
		case $1 in
		--sparse) sparse=1 ;;
		--floor) FROM=$TOP/selftests/perf/floor KIND=floor MODULE=kvnet_floor.ko PARTS=(.) ;;
		--hosttime) FROM=$TOP/selftests/perf/hosttime KIND=hosttime MODULE=kvnet_hosttime.ko PARTS=(.) ;;
		--uncounted) KIND=uncounted MODULE=drivers/kvnet/kvnet_uncounted.ko ;;
		--failing) KIND=failing ;;
		--arch) TARGET=$2; shift ;;
		--clang) COMPILER=clang ;;
		*) die "unknown option $1" ;;
		esac
		shift
	done
	[ $# -eq 1 ] && [[ " amd64 arm64 " == *" $TARGET "* ]] || die "usage: build-module.sh [--sparse] [--floor | --hosttime | --uncounted | --failing] [--arch amd64|arm64] [--clang] <one of: $SERIES_ALL newest $DEBUG_ALL $UML_ALL>"
	SERIES=$1
	find_headers
	DIR=$KIND-$SERIES
	if [ "$TARGET-$COMPILER" != amd64-gcc ]; then
		find_cross_headers
		[ "$TARGET" = amd64 ] || DIR=$DIR-$TARGET
		[ $COMPILER = gcc ] || DIR=$DIR-$COMPILER
	fi
	hold "$DIR"
	DIR=$BUILD/$DIR
	if [[ $KIND == @(uncounted|failing) ]]; then
		FROM=$DIR.from
		"$TOP/scripts/$KIND.sh" "$FROM"
	fi
	[ $KIND != failing ] || take_objects
	copy_sources
	# a build that fails leaves none
	rm -f "${DIR:?}/$MODULE"
	[ "$sparse" -eq 0 ] || run_sparse
	build
	[ "$FROM" != "$DIR.from" ] || rm -rf "$FROM"
	[ "$TARGET-$COMPILER" = amd64-gcc ] || RELEASE="${RELEASE%-amd64}-$TARGET with $COMPILER"
	info "built ${MODULE##*/} for $RELEASE"
}

main "$@"
