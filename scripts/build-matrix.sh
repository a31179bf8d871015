#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Does kvnet build, and without a warning (W=1), on each kernel, for each architecture,
# with each compiler? Prints a table of that. Beside it: the programs of selftests for
# arm64 and with clang, and the unit tests, whose pure rooms are the module's own files,
# on arm64, emulated by qemu-user. The very last line is "N passed, N failed, N skipped".
#
#   KERNELS="6.1 6.12 newest"  ARCHES="amd64 arm64"  COMPILERS="gcc clang"    which
#
# What it needs it installs by itself (scripts/setup.sh --cross): packages, and, below
# build/ only, other kernels' headers and the newest one's own compilers.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/lanes.sh
. "$(dirname "$0")/lanes.sh"

unset MAKEFLAGS MFLAGS MAKEOVERRIDES
KERNELS=${KERNELS:-6.1 6.12 newest}
ARCHES=${ARCHES:-amd64 arm64}
COMPILERS=${COMPILERS:-gcc clang}
# lines "kernel compiler arch verdict seconds"
CELLS=$BUILD/log/matrix.cells
ARM64_ROOT=/usr/aarch64-linux-gnu

# cell KERNEL COMPILER ARCH
build_cell()
{
	local start=$EPOCHSECONDS options=(--arch "$3") verdict=FAILED

	[ "$2" = gcc ] || options+=(--clang)
	! "$TOP/scripts/build-module.sh" "${options[@]}" "$1" || verdict=ok
	echo "$1 $2 $3 $verdict $((EPOCHSECONDS - start))" >> "$CELLS"
	[ $verdict = ok ]
}

# each kernel with each compiler, for one architecture
build_cells()
{
	local kernel compiler

	for kernel in $KERNELS; do
		for compiler in $COMPILERS; do
			if [ "$kernel" = newest ] && ! is_made cross-newest; then
				say "kvnet.ko for the newest kernel: skipped"
				skip test-newest "the newest kernel" "cannot be had here"
				echo "newest $compiler $1 - -" >> "$CELLS"
				continue
			fi
			step "kvnet.ko for $kernel, $1, builds without a warning with $compiler" build_cell "$kernel" "$compiler" "$1"
		done
	done
}

# make_programs NAME COMPILER
make_programs()
{
	local dir

	for dir in uapi net perf; do
		make -s -C "$TOP/selftests/$dir" "CC=$2" OUTPUT="$BUILD/matrix/$1/$dir" || return
	done
}

# Under an emulator LeakSanitizer cannot look into the process, and TSan cannot start
# itself anew for other addresses: hence setarch.
run_unit()
{
	local name=$1 log=$BUILD/log/matrix-unit-$1.log before=$FAILED status=0

	shift
	say "unit tests on $name"
	make -s -C "$TOP/selftests/unit" run OUTPUT="$BUILD/matrix/$name/unit" "$@" > "$log" 2>&1 || status=$?
	grep -E '^not ok|^[0-9]+ passed,|^unit:|ERROR' "$log" || tail -n 20 "$log"
	count_log "$log" "matrix-$name" "unit tests on $name"
	count_status "$before" $status "unit tests on $name"
}

lane_amd64()
{
	local STEPS=$(($(wc -w <<< "$KERNELS") * $(wc -w <<< "$COMPILERS") + 1))

	build_cells amd64
	step "test programs build with clang" make_programs clang "clang-$CLANG"
}

lane_arm64()
{
	local STEPS=$(($(wc -w <<< "$KERNELS") * $(wc -w <<< "$COMPILERS") + 2))

	build_cells arm64
	step "test programs build for arm64" make_programs arm64 aarch64-linux-gnu-gcc
	run_unit arm64 CC=aarch64-linux-gnu-gcc "UNDER=setarch -R env ASAN_OPTIONS=detect_leaks=0 qemu-aarch64 -L $ARM64_ROOT"
}

# the kernels as rows, each with what its release is
show_table()
{
	local kernel release compiler arch

	printf '\n%-16s %-6s' kernel with
	printf ' %-14s' $ARCHES
	echo
	for kernel in $KERNELS; do
		release=$kernel
		[ ! -d "$BUILD/kernel-$kernel" ] || release=$(kernel_release "$kernel")
		for compiler in $COMPILERS; do
			printf '%-16s %-6s' "${release%-amd64}" "$compiler"
			for arch in $ARCHES; do
				printf ' %-14s' "$(awk -v k="$kernel $compiler $arch" '$1 " " $2 " " $3 == k { text = $4 ", " $5 " s" } END { print text == "" ? "not tried" : text }' "$CELLS")"
			done
			echo
		done
	done
	echo
}

main()
{
	local arch

	trap cleanup EXIT
	trap 'exit 130' INT TERM
	info "the build matrix: $(wc -w <<< "$KERNELS") kernels, compilers $COMPILERS, for $ARCHES"
	info "part 1 of 2: packages, headers and compilers (the first time some 250 MB more)"
	# shellcheck disable=SC2046 # a list of words
	"$TOP/scripts/setup.sh" --cross
	mkdir -p "$BUILD/log"
	: > "$CELLS"
	info "part 2 of 2: builds; five minutes on two free CPUs"
	for arch in $ARCHES; do
		[ "$(type -t "lane_$arch")" = function ] || die "unknown architecture '$arch': there are amd64 and arm64"
		lane "$arch" "lane_$arch"
	done
	lanes_end
	show_table
	count_skips
	echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
	[ "$FAILED" -eq 0 ]
}

main "$@"
