#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds a User-Mode Linux kernel and its modules, once, in the cache: "uml" with
# everything that looks for bugs, "uml-fast" to measure with, "uml-smp" the same with two
# CPUs, which only a newer kernel has, "uml-smp-kasan" and "uml-smp-kcsan" that one with what
# looks for bugs, or for data races (smp-debug/). Another source, configuration or patch
# builds it again.
#
#   scripts/uml/build.sh uml | uml-fast | uml-smp | uml-smp-kasan | uml-smp-kcsan
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=scripts/kernel.sh
. "$(dirname "$0")/../kernel.sh"

settings()
{
	local name files=()

	for name in debug/common uml/base $FLAVOURS; do
		files+=("$TOP/scripts/$name.config")
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
	[[ $SOURCE != uml-smp* ]] || line='export KBUILD_OUTPUT := $(CURDIR)'
	printf '%s\n' ${line:+"$line"} "include ../$(made_as "$SOURCE")/Makefile" > "$DIR/Makefile"
	ln -sfn "../$(made_as "$SOURCE")" "$DIR/source"
	rm -f "$DIR"/root/lib/modules/*/{build,source}
}

# the same files but for those of the patches
change_source()
{
	entry_needed "$SOURCE" "$(made_as "$FROM") $(cat "${CHANGES[@]}" | sha256sum)" || return 0
	cp -al "$BUILD/$FROM/." "$ENTRY"
	cat "${CHANGES[@]}" | patch -s -d "$ENTRY" -p1 || die "${CHANGES[*]##*/}: does not apply"
	entry_made
}

build()
{
	kmake -j"$(nproc)" linux modules && kmake INSTALL_MOD_PATH="$DIR/root" modules_install
}

main()
{
	local name=${1:-} input option=--source FROM=uml-src SOURCE='' CHANGES=()

	OBJECTS=850
	case $name in
	uml) FLAVOURS="uml/bugs uml/debug" ;;
	uml-fast) FLAVOURS=uml/fast ;;
	uml-smp) FLAVOURS="uml/fast uml/smp" ;;
	uml-smp-kasan) FLAVOURS="uml/bugs uml/debug uml/smp uml/smp-debug" ;;
	uml-smp-kcsan) FLAVOURS="uml/bugs uml/smp uml/smp-debug debug/kcsan" ;;
	*) die "usage: build.sh <one of: $UML_ALL>" ;;
	esac
	[[ $name != uml-smp* ]] || FROM=uml-smp-src option=--source-newest
	# a source each: they may be built at the same time
	[[ $name != uml-smp-* ]] || CHANGES=("$TOP"/scripts/uml/{stacktrace.patch,smp-debug/{*.patch,"${name##*-}.diff"}}) SOURCE=$name-src
	SOURCE=${SOURCE:-$FROM}
	read -ra FLAGS < <(uml_flags "$name")
	"$TOP/scripts/setup.sh" $option
	[ ${#CHANGES[@]} -eq 0 ] || change_source
	input="$(made_as "$SOURCE") $(settings | sha256sum) $(gcc -dumpfullversion)${FLAGS[*]:+ ${FLAGS[*]}}"
	entry_needed "$name" "$input" || return 0
	DIR=$ENTRY
	build_kernel "User-Mode Linux ($name)" "$OBJECTS" build
	relocate
	info "built User-Mode Linux ($name)"
	entry_made
}

main "$@"
