#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds a kernel for the test host that looks for bugs and has more than one CPU, and
# its modules, once, in the cache, laid out as those of Debian's packages are:
# "kasan" watches memory, locks, RCU and objects, "kcsan" data races, "kmsan" what nobody has
# written. From the source
# that User-Mode Linux is built from; another one, or another configuration, builds it
# again.
#
#   scripts/debug/build.sh kasan | kcsan | kmsan
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=scripts/kernel.sh
. "$(dirname "$0")/../kernel.sh"

OBJECTS=1500

settings()
{
	sed '/^CONFIG/!d' "$TOP"/scripts/debug/{common,base,"$SERIES"}.config
	echo "CONFIG_LOCALVERSION=\"-$SERIES\""
}

kmake()
{
	make -s -C "$BUILD/uml-src" ARCH=x86_64 "CC=$(debug_compiler "$SERIES")" O="$DIR" "$@"
}

build()
{
	kmake -j"$(nproc)" bzImage modules &&
		kmake INSTALL_MOD_PATH="$ROOT" modules_install &&
		install -D -m 644 "$DIR/arch/x86/boot/bzImage" "$ROOT/boot/vmlinuz-$RELEASE"
}

# What builds modules names the source by an absolute path; the two are in one directory.
relocate()
{
	local source

	source=../../../../$(made_as uml-src)

	echo "include $source/Makefile" > "$DIR/Makefile"
	ln -sfn $source "$DIR/source"
	rm -f "$ROOT/lib/modules/$RELEASE"/{build,source}
}

# what it is made of; of User-Mode Linux's patches only one makes a difference to it
made_of()
{
	cut -d ' ' -f 1 "$(readlink "$BUILD/uml-src").made"
	{ settings; cat "$TOP/scripts/uml/notifier.patch"; } | sha256sum
	"$(debug_compiler "$SERIES")" --version | sed 1q
}

main()
{
	SERIES=${1:-}
	is_debug "$SERIES" || die "usage: build.sh <one of: $DEBUG_ALL>"
	"$TOP/scripts/setup.sh" --source
	[ "$SERIES" != kmsan ] || "$TOP/scripts/setup.sh" --clang
	entry_needed "kernel-$SERIES" "$(made_of)" || return 0
	ROOT=$ENTRY
	"$TOP/scripts/setup.sh" --objtool
	RELEASE=$(make -s -C "$BUILD/uml-src" kernelversion)-$SERIES
	DIR=$ROOT/usr/src/linux-headers-$RELEASE
	build_kernel "the test host's kernel $RELEASE" $OBJECTS build
	relocate
	depmod -b "$ROOT" "$RELEASE"
	info "built the test host's kernel $RELEASE"
	entry_made
}

main "$@"
