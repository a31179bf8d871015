#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds kvnet.ko for one of the test kernels in a copy of the sources under
# build/mod-X, with W=1; a warning is a failure. With --sparse also runs sparse
# with endianness checks (its messages about kernel headers do not count).
#
#   scripts/build-module.sh [--sparse] 6.12 | 6.1 | uml | uml-fast
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

sources()
{
	(cd "$1" && find Kbuild drivers include \( -name '*.[ch]' -o -name Kbuild \) ! -name '*.mod.c')
}

# only what changed, so that make rebuilds only what did
copy_sources()
{
	local file

	[ -e "$TOP/Kbuild" ] || die "no Kbuild in $TOP: nothing to build"
	mkdir -p "$DIR"/{drivers,include}
	sources "$TOP" | while read -r file; do
		mkdir -p "$DIR/$(dirname "$file")"
		cmp -s "$TOP/$file" "$DIR/$file" || cp "$TOP/$file" "$DIR/$file"
	done
	{ sources "$DIR" 2>/dev/null || true; } | while read -r file; do
		[ -e "$TOP/$file" ] || rm -f "$DIR/$file"
	done
}

kmake()
{
	make -s -C "$HEADERS" M="$DIR" W=1 "${ARCH[@]}" "$@" modules
}

# messages that point into our own sources
own_messages()
{
	grep -E "(^|[ /])(drivers/kvnet|include/(compat|uapi)|kvnet)[^ ]*[.:][^ ]*.*(warning|error)" "$1" ||
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

run_sparse()
{
	local log=$DIR/sparse.log messages

	if ! have sparse; then
		info "sparse is not installed: skipped"
		return
	fi
	kmake C=2 CF=-D__CHECK_ENDIAN__ > "$log" 2>&1 || { cat "$log" >&2; die "the build under sparse failed"; }
	messages=$(own_messages "$log")
	[ -z "$messages" ] || { echo "$messages" >&2; die "sparse has complaints for $SERIES"; }
}

# prepared by themselves when they are not there
find_headers()
{
	ARCH=()
	case " $UML_ALL " in
	*" $SERIES "*)
		[ -f "$STAMPS/$SERIES" ] || "$TOP/scripts/uml/build.sh" "$SERIES"
		HEADERS=$BUILD/$SERIES
		RELEASE=$SERIES
		ARCH=(ARCH=um)
		return
		;;
	esac
	check_series "$SERIES"
	[ -f "$STAMPS/kernel-$SERIES" ] || "$TOP/scripts/setup.sh" "$SERIES"
	HEADERS=$(kernel_headers "$SERIES")
	RELEASE=$(kernel_release "$SERIES")
}

main()
{
	local sparse=0

	if [ "${1:-}" = --sparse ]; then
		sparse=1
		shift
	fi
	[ $# -eq 1 ] || die "usage: build-module.sh [--sparse] <one of: $SERIES_ALL $UML_ALL>"
	SERIES=$1
	find_headers
	DIR=$BUILD/mod-$SERIES
	copy_sources
	[ "$sparse" -eq 0 ] || run_sparse
	build
	info "built kvnet.ko for $RELEASE"
}

main "$@"
