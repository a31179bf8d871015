#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds what a kernel series boots, in the cache entry image-X: kernel, root.img (the test
# host's root directory: shell, modules, both QEMUs, the guest's kernel and initramfs) and
# boot.cpio, an initramfs that mounts it. What changes from run to run (kvnet.ko, tests) is
# not in them: vm.sh appends it to the initramfs.
#
#   scripts/mkimage.sh 6.12
#   scripts/mkimage.sh --guests     entries guest-X: kernel and guest.cpio of each
#                                   series that is here, for vm.sh --guests
#
# A kernel that looks for bugs (kasan, kcsan, kmsan) runs no guests: there is neither QEMU
# nor a guest in its image, and the root directory is the initramfs.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

HOST_MODULES="kvm_amd kvm_intel loop ext4 fuse vhost_net vhost_iotlb tun tap macvtap macvlan ipvtap ipvlan geneve veth bridge
dummy pktgen netconsole af_packet virtio_net virtio_pci virtio_blk virtio_console sch_fq_codel sch_netem cls_u32 sch_plug
sch_ingress cls_bpf nf_tables crc32c_generic"
GUEST_MODULES="virtio_net virtio_pci virtio_iommu virtio_console pktgen af_packet dummy 8139cp
9pnet_virtio 9p sch_fq cls_flower cls_matchall act_skbedit sch_ingress"

BOOT_MODULES="nfit nd_pmem ext4 crc32c_generic overlay"

HOST_TOOLS="bash kmod ip ethtool iperf ping taskset setpriv perl jq python3"
GUEST_TOOLS="iperf ping ethtool"

copy_modules()
{
	local root=$1 from=$BUILD/kernel-$SERIES to=$1/lib/modules/$RELEASE module file rel

	shift
	mkdir -p "$to"
	cp "$from/lib/modules/$RELEASE"/modules.{builtin,builtin.modinfo,order} "$to/"
	for module in "$@"; do
		# what this kernel has built in, or not at all, is left out
		modprobe -d "$from" -S "$RELEASE" --show-depends "$module" 2>/dev/null || true
	done | awk '$1 == "insmod" { print $2 }' | sort -u | while read -r file; do
		rel=${file#*/lib/modules/"$RELEASE"/}
		mkdir -p "$to/$(dirname "$rel")"
		case $file in
		*.xz) xz -dc "$file" > "$to/${rel%.xz}" ;;
		*.zst) zstd -qdc "$file" > "$to/${rel%.zst}" ;;
		*) cp "$file" "$to/$rel" ;;
		esac
	done
	depmod -b "$root" "$RELEASE"
}

# copy_program <root> <file> [destination]: with the libraries that it needs
copy_program()
{
	local root=$1 file=$2 dest=${3:-$2} lib

	mkdir -p "$root$(dirname "$dest")"
	cp -L "$file" "$root$dest"
	{ ldd "$file" 2>/dev/null || true; } | grep -o '/[^ )]*' | sort -u | while read -r lib; do
		[ -e "$root$lib" ] && continue
		mkdir -p "$root$(dirname "$lib")"
		cp -L "$lib" "$root$lib"
	done
}

copy_tools()
{
	local root=$1 tool path

	shift
	for tool in "$@"; do
		path=$(PATH=/usr/sbin:/usr/bin:/sbin:/bin type -P "$tool") ||
			die "$tool is not installed; run: scripts/setup.sh"
		copy_program "$root" "$path" "/usr/bin/$tool"
	done
}

# what of Python's library the tests use
copy_python_modules()
{
	/usr/bin/python3 -I -c 'import contextlib, json, socket, struct, subprocess, sys
files = {getattr(module, "__file__", None) for module in sys.modules.values()}
print(*files - {None}, sep="\n")' | xargs cp -L --parents -t "$1"
	# else an emulated CPU compiles them for seconds, each time
	/usr/bin/python3 -m compileall -q --invalidation-mode unchecked-hash "$1/usr/lib"
}

base_tree()
{
	local root=$1 busybox applet

	mkdir -p "$root"/{bin,sbin,etc,proc,sys,dev,run,tmp,usr/bin,usr/sbin,lib,lib64,root}
	busybox=$(type -P busybox) || die "busybox is not installed; run: scripts/setup.sh"
	cp -L "$busybox" "$root/bin/busybox"
	for applet in $("$busybox" --list); do
		[ -e "$root/bin/$applet" ] || ln -s busybox "$root/bin/$applet"
	done
	echo 'root:x:0:0:root:/root:/bin/sh' > "$root/etc/passwd"
	echo 'root:x:0:' > "$root/etc/group"
}

pack()
{
	(cd "$1" && find . | cpio -o -H newc --quiet) > "$2"
}

build_guest()
{
	local root=$WORK/l2

	base_tree "$root"
	# shellcheck disable=SC2086 # lists of words
	copy_modules "$root" $GUEST_MODULES
	# shellcheck disable=SC2086
	copy_tools "$root" $GUEST_TOOLS
	install -m 755 "$TOP/scripts/vm/guest-init" "$root/init"
	pack "$root" "$WORK/l2.cpio"
}

# what QEMU boots at once
unpack_kernel()
{
	python3 -B "$TOP/scripts/vm/vmlinux.py" "$BUILD/kernel-$SERIES/boot/vmlinuz-$RELEASE" "$1"
}

# both QEMUs at /opt/qemu-VERSION, each with the firmware that a guest needs
copy_qemu()
{
	local root=$1 version=$2 binary=$3 share=$4 bios=$5 rom

	copy_program "$root" "$binary" "/opt/qemu-$version/bin/qemu-system-x86_64"
	mkdir -p "$root/opt/qemu-$version/share"
	for rom in kvmvapic.bin linuxboot_dma.bin linuxboot.bin pvh.bin; do
		cp -L "$share/$rom" "$root/opt/qemu-$version/share/"
	done
	cp -L "$bios/bios-256k.bin" "$root/opt/qemu-$version/share/"
	# iPXE, the guest of test_ipxe.sh
	cp -L /usr/lib/ipxe/qemu/efi-virtio.rom "$root/opt/qemu-$version/share/"
}

build_host()
{
	local root=$WORK/root tool

	base_tree "$root"
	# shellcheck disable=SC2086 # lists of words
	copy_modules "$root" $HOST_MODULES
	# shellcheck disable=SC2086
	copy_tools "$root" $HOST_TOOLS
	copy_python_modules "$root"
	for tool in modprobe insmod rmmod lsmod modinfo depmod; do
		rm -f "$root/bin/$tool"
		ln -s ../usr/bin/kmod "$root/bin/$tool"
	done
	install -m 755 "$TOP/scripts/vm/host-init" "$root/init"
}

# No journal: it is never written. An NVDIMM's size is a multiple of 128 MiB.
build_root_image()
{
	local mb

	mb=$(du -sm "$WORK/root" | cut -f 1)
	truncate -s $(((mb + mb / 8 + 128) / 128 * 128))M "$WORK/root.img"
	PATH=$PATH:/sbin:/usr/sbin mkfs.ext4 -q -m 0 -O ^has_journal -d "$WORK/root" "$WORK/root.img" ||
		die "cannot make a file system; run: scripts/setup.sh"
}

# what mounts it
build_boot()
{
	local root=$WORK/boot

	base_tree "$root"
	# shellcheck disable=SC2086 # a list of words
	copy_modules "$root" $BOOT_MODULES
	install -m 755 "$TOP/scripts/vm/boot-init" "$root/init"
	pack "$root" "$WORK/boot.cpio"
}

copy_for_guests()
{
	local root=$1

	copy_qemu "$root" 7.2 /usr/bin/qemu-system-x86_64 /usr/share/qemu /usr/share/seabios
	if [ -x "$BUILD/qemu10/usr/bin/qemu-system-x86_64" ]; then
		copy_qemu "$root" 10.0 "$BUILD/qemu10/usr/bin/qemu-system-x86_64" \
			"$BUILD/qemu10/usr/share/qemu" /usr/share/seabios
	fi
	cp "$BUILD/kernel-$SERIES/boot/vmlinuz-$RELEASE" "$root/guest-bzimage"
	unpack_kernel "$root/guest-kernel"
	cp "$WORK/l2.cpio" "$root/guest.cpio"
}

# everything that the images are made from, as one line
inputs()
{
	made_as "kernel-$SERIES"
	! is_made qemu10 || made_as qemu10
	cat "$TOP/scripts/mkimage.sh" "$TOP/scripts/vm/vmlinux.py" "$TOP"/scripts/vm/*-init | sha256sum
	dpkg-query -W -f '${Package} ${Version}\n' qemu-system-x86 busybox-static iperf iputils-ping jq python3 seabios ipxe-qemu e2fsprogs
}

# the guest alone, of every series that is unpacked
build_guests()
{
	local stamp

	for SERIES in $SERIES_ALL newest; do
		is_made "kernel-$SERIES" || continue
		RELEASE=$(kernel_release "$SERIES")
		stamp=$(inputs | sha256sum)
		entry_needed "guest-$SERIES" "$stamp" || continue
		info "building a guest, kernel $RELEASE"
		WORK=$ENTRY
		build_guest
		unpack_kernel "$WORK/kernel"
		mv "$WORK/l2.cpio" "$WORK/guest.cpio"
		echo "$RELEASE" > "$WORK/release"
		rm -rf "$WORK/l2"
		entry_made
	done
}

main()
{
	local stamp

	if [ "${1:-}" = --guests ]; then
		build_guests
		return
	fi
	[ $# -eq 1 ] || die "usage: mkimage.sh <kernel series, one of: $SERIES_ALL $DEBUG_ALL>"
	SERIES=$1
	RELEASE=$(kernel_release "$SERIES")
	stamp=$(inputs | sha256sum)
	entry_needed "image-$SERIES" "$stamp" || return 0
	info "building the images of the test host and its guest, kernel $RELEASE"
	WORK=$ENTRY
	watch_begin "images of $RELEASE" 15
	build_host
	if is_debug "$SERIES"; then
		pack "$WORK/root" "$WORK/boot.cpio"
	else
		build_guest
		copy_for_guests "$WORK/root"
		build_root_image
		build_boot
	fi
	unpack_kernel "$WORK/kernel"
	watch_end
	rm -rf "${WORK:?}"/{root,boot,l2,l2.cpio}
	entry_made
}

main "$@"
