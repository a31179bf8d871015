#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Loads the module into the running kernel, after what it needs; or removes it.
#
#   scripts/load.sh load drivers/kvnet/kvnet.ko
#   scripts/load.sh unload
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

load_module()
{
	local file=$1 built

	[ ! -d /sys/module/kvnet ] || die "kvnet is loaded already; make unload removes it"
	[ -f "$file" ] || die "no $file: build it first, with make"
	built=$(modinfo -F vermagic "$file" | cut -d' ' -f1)
	[ "$built" = "$(uname -r)" ] ||
		die "$file was built for kernel $built, this is $(uname -r): run make again"
	modprobe -a tun tap || die "this kernel has no tun or tap module: install the full kernel image, not a cut-down one"
	insmod "$file" || die "insmod failed; dmesg | tail tells why (with Secure Boot the module must be signed)"
	echo "kvnet is loaded: $(ls -l /dev/kvnet)"
}

unload_module()
{
	[ -d /sys/module/kvnet ] || die "kvnet is not loaded"
	rmmod kvnet || die "kvnet is in use: end the QEMU processes that hold /dev/kvnet (fuser /dev/kvnet), then run it again"
	echo "kvnet is removed"
}

[ "$(id -u)" -eq 0 ] || die "must run as root (sudo make ${1:-load})"
case ${1:-} in
load) load_module "$2" ;;
unload) unload_module ;;
*) die "usage: load.sh load FILE | unload" ;;
esac
