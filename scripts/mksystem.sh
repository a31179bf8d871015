#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Makes a Debian to try packages on, as a root directory that one may enter, and what
# scripts/vm.sh --system boots it with. It has what every Debian has, its own kernel and
# systemd; no headers, no compiler.
#
#   scripts/mksystem.sh deb12 | deb13       root kernel boot.cpio release in the cache entry system-X
#
# A second run finds it done.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

PACKAGES=linux-image-amd64,systemd-sysv,udev,kmod,iproute2

suite()
{
	case $1 in
	deb12) echo bookworm ;;
	deb13) echo trixie ;;
	*) die "usage: mksystem.sh deb12 | deb13" ;;
	esac
}

# the mirror of this system's own sources
mirror()
{
	# shellcheck disable=SC2016 # apt expands these
	apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(LABEL)' 'Created-By: Packages' |
		awk '$2 == "Debian" && $3 == "Debian" { print $1; exit }'
}

bootstrap()
{
	mmdebstrap --mode=root --variant=minbase --include=$PACKAGES --skip=cleanup/apt/lists \
		"$SUITE" "$WORK/root" "deb $(mirror) $SUITE main" > "$WORK/mmdebstrap.log" 2>&1
}

# copy_module FILE: unpacked, for busybox
copy_module()
{
	local dest=$WORK/l1${1#"$WORK/root"}

	mkdir -p "$(dirname "$dest")"
	case $1 in
	*.xz) xz -dc "$1" > "${dest%.xz}" ;;
	*.zst) zstd -qdc "$1" > "${dest%.zst}" ;;
	*) cp "$1" "$dest" ;;
	esac
}

# what finds its disk
build_initramfs()
{
	local file busybox

	mkdir -p "$WORK"/l1/{bin,proc,sys,dev,root}
	busybox=$(type -P busybox) || die "busybox is not installed; run: scripts/setup.sh"
	cp -L "$busybox" "$WORK/l1/bin/busybox"
	ln -s busybox "$WORK/l1/bin/sh"
	modprobe -d "$WORK/root" -S "$RELEASE" -a --show-depends virtio_pci virtio_blk ext4 crc32c_generic |
		awk '$1 == "insmod" && !seen[$2]++ { print $2 }' > "$WORK/modules"
	while read -r file; do
		file=$WORK/root/${file#"$WORK"/root/}
		copy_module "$file"
		file=${file#"$WORK/root"}
		file=${file%.xz}
		echo "${file%.zst}"
	done < "$WORK/modules" > "$WORK/l1/modules"
	install -m 755 "$TOP/scripts/vm/system-init" "$WORK/l1/init"
	(cd "$WORK/l1" && find . | cpio -o -H newc --quiet) > "$WORK/boot.cpio"
	rm -rf "$WORK/l1" "$WORK/modules"
}

main()
{
	local stamp

	SUITE=$(suite "${1:-}")
	stamp="$PACKAGES $(cat "$0" "$TOP/scripts/vm/system-init" | sha256sum)"
	entry_needed "system-$1" "$stamp" || return 0
	[ "$(id -u)" -eq 0 ] || die "must run as root to make a Debian; run it again as root (sudo make ...)"
	info "making a bare Debian, $SUITE"
	WORK=$ENTRY
	watched "a bare $SUITE" 60 -- bootstrap || { tail -n 5 "$WORK/mmdebstrap.log" >&2; die "mmdebstrap failed, see $WORK/mmdebstrap.log (network?)"; }
	RELEASE=$(basename "$WORK"/root/lib/modules/*)
	build_initramfs
	python3 -B "$TOP/scripts/vm/vmlinux.py" "$WORK/root/boot/vmlinuz-$RELEASE" "$WORK/kernel"
	echo "$RELEASE" > "$WORK/release"
	entry_made
}

main "$@"
