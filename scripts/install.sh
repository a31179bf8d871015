#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What "make install" and its like do, and the Debian packages with them.
#
#   scripts/install.sh module      kvnet.ko, to /lib/modules/$KVER/updates
#   scripts/install.sh tools       qemu-kvnet and kvnetctl (if it is built), man pages, completions,
#                                  scripts for bpftrace (PREFIX/share/kvnet)
#   scripts/install.sh host        who may use /dev/kvnet (udev), loading at boot, parameters
#   scripts/install.sh apparmor    VMs of libvirt may use /dev/kvnet (where their profile includes a folder)
#   scripts/install.sh source      the module's source for DKMS, to /usr/src/kvnet-VERSION
#   scripts/install.sh all         module, tools, host and apparmor
#   scripts/install.sh uninstall   takes all of it away again, but for parameters that were edited
#   scripts/install.sh dkms-add | dkms-remove    the module, by DKMS, for each kernel to come
#
#   DESTDIR=       put everything below it, to be packed: nothing is said to the system
#   PREFIX=        of tools and the udev rule (/usr/local)
#   SYSCONFDIR=    of parameters and of loading at boot (/etc)
#   LOADDIR=       of loading at boot alone (SYSCONFDIR/modules-load.d)
#   ZSHDIR=        of completions for zsh (PREFIX/share/zsh/site-functions)
#   KVER=, KDIR=   the kernel, if it is not that for which the module was built; its headers
#   SIGN_KEY=, SIGN_CERT=    sign kvnet.ko with these, for Secure Boot
#   TREE=, TOOLS=  where kvnet.ko has been built (here), and kvnetctl (build/tools)
set -euo pipefail

TOP=$(cd "$(dirname "$0")/.." && pwd -P)
DESTDIR=${DESTDIR:-}
PREFIX=${PREFIX:-/usr/local}
SYSCONFDIR=${SYSCONFDIR:-/etc}
LOADDIR=${LOADDIR:-$SYSCONFDIR/modules-load.d}
ZSHDIR=${ZSHDIR:-$PREFIX/share/zsh/site-functions}
TREE=${TREE:-$TOP}
TOOLS=${TOOLS:-$TOP/build/tools}
SIGN_KEY=${SIGN_KEY:-}
SIGN_CERT=${SIGN_CERT:-}
# depmod and dkms are the superuser's
PATH=$PATH:/usr/sbin:/sbin

die()
{
	printf 'install.sh: %s\n' "$*" >&2
	exit 1
}

### what goes where: mode, file, destination

list_tools()
{
	local ctl=$TOP/tools/kvnetctl file section

	echo "755 $TOP/tools/qemu-kvnet $PREFIX/bin/qemu-kvnet"
	[ ! -x "$TOOLS/kvnetctl" ] && [ "${1:-}" != built-or-not ] || echo "755 $TOOLS/kvnetctl $PREFIX/sbin/kvnetctl"
	for file in "$TOP"/tools/*.[1-8] "$ctl"/*.[1-8]; do
		[ -f "$file" ] || continue
		section=${file##*.}
		echo "644 $file $PREFIX/share/man/man$section/${file##*/}"
	done
	for file in "$TOP"/tools/trace/*.bt; do
		[ ! -f "$file" ] || echo "644 $file $PREFIX/share/kvnet/${file##*/}"
	done
	# completions, whatever they are called there
	[ -d "$ctl" ] || return 0
	find "$ctl" -type f \( -name '*.bash' -o -name bash-completion \) | while read -r file; do
		echo "644 $file $PREFIX/share/bash-completion/completions/kvnetctl"
	done
	find "$ctl" -type f \( -name '*.zsh' -o -name _kvnetctl \) | while read -r file; do
		echo "644 $file $ZSHDIR/_kvnetctl"
	done
}

list_host()
{
	local from=$TOP/tools/packaging

	echo "644 $from/60-kvnet.rules $PREFIX/lib/udev/rules.d/60-kvnet.rules"
	echo "644 $from/modules-load.conf $LOADDIR/kvnet.conf"
	echo "644 $from/modprobe.conf $SYSCONFDIR/modprobe.d/kvnet.conf"
}

list_apparmor()
{
	echo "644 $TOP/tools/packaging/apparmor $SYSCONFDIR/apparmor.d/abstractions/libvirt-qemu.d/kvnet"
}

### how

# of what is to be written, or its first parent that exists
check_writable()
{
	local dir=$1

	until [ -e "$dir" ]; do
		dir=$(dirname "$dir")
	done
	[ -w "$dir" ] || die "may not write to $dir: run as root (sudo make ...), or set DESTDIR or PREFIX to a place of yours"
}

# what is below SYSCONFDIR is its administrator's: FILE PLACE
edited()
{
	[[ $2 == "$DESTDIR$SYSCONFDIR"/* ]] && [ -e "$2" ] && ! cmp -s "$1" "$2"
}

put_files()
{
	local mode file dest

	while read -r mode file dest; do
		dest=$DESTDIR$dest
		check_writable "$dest"
		if edited "$file" "$dest"; then
			echo "install.sh: $dest was edited, and stays as it is"
			continue
		fi
		install -D -m "$mode" "$file" "$dest"
	done
}

remove_files()
{
	local mode file dest

	# shellcheck disable=SC2034 # the mode
	while read -r mode file dest; do
		dest=$DESTDIR$dest
		[ -e "$dest" ] || continue
		if edited "$file" "$dest"; then
			echo "install.sh: $dest was edited, and stays"
			continue
		fi
		rm -f "$dest" 2> /dev/null || die "may not remove $dest: run as root (sudo make uninstall)"
	done
}

install_module()
{
	local from=$TREE/drivers/kvnet/kvnet.ko dest kernel

	[ -f "$from" ] || die "no kvnet.ko in $TREE/drivers/kvnet: build it first, with make"
	kernel=${KVER:-$(modinfo -F vermagic "$from" | cut -d' ' -f1)}
	dest=$DESTDIR/lib/modules/$kernel/updates/kvnet.ko
	check_writable "$dest"
	install -D -m 644 "$from" "$dest"
	strip --strip-debug "$dest"
	[ -z "$SIGN_KEY" ] || sign_module "$dest" "${KDIR:-/lib/modules/$kernel/build}"
	update_list "$kernel"
}

# for Secure Boot, which loads only what is signed with a key that it knows: FILE HEADERS
sign_module()
{
	[ -r "$SIGN_KEY" ] && [ -r "$SIGN_CERT" ] || die "SIGN_KEY and SIGN_CERT name a key and its certificate, which are to be readable"
	"$2/scripts/sign-file" sha256 "$SIGN_KEY" "$SIGN_CERT" "$1" || die "signing kvnet.ko failed"
}

# for modprobe; below DESTDIR there is no whole kernel to make a list of
update_list()
{
	[ -z "$DESTDIR" ] || return 0
	depmod "$1" || die "depmod failed: modprobe will not find kvnet"
}

# udev and the module notice at once
tell_host()
{
	[ -z "$DESTDIR" ] && [ "$(id -u)" -eq 0 ] || return 0
	udevadm control --reload 2> /dev/null && udevadm trigger --action=change --sysname-match=kvnet 2> /dev/null || true
}

uninstall()
{
	local dir

	remove_files < <(list_tools built-or-not; list_host; list_apparmor)
	for dir in "$DESTDIR"/lib/modules/*/updates; do
		[ -e "$dir/kvnet.ko" ] || continue
		rm -f "$dir/kvnet.ko" 2> /dev/null || die "may not write to $dir: run as root (sudo make uninstall)"
		rmdir --ignore-fail-on-non-empty "$dir"
		update_list "$(basename "$(dirname "$dir")")"
	done
	[ -n "$DESTDIR" ] || [ ! -d /sys/module/kvnet ] || echo "install.sh: kvnet is still loaded; make unload removes it"
}

# only what the module is built from
install_source()
{
	local version dir file

	version=$("$TOP/scripts/version.sh")
	dir=$DESTDIR/usr/src/kvnet-$version
	check_writable "$dir"
	rm -rf "$dir"
	(cd "$TOP" && find Kbuild drivers include \( -name '*.[ch]' -o -name Kbuild \) ! -name '*.mod.c') | while read -r file; do
		install -D -m 644 "$TOP/$file" "$dir/$file"
	done
	sed "s/#MODULE_VERSION#/$version/" "$TOP/tools/packaging/dkms.conf" > "$dir/dkms.conf"
}

check_dkms()
{
	[ "$(id -u)" -eq 0 ] || die "must run as root (sudo make $1)"
	command -v dkms > /dev/null || die "dkms is not installed; on Debian: apt-get install dkms linux-headers-amd64"
}

dkms_add()
{
	local kernel=${KVER:-$(uname -r)}

	check_dkms dkms-install
	[ -e "/lib/modules/$kernel/build/Makefile" ] || die "no headers of kernel $kernel: install linux-headers-$kernel"
	dkms_remove
	install_source
	dkms install --force "kvnet/$("$TOP/scripts/version.sh")" -k "$kernel"
}

# whatever version there is
dkms_remove()
{
	local dir version

	check_dkms dkms-remove
	for dir in /var/lib/dkms/kvnet/*/source; do
		[ -e "$dir" ] || continue
		version=$(basename "$(dirname "$dir")")
		dkms remove "kvnet/$version" --all
		rm -rf "/usr/src/kvnet-$version"
	done
}

main()
{
	case ${1:-} in
	module) install_module ;;
	tools) put_files < <(list_tools) ;;
	host) put_files < <(list_host); tell_host ;;
	apparmor) put_files < <(list_apparmor) ;;
	all) install_module; put_files < <(list_tools; list_host; list_apparmor); tell_host ;;
	source) install_source ;;
	uninstall) uninstall ;;
	dkms-add) dkms_add ;;
	dkms-remove) dkms_remove ;;
	*) die "usage: install.sh module | tools | host | apparmor | source | all | uninstall | dkms-add | dkms-remove" ;;
	esac
}

main "$@"
