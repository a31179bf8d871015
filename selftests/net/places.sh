# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For run.sh: the tests look for module, QEMU, guest and tools where scripts/vm.sh puts
# them in its test host. In a test machine of one's own, with these installed, links
# in those places lead to them; iperf, ping, ethtool, jq and python3 are to be installed,
# too. Two things no system has:
#
#   KSFT_GUEST_KERNEL, KSFT_GUEST_CPIO   what a guest boots: build/guest-6.12/kernel and
#                                        guest.cpio, made by scripts/mkimage.sh --guests

# place PLACE FILE: unless something is there, or there is no such file
place()
{
	[ ! -e "$1" ] && [ -n "$2" ] && [ -e "$2" ] || return 0
	mkdir -p "${1%/*}" && ln -s "$2" "$1"
}

# the programs of net tests, put on top of the guest's own by its kernel
place_overlay()
{
	local overlay=/kvnet/guest-overlay.cpio tree

	[ ! -e $overlay ] || return 0
	tree=$(mktemp -d)
	mkdir -p "$tree/usr/bin" && cp "$DIR"/{stream,memsum} "$tree/usr/bin/" &&
		(cd "$tree" && find . | cpio -o -H newc --quiet) > $overlay
	rm -r "$tree"
}

# 4, kselftest's "skipped", without a guest to boot
places()
{
	[ -e /guest-kernel ] && [ -e /guest.cpio ] && return
	if [ ! -e "${KSFT_GUEST_KERNEL:-}" ] || [ ! -e "${KSFT_GUEST_CPIO:-}" ]; then
		echo "# no guest to boot: KSFT_GUEST_KERNEL and KSFT_GUEST_CPIO name its kernel and its image"
		return 4
	fi
	place /guest-kernel "$(realpath "$KSFT_GUEST_KERNEL")"
	place /guest.cpio "$(realpath "$KSFT_GUEST_CPIO")"
	place /opt/qemu-7.2/bin/qemu-system-x86_64 "$(command -v qemu-system-x86_64)"
	place /opt/qemu-7.2/share /usr/share/qemu
	place /kvnet/kvnet.ko "$(modinfo -n kvnet 2> /dev/null)"
	place /kvnet/kvnetctl "$(command -v kvnetctl)"
	place /kvnet/tools/qemu-kvnet "$(command -v qemu-kvnet)"
	place_overlay
}
