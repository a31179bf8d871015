#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Prepares a Debian 12 machine for the virtual test host: installs the packages
# that are lacking, and unpacks test kernels and a newer QEMU into the cache (lib.sh).
# Nothing is loaded or configured on this machine, no kernel is installed.
#
#   scripts/setup.sh [--packages-only] [6.12] [6.1]     default: both series
#   scripts/setup.sh --first       only the packages of "make test"
#   scripts/setup.sh --guests      both, and the newest kernel, for guests only
#   scripts/setup.sh kasan | kcsan | kmsan  a test host's kernel that looks for bugs, built here
#   scripts/setup.sh newest        the newest kernel as a test host, with what builds modules for it
#   scripts/setup.sh --perf        packages, and perf
#   scripts/setup.sh --report      only what draws and judges the laboratory's reports
#   scripts/setup.sh --docs        only what makes web pages of the documentation
#   scripts/setup.sh --tools       only the packages that tools/ is built with
#   scripts/setup.sh --source      only the source that User-Mode Linux is built from
#   scripts/setup.sh --source-newest  only that of one with several CPUs
#   scripts/setup.sh --kernel-tests  the kernel's own tests of network drivers, what they call, and the newest kernel
#   scripts/setup.sh --ynl         that, with the schema of netlink specifications (ynl.sh, netlink-gen.py)
#   scripts/setup.sh --objtool     packages, and what a kernel for hardware is built with
#   scripts/setup.sh --clang       packages, and what builds the kernel kmsan
#   scripts/setup.sh --fuzz        packages, and clang with libFuzzer
#   scripts/setup.sh --proofs      packages, and CBMC, the model checker of selftests/proofs
#   scripts/setup.sh --deb         only what builds Debian packages; on Debian 13, too
#   scripts/setup.sh --cross       packages, and what "make build-matrix" builds with
#   scripts/setup.sh --systems     packages, and what tries Debian packages ("make test-packages")
#
# A second run finds everything done and takes about a second.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/debs.sh
. "$(dirname "$0")/debs.sh"
# shellcheck source=scripts/setup-cross.sh
. "$(dirname "$0")/setup-cross.sh"
# shellcheck source=scripts/setup-kernel-tests.sh
. "$(dirname "$0")/setup-kernel-tests.sh"

NEED_MB=4000

PACKAGES="qemu-system-x86 seabios ipxe-qemu busybox-static cpio e2fsprogs kmod xz-utils zstd iperf
iputils-ping ethtool iproute2 procps jq python3 gcc make libc6-dev bc flex bison patch pahole sparse shellcheck spin"
DEB_PACKAGES="build-essential debhelper dh-dkms fakeroot libmnl-dev pkgconf"
TOOLS_PACKAGES="gcc make libc6-dev libmnl-dev"
REPORT_PACKAGES="python3-matplotlib python3-scipy"
# the output of kvnetctl is compared with its schema, and read by a parser of others
PACKAGES="$PACKAGES $TOOLS_PACKAGES python3-jsonschema libyajl-dev codespell"

check_root()
{
	[ "$(id -u)" -eq 0 ] ||
		die "must run as root to install packages; run it again as root (sudo make ...)"
}

check_distribution()
{
	local id='' version=''

	if [ -r /etc/os-release ]; then
		id=$(sed -n 's/^ID=//p' /etc/os-release | tr -d '"')
		version=$(sed -n 's/^VERSION_ID=//p' /etc/os-release | tr -d '"')
	fi
	[ "$id-$version" = debian-12 ] || [ "$id-$version" = "debian-$ALSO" ] ||
		die "unsupported distribution '${id:-unknown} ${version}': use Debian 12 (a container or VM of it will do)"
	[ "$(dpkg --print-architecture)" = amd64 ] ||
		die "unsupported architecture $(dpkg --print-architecture): use an amd64 machine"
}

check_space()
{
	local free

	mkdir -p "$BUILD" 2>/dev/null || die "cannot create $BUILD: make its parent writable or set KVNET_BUILD"
	make_cache
	! is_made image-6.12 || return 0
	free=$(df -Pm "$CACHE" | awk 'NR == 2 { print $4 }')
	[ "$free" -ge "$NEED_MB" ] ||
		die "not enough space for $CACHE: $free MB free, $NEED_MB MB needed; free some or set KVNET_CACHE to another disk"
}

# KVNET_BUILD may be elsewhere than the checkout
check_programs_run()
{
	local file=$BUILD/.can-run.$$ status=0

	install -m 755 /dev/null "$file"
	[ -x "$file" ] || status=1
	rm -f "$file"
	[ $status -eq 0 ] || die "programs cannot be run from $BUILD (mounted noexec?): set KVNET_BUILD to another disk"
}

missing_packages()
{
	local pkg

	for pkg in $PACKAGES; do
		dpkg-query -W -f '${Status}\n' "$pkg" 2>/dev/null |
			grep -q '^install ok installed' || echo "$pkg"
	done
}

install_packages()
{
	local missing

	missing=$(missing_packages | tr '\n' ' ')
	[ -n "${missing// /}" ] || return 0
	apt_update
	# another run may have installed them meanwhile
	hold "$APT_LOCK"
	missing=$(missing_packages | tr '\n' ' ')
	if [ -n "${missing// /}" ]; then
		info "installing: $missing"
		# shellcheck disable=SC2086 # a list of words
		watched "installing packages" 60 -- quiet env DEBIAN_FRONTEND=noninteractive \
			apt-get install -q -y --no-install-recommends $missing ||
			die "apt-get install failed ($(apt_error)); install by hand: apt-get install $missing"
	fi
	release
}

# the newest image of a series that apt can really deliver
newest_image()
{
	local pattern pkg

	case $1 in
	6.1) pattern='^linux-image-6\.1\.0-[0-9]+-amd64-unsigned$' ;;
	*) pattern="^linux-image-${1//./\\.}\\.[0-9]+\\+deb12-amd64-unsigned\$" ;;
	esac
	while read -r pkg; do
		if apt-get download -q --print-uris "$pkg" >/dev/null 2>&1; then
			echo "$pkg"
			return
		fi
	done < <(apt-cache pkgnames "linux-image-$1" | grep -E "$pattern" | sort -rV)
}

# image, both halves of the headers, and the build tools that these name
kernel_packages()
{
	local image=$1 release headers

	release=${image#linux-image-}
	release=${release%-unsigned}
	headers=linux-headers-$release
	echo "$image"
	echo "$headers"
	echo "linux-headers-${release%-amd64}-common"
	apt-cache depends "$headers" | sed -n 's/.*Depends: \(linux-kbuild-.*\)/\1/p'
}

# The headers name their common half by an absolute path under /usr/src. The two are
# beside each other.
relocate_headers()
{
	sed -i 's,^include /usr/src/,include ../,' "$1"/usr/src/linux-headers-*-amd64/Makefile
}

unpack_kernel()
{
	local series=$1 image pkg deb

	image=$(newest_image "$series")
	if [ -z "$image" ]; then
		apt_update
		image=$(newest_image "$series")
	fi
	[ -n "$image" ] || die "apt offers no kernel of series $series; enable bookworm-security in apt's sources"
	entry_needed "kernel-$series" "$image" || return 0
	info "fetching and unpacking $image with its headers"
	for pkg in $(kernel_packages "$image"); do
		deb=$(fetch_deb "$pkg")
		dpkg -x "$deb" "$ENTRY" || die "unpacking $deb failed; delete it and run again"
	done
	relocate_headers "$ENTRY"
	depmod -b "$ENTRY" "$(basename "$ENTRY"/lib/modules/*)"
	entry_made
}

unpack_qemu10()
{
	local pkg deb

	entry_needed qemu10 any || return 0
	info "fetching QEMU 10 from the distribution's backports"
	if ! backports_config bookworm-backports || ! apt-cache "${BPO[@]}" show qemu-system-x86 2>/dev/null | grep '^Version: 1:10' > /dev/null; then
		info "QEMU 10 cannot be had here: going on with Debian's own 7.2 only"
		release
		return
	fi
	for pkg in qemu-system-x86 qemu-system-common qemu-system-data; do
		deb=$(fetch_deb "$pkg" "${BPO[@]}" -t bookworm-backports)
		dpkg -x "$deb" "$ENTRY" || die "unpacking $deb failed; delete it and run again"
	done
	if ldd "$ENTRY/usr/bin/qemu-system-x86_64" | grep 'not found' > /dev/null; then
		info "QEMU 10 lacks libraries here: going on with Debian's own 7.2 only"
		rm -rf "$ENTRY"
		release
		return
	fi
	entry_made
}

# the image's package of a release: signed, or, before that has been done, not
binary_package()
{
	local pkg

	for pkg in "linux-binary-$1" "linux-binary-unsigned-$1"; do
		! bpo_has "$pkg" || { echo "$pkg"; return; }
	done
	return 1
}

# the newest release of a kernel that the configuration BPO can really deliver
newest_release()
{
	local release

	while read -r release; do
		if bpo_has "linux-modules-$release" "linux-headers-$release" && binary_package "$release" > /dev/null; then
			echo "$release"
			return
		fi
	done < <(apt-cache "${BPO[@]}" pkgnames linux-modules- | sed -nE 's/^linux-modules-([0-9.]+\+deb13-amd64)$/\1/p' | sort -rV)
}

# Image and modules of the newest kernel, for guests and for a test host. They come
# in other packages than those of Debian 12, laid out below /usr.
unpack_newest()
{
	local release='' pkg deb image

	# what is newest changes from day to day: what is there will do
	entry_needed kernel-newest any || return 0
	info "fetching the newest kernel that Debian has"
	! backports_config trixie-backports || release=$(newest_release)
	if [ -z "$release" ]; then
		info "it cannot be had here: going on without"
		release
		return
	fi
	mkdir -p "$ENTRY/boot"
	for pkg in "$(binary_package "$release")" "linux-modules-$release" "linux-base-$release"; do
		deb=$(fetch_deb "$pkg" "${BPO[@]}")
		dpkg -x "$deb" "$ENTRY" || die "unpacking $deb failed; delete it and run again"
	done
	ln -s usr/lib "$ENTRY/lib"
	image=$(cd "$ENTRY/boot" && echo ../lib/modules/"$release"/vmlinuz*)
	ln -s "$image" "$ENTRY/boot/vmlinuz-$release"
	depmod -b "$ENTRY" "$release"
	entry_made
}

# A module for the newest kernel is built with that one's headers and their own
# compiler and tools, which need newer libraries than Debian 12 has: a root directory
# with all of them, unpacked only, for build-module.sh.
BUILDER_PACKAGES="make bash dash coreutils sed grep mawk findutils diffutils perl-base pahole sparse"

newest_config()
{
	backports_config trixie-backports trixie || return
	# apt shall think that nothing is installed
	: > "$CACHE/apt/trixie-backports/status"
	BPO+=(-o "Dir::State::status=$CACHE/apt/trixie-backports/status")
}

# newest_wants PACKAGE...: all that such a root consists of, with these
newest_wants()
{
	# shellcheck disable=SC2086 # a list of words
	apt-get "${BPO[@]}" install -s --no-install-recommends $BUILDER_PACKAGES "linux-headers-$(kernel_release newest)" "$@" 2>> "$BUILD/apt.log" |
		awk '$1 == "Inst" { print $2 }'
}

unpack_builder()
{
	local release

	is_made kernel-newest || die "no newer kernel can be had here; see $BUILD/apt.log"
	release=$(kernel_release newest)
	entry_needed root-newest "$release" || return 0
	info "fetching and unpacking what builds modules for $release"
	newest_config || die "apt-get update failed (see $BUILD/apt.log); run again"
	# shellcheck disable=SC2086 # a list of words
	if ! unpack_with_needs "$ENTRY" 160 "compiler and headers" $BUILDER_PACKAGES "linux-headers-$release"; then
		rm -f "$(readlink "$BUILD/kernel-newest").made"
		die "apt does not offer the headers of $release any more; run again for a newer kernel"
	fi
	mkdir -p "$ENTRY/kvnet"
	[ -e "$ENTRY/usr/bin/awk" ] || ln -s mawk "$ENTRY/usr/bin/awk"
	entry_made
}

# CBMC, with the libraries of its own release: it runs beside this one's.
CBMC_PACKAGES="cbmc minisat libc6 libgcc-s1 libstdc++6 zlib1g"

unpack_cbmc()
{
	local pkg deb

	# what is newest changes: what is there will do
	entry_needed cbmc any || return 0
	info "fetching and unpacking CBMC from the next release"
	newest_config || die "apt-get update failed (see $BUILD/apt.log); run again"
	for pkg in $CBMC_PACKAGES; do
		deb=$(fetch_deb "$pkg" "${BPO[@]}")
		dpkg -x "$deb" "$ENTRY" || die "unpacking $deb failed; delete it and run again"
	done
	entry_made
}

# What of the kernel's source is large, and not for User-Mode Linux. The Kconfig
# and Makefiles there stay, since others name them.
source_to_skip()
{
	local dir

	printf -- '--exclude=*/%s\n' 'tools/testing/*' 'tools/perf/*' '*.dts*' '*_defconfig' 'Documentation/*.rst' 'Documentation/*.yaml'
	for dir in drivers/{accel,clk,crypto,gpu,hid,hwmon,iio,infiniband,md,media,mfd,mtd,pinctrl,scsi,soc,staging,usb,video} \
		drivers/net/{can,dsa,ethernet,phy,usb,wireless,wwan} sound \
		arch/{arc,arm,arm64,m68k,mips,parisc,powerpc,riscv,s390,sh,sparc}; do
		printf -- '--exclude=*/%s/*.[chS]\n' "$dir"
	done
}

# unpack_source NAME DEB PATCH...
unpack_source()
{
	local name=$1 deb=$2 input skip series

	shift 2
	input="${deb##*/} $(cat "$@" | sha256sum)"
	entry_needed "$name-src" "$input" || return 0
	info "unpacking the source of User-Mode Linux"
	series=${deb##*/}
	series=${series%%_*}
	readarray -t skip < <(source_to_skip)
	watch_begin "source of User-Mode Linux, MB" 424 megabytes_in "$ENTRY"
	dpkg --fsys-tarfile "$deb" | tar -xO "./usr/src/$series.tar.xz" |
		tar -xJ -C "$ENTRY" --strip-components=1 "${skip[@]}" || die "unpacking $deb failed; delete it and run again"
	watch_end
	patch -s -d "$ENTRY" -p1 < <(cat "$@") || die "the patches in $(dirname "$1") do not apply to $deb"
	entry_made
}

# what is newest changes from day to day: what is there will do
newest_source()
{
	local pkg

	for pkg in "$DEBS"/linux-source-*~bpo13+*_all.deb; do
		[ ! -s "$pkg" ] || { echo "$pkg"; return; }
	done
	backports_config trixie-backports || return 1
	pkg=$(apt-cache "${BPO[@]}" pkgnames linux-source- | grep -E '^linux-source-[0-9.]+$' | sort -V | tail -n 1)
	[ -n "$pkg" ] && fetch_deb "$pkg" "${BPO[@]}"
}

# The tool that reads specifications is part of that source, what these are to look like
# was not unpacked
unpack_schema()
{
	local deb file=Documentation/netlink/genetlink-legacy.yaml

	deb=$(fetch_deb linux-source-6.12)
	entry_needed ynl "${deb##*/} $file" || return 0
	dpkg --fsys-tarfile "$deb" | tar -xO ./usr/src/linux-source-6.12.tar.xz |
		tar -xJ -C "$ENTRY" --strip-components=3 --wildcards "*/$file" || die "unpacking $file failed"
	entry_made
}

main()
{
	local series deb packages_only=0 guests=0 source_only=0 tools=0 cross=0 proofs=0 ALSO=none

	case ${1:-} in
	--packages-only) packages_only=1; shift ;;
	--first) packages_only=1; PACKAGES="$PACKAGES python3-sphinx" ;;
	--perf) packages_only=1; PACKAGES="$PACKAGES linux-perf binutils"; shift ;;
	--clang) packages_only=1; PACKAGES="$PACKAGES clang-$CLANG" ;;
	--fuzz) packages_only=1; PACKAGES="$PACKAGES clang libclang-rt-14-dev llvm" ;;
	--objtool) packages_only=1; PACKAGES="$PACKAGES libelf-dev" ;;
	--systems) packages_only=1; PACKAGES="$PACKAGES $DEB_PACKAGES lintian mmdebstrap" ;;
	--deb)
		packages_only=1 ALSO=13 NEED_MB=200
		PACKAGES=$DEB_PACKAGES
		# who has them need not be root
		[ -n "$(missing_packages)" ] || return 0
		;;
	--cross) cross=1; PACKAGES="$PACKAGES $CROSS_PACKAGES"; shift ;;
	--proofs) proofs=1 PACKAGES="gcc libc6-dev python3" ;;
	--tools) tools=1 packages_only=1; PACKAGES=$TOOLS_PACKAGES; shift ;;
	--report | --docs)
		tools=1 packages_only=1
		PACKAGES=$REPORT_PACKAGES
		[ "$1" = --report ] || PACKAGES=python3-sphinx
		[ -n "$(missing_packages)" ] || return 0
		;;
	--guests) guests=1; shift ;;
	--source | --source-newest) source_only=1 ;;
	--kernel-tests) source_only=1; PACKAGES="$PACKAGES $KERNEL_TESTS_PACKAGES" ;;
	--ynl) source_only=1; PACKAGES="$PACKAGES python3-yaml" ;;
	esac
	# what is of use on any host can be built there
	[ "$tools" -eq 1 ] && have apt-get || check_distribution
	check_root
	check_space
	check_programs_run
	mkdir -p "$DEBS"
	install_packages
	[ "$packages_only" -eq 0 ] || return 0
	if [ "$proofs" -eq 1 ]; then
		unpack_cbmc
		return
	fi
	if [ "$source_only" -eq 1 ]; then
		if [ "$1" = --source-newest ] || [ "$1" = --kernel-tests ]; then
			deb=$(newest_source) || die "the source of a newer kernel cannot be had here; see $BUILD/apt.log"
			if [ "$1" = --kernel-tests ]; then
				unpack_kernel_tests "$deb"
				unpack_newest
			else
				unpack_source uml-smp "$deb" "$TOP"/scripts/uml/{clock,notifier,smp/*}.patch
			fi
			return
		fi
		deb=$(fetch_deb linux-source-6.12)
		unpack_source uml "$deb" "$TOP"/scripts/uml/*.patch
		[ "${1:-}" != --ynl ] || unpack_schema
		return
	fi
	# shellcheck disable=SC2086 # a list of words
	[ $# -gt 0 ] || set -- $SERIES_ALL
	for series in "$@"; do
		check_series "$series"
		if [ "$series" = newest ]; then
			unpack_newest
			unpack_builder
		elif is_debug "$series"; then
			"$TOP/scripts/debug/build.sh" "$series"
		else
			unpack_kernel "$series"
		fi
	done
	if [ "$cross" -eq 1 ]; then
		setup_cross "$@"
		return
	fi
	unpack_qemu10
	[ "$guests" -eq 0 ] || unpack_newest
}

main "$@"
