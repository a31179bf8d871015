#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Prepares a VMM other than plain QEMU for the test host, or what looks at tracepoints
# there, as an entry of the cache, vmm-NAME, that scripts/vm.sh --tree adds to it: the
# programs named, with the libraries that they need. The packages are unpacked only, not
# installed.
#
#   scripts/mkvmm.sh dpdk | libvirt | tracers
#
# A second run finds it done.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

LIB=/usr/lib/x86_64-linux-gnu

settings()
{
	case $1 in
	dpdk)
		PACKAGES="dpdk-dev librte-net-virtio23 librte-bus-vdev23 librte-mempool-ring23"
		PROGRAMS=/usr/bin/dpdk-testpmd
		# drivers, which nobody is linked with; and what makes testpmd's output
		# come line by line
		EXTRA="$LIB/librte_net_virtio.so.23 $LIB/librte_bus_vdev.so.23 $LIB/librte_mempool_ring.so.23
			/usr/libexec/coreutils/libstdbuf.so"
		DATA=''
		;;
	libvirt)
		PACKAGES="libvirt-daemon libvirt-daemon-driver-qemu libvirt-clients"
		PROGRAMS="/usr/sbin/libvirtd /usr/bin/virsh"
		# libvirt asks QEMU for all that it can do, so also for TCG
		EXTRA="$LIB/libvirt/connection-driver/libvirt_driver_qemu.so $LIB/qemu/accel-tcg-x86_64.so"
		DATA="/usr/share/libvirt/cpu_map /usr/share/libvirt/schemas"
		;;
	tracers)
		PACKAGES="bpftrace trace-cmd linux-perf"
		PROGRAMS="/usr/bin/bpftrace /usr/bin/trace-cmd /usr/bin/perf"
		EXTRA=''
		DATA=''
		;;
	*) die "usage: mkvmm.sh dpdk | libvirt | tracers" ;;
	esac
}

# the packages themselves, and whatever they need that is not installed here
packages_needed()
{
	# shellcheck disable=SC2086 # a list of words
	{
		printf '%s\n' $PACKAGES
		apt-get install -s --no-install-recommends $PACKAGES | awk '$1 == "Inst" { print $2 }'
	} | sort -u
}

unpack_packages()
{
	local debs=$STAGE/debs pkg

	rm -rf "$STAGE"
	mkdir -p "$debs" "$STAGE/root"
	# shellcheck disable=SC2046 # a list of words
	(cd "$debs" && apt-get -o APT::Sandbox::User=root download -q $(packages_needed)) >> "$BUILD/apt.log" 2>&1 || return
	for pkg in "$debs"/*.deb; do
		dpkg -x "$pkg" "$STAGE/root"
	done
}

# the libraries of a program: unpacked ones before those of this machine
libraries_of()
{
	{ LD_LIBRARY_PATH=$STAGE/root$LIB:$STAGE/root/lib/x86_64-linux-gnu ldd "$1" 2>/dev/null || true; } |
		awk '/not found/ { print "missing:" $1; next } match($0, /\/[^ )]*/) { print substr($0, RSTART, RLENGTH) }'
}

# each library under one path, by its soname and as a file: a plugin that DPDK
# finds under two paths it loads twice, and panics
copy_program()
{
	local file=$1 from=$STAGE/root$1 lib dest

	[ -e "$from" ] || from=$file
	install -D -m 755 "$from" "$TREE$file"
	for lib in $(libraries_of "$from"); do
		[[ $lib != missing:* ]] || die "$file needs ${lib#missing:}, which no package gave"
		dest=$TREE${lib#"$STAGE/root"}
		[ -e "$dest" ] || install -D -m 755 "$lib" "$dest"
	done
}

copy_all()
{
	local item

	for item in $PROGRAMS $EXTRA; do
		copy_program "$item"
	done
	mkdir -p "$TREE/var"
	ln -s /run "$TREE/var/run"
	for item in $DATA; do
		mkdir -p "$TREE$(dirname "$item")"
		cp -a "$STAGE/root$item" "$TREE$item"
	done
}

main()
{
	local stamp

	NAME=${1:-}
	settings "$NAME"
	# shellcheck disable=SC2086 # a list of words
	stamp="$(apt-cache policy $PACKAGES | grep Candidate | sha256sum) $(sha256sum < "$0")"
	entry_needed "vmm-$NAME" "$stamp" || return 0
	STAGE=$ENTRY.tmp TREE=$ENTRY
	info "fetching and unpacking $NAME for the test host"
	# once more with fresh lists: these may name what the mirror has no more
	watched "downloading $NAME" "" -- unpack_packages ||
		{ locked "$APT_LOCK" apt-get update -q >> "$BUILD/apt.log" 2>&1 && unpack_packages; } ||
		die "downloading the packages of $NAME failed (see $BUILD/apt.log)"
	copy_all
	rm -rf "$STAGE"
	entry_made
}

main "$@"
