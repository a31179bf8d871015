#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Prepares the newest QEMU that Debian has for the test host, from the backports of the
# next release, as an entry of the cache, vmm-qemu, that scripts/vm.sh --tree adds to it: it
# is /opt/qemu-newest there, with the libraries that it needs. The packages are unpacked
# only, not installed.
#
#   scripts/mkqemu.sh
#
# A second run finds it done. Fails where it cannot be had.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/debs.sh
. "$(dirname "$0")/debs.sh"

SUITE=trixie-backports
PROGRAM=/usr/bin/qemu-system-x86_64
LOADER=/lib64/ld-linux-x86-64.so.2

# libraries that $PROGRAM needs, of those unpacked
libraries()
{
	"$ROOT$LOADER" --library-path "$ROOT/usr/lib/x86_64-linux-gnu" --list "$ROOT$PROGRAM" |
		awk '/not found/ { print "missing:" $1 } / => \// { print $3 }'
}

# Run by the loader of its own release; where QEMU finds its firmware is for -L.
copy_tree()
{
	local lib rom

	OPT=$TREE/opt/qemu-newest
	mkdir -p "$OPT/bin" "$OPT/lib" "$OPT/share"
	for lib in $(libraries); do
		[[ $lib != missing:* ]] || die "QEMU needs ${lib#missing:}, which no package gave"
		cp -L "$lib" "$OPT/lib/"
	done
	cp -L "$ROOT$LOADER" "$ROOT$PROGRAM" "$OPT/lib/"
	printf '%s\n' '#!/bin/sh' "exec ${OPT#"$TREE"}/lib/${LOADER##*/} --library-path ${OPT#"$TREE"}/lib --argv0 \$0 ${OPT#"$TREE"}/lib/${PROGRAM##*/} \"\$@\"" \
		> "$OPT/bin/${PROGRAM##*/}"
	chmod 755 "$OPT/bin/${PROGRAM##*/}"
	for rom in kvmvapic linuxboot_dma pvh; do
		cp -L "$ROOT/usr/share/qemu/$rom.bin" "$OPT/share/"
	done
	cp -L "$ROOT/usr/share/seabios/bios-256k.bin" "$OPT/share/"
}

main()
{
	# what is newest changes from day to day: what is there will do
	entry_needed vmm-qemu any || return 0
	TREE=$ENTRY ROOT=$ENTRY.root
	info "fetching and unpacking the newest QEMU for the test host"
	if ! backports_config $SUITE trixie ||
		! unpack_with_needs "$ROOT" 120 "the newest QEMU" -t $SUITE qemu-system-x86 qemu-system-common qemu-system-data seabios; then
		release
		die "the newest QEMU cannot be had here (see $BUILD/apt.log)"
	fi
	copy_tree
	rm -rf "$ROOT"
	entry_made
}

main "$@"
