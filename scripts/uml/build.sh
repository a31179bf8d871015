#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds a User-Mode Linux kernel and its modules, once, under build/: "uml" with
# everything that looks for bugs, "uml-fast" to measure with, "uml-smp" the same with two
# CPUs, which only a newer kernel has, "uml-task66", the first one with the threads of a
# VMM that kernels before 6.11 have (task66.diff). Another source, configuration or patch
# builds it again.
#
#   scripts/uml/build.sh uml | uml-fast | uml-smp | uml-task66
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=scripts/kernel.sh
. "$(dirname "$0")/../kernel.sh"

settings()
{
	local name files=()

	for name in base $FLAVOURS; do
		files+=("$TOP/scripts/uml/$name.config")
	done
	# the last word counts
	sed '/^CONFIG/!d' "${files[@]}" | tac | awk -F= '!($1 in said) { said[$1] = $2 } said[$1] == $2' | tac
}

kmake()
{
	make -s -C "$BUILD/$SOURCE" ARCH=um "${FLAGS[@]}" O="$DIR" "$@"
}

# What builds modules names the source by an absolute path; the two are beside each other.
relocate()
{
	local line=''

	# since Linux 6.13 it has to be told where it is
	# shellcheck disable=SC2016 # for make
	[ $SOURCE != uml-smp-src ] || line='export KBUILD_OUTPUT := $(CURDIR)'
	printf '%s\n' ${line:+"$line"} "include ../$SOURCE/Makefile" > "$DIR/Makefile"
	ln -sfn "../$SOURCE" "$DIR/source"
	rm -f "$DIR"/root/lib/modules/*/{build,source}
}

# the same files but for those of the patch
change_source()
{
	rm -rf "${BUILD:?}/$SOURCE"
	cp -al "$BUILD/uml-src" "$BUILD/$SOURCE"
	patch -s -d "$BUILD/$SOURCE" -p1 < "$1" || die "${1##*/} does not apply"
}

build()
{
	kmake -j"$(nproc)" linux modules && kmake INSTALL_MOD_PATH="$DIR/root" modules_install
}

main()
{
	local name=${1:-} input option=--source SOURCE=uml-src stamp=uml-source change=''

	case $name in
	uml) FLAVOURS=debug OBJECTS=850 ;;
	uml-fast) FLAVOURS=fast OBJECTS=800 ;;
	uml-smp) FLAVOURS="fast smp" OBJECTS=840 SOURCE=uml-smp-src stamp=uml-smp-source option=--source-newest ;;
	uml-task66) FLAVOURS=debug OBJECTS=850 SOURCE=uml-src-task66 change=$TOP/scripts/uml/task66.diff ;;
	*) die "usage: build.sh uml | uml-fast | uml-smp | uml-task66" ;;
	esac
	DIR=$BUILD/$name
	read -ra FLAGS < <(uml_flags "$name")
	"$TOP/scripts/setup.sh" $option
	input="$(cat "$STAMPS/$stamp") $(settings | sha256sum) $(gcc -dumpfullversion)${FLAGS[*]:+ ${FLAGS[*]}}"
	[ -z "$change" ] || input+=" $(sha256sum < "$change")"
	step_needed "$name" "$input" || return 0
	[ -z "$change" ] || change_source "$change"
	build_kernel "User-Mode Linux ($name)" "$OBJECTS" build
	relocate
	info "built User-Mode Linux ($name)"
	step_done
}

main "$@"
