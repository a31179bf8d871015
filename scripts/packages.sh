#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tries the Debian packages on a Debian 12 and a Debian 13, each a bare system of its own:
# installs them there with apt, which fetches what they need and has dkms build the module,
# boots it and uses them, upgrades, removes, and tries "make install" as well. What apt does
# happens in the system's root directory on this machine, entered by unshare and chroot
# without the right to load a module; what needs the kernel in a virtual machine that
# boots from it. The very last line is "N passed, N failed, N skipped".
#
#   SYSTEMS="deb12 deb13"    which
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/lanes.sh
. "$(dirname "$0")/lanes.sh"

SYSTEMS=${SYSTEMS:-deb12 deb13}
DEB=$BUILD/deb
NEXT=$BUILD/deb-next
# with what is put in place of uname
INSIDE_PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# seconds of one system's: what apt took for kvnet and for qemu, boot and guest; and what is said of that
declare -A TOOK
TIMES=()

# inside COMMAND...: in the system's root, whose kernel seems to run
inside()
{
	# shellcheck disable=SC2016 # arguments of that shell
	unshare -m -p -u -f --kill-child bash -c 'set -e; root=$0 apt=$1; shift
		mount -t proc proc "$root/proc"
		mount --rbind /dev "$root/dev"
		mount --bind "$apt" "$root/var/cache/apt/archives"
		chroot "$root" setpriv --bounding-set=-sys_module,-sys_boot,-sys_rawio,-net_admin -- env -i \
			"$@"; exit $?' \
		"$ROOT" "$APT" "PATH=$INSIDE_PATH" HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@" < /dev/null
}

# a copy of the bare system to work on
fresh_root()
{
	rm -rf "$ROOT"
	cp -a --reflink=auto "$BARE/root" "$ROOT"
	mkdir -p "$APT/partial" "$ROOT/packages"
	cp -L /etc/resolv.conf "$ROOT/etc/resolv.conf"
	fresh_uname
}

# in a chroot the machine's kernel runs
fresh_uname()
{
	install -m 755 /dev/stdin "$ROOT/usr/local/bin/uname" <<-END
		#!/bin/sh
		[ "\$*" = -r ] && echo $RELEASE || exec /usr/bin/uname "\$@"
	END
}

# apt_install PACKAGE...: with what apt would do by itself, so with what they recommend.
# Once more with fresh lists: these may name what the mirror has no more.
apt_install()
{
	local command=(inside apt-get -o "DPkg::Path=$INSIDE_PATH" install -y "$@")

	"${command[@]}" > "$LOG/apt.log" 2>&1 ||
		{ inside apt-get update > "$LOG/update.log" 2>&1 && "${command[@]}" > "$LOG/apt.log" 2>&1; } ||
		{ tail -n 30 "$LOG/apt.log"; return 1; }
}

built_for_kernel()
{
	compgen -G "$ROOT/lib/modules/$RELEASE/updates/dkms/kvnet.ko*" > /dev/null || { tail -n 30 "$LOG/apt.log"; return 1; }
}

install_them()
{
	local start=$EPOCHREALTIME

	cp "$DEB"/kvnet-*_"$VERSION"_*.deb "$ROOT/packages/"
	apt_install "/packages/kvnet-dkms_${VERSION}_all.deb" "/packages/kvnet-tools_${VERSION}_amd64.deb" "linux-headers-$RELEASE" || return
	TOOK[kvnet]=$(since "$start")
	cp "$LOG/apt.log" "$LOG/apt-install.log"
	built_for_kernel
}

# what a host of guests has, kvnet or not
install_qemu()
{
	local start=$EPOCHREALTIME

	apt_install --no-install-recommends qemu-system-x86 iputils-ping || return
	TOOK[qemu]=$(since "$start")
}

# From a system that has nothing of kvnet to a guest on it. The guest's time is until it has
# answered its pings and has ended.
note_times()
{
	local what seconds=0 text

	for what in boot guest; do
		TOOK[$what]=$(awk -v what=$what '$1 == "#" && $2 == "took" && $3 == what { printf "%.0f", $4 }' "$BUILD/log/$NAME-installed.tap")
	done
	for what in kvnet qemu boot guest; do
		[ -n "${TOOK[$what]:-}" ] || { echo "# how long $what took is not known"; return 1; }
		seconds=$((seconds + TOOK[$what]))
	done
	printf -v text '%s: from a bare system to a guest on kvnet by the packages: %d s (apt install kvnet %d, QEMU %d, boot %d, guest %d)' \
		"$NAME" $seconds "${TOOK[kvnet]}" "${TOOK[qemu]}" "${TOOK[boot]}" "${TOOK[guest]}"
	TIMES+=("$text")
}

upgrade_them()
{
	# as the administrator has it
	sed -i 's/^#\(options kvnet poll_us=\).*/\17/' "$ROOT/etc/modprobe.d/kvnet.conf"
	cp "$NEXT"/kvnet-*_"$VERSION+next"_*.deb "$ROOT/packages/"
	apt_install "/packages/kvnet-dkms_$VERSION+next_all.deb" "/packages/kvnet-tools_$VERSION+next_amd64.deb" || return
	cp "$LOG/apt.log" "$LOG/apt-upgrade.log"
	built_for_kernel
}

# what dpkg removes without a kernel, such as in a container
remove_them()
{
	inside apt-get -o "DPkg::Path=$INSIDE_PATH" purge -y kvnet-dkms kvnet-tools > "$LOG/apt.log" 2>&1 || { tail -n 30 "$LOG/apt.log"; return 1; }
	! built_for_kernel > /dev/null || { echo "# the module is still there"; return 1; }
}

since()
{
	awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.0f", b - a }'
}

### make install, in the system's root, with the compiler that is there by now

inside_make()
{
	inside make -s -C /kvnet-source "$@"
}

make_install()
{
	local list=$LOG/files

	rm -rf "$ROOT/kvnet-source"
	cp -a "$("$TOP/scripts/deb.sh" --source-tree)" "$ROOT/kvnet-source"
	# what kvnetctl is built with is a package of the system's, which stays
	inside_make tools > "$LOG/make.log" 2>&1 || { tail -n 30 "$LOG/make.log"; return 1; }
	list_files > "$list.before"
	inside_make install > "$LOG/make.log" 2>&1 || { tail -n 30 "$LOG/make.log"; return 1; }
	[ -f "$ROOT/lib/modules/$RELEASE/updates/kvnet.ko" ] && [ -x "$ROOT/usr/local/bin/qemu-kvnet" ]
}

make_uninstall()
{
	local list=$LOG/files

	inside_make uninstall > "$LOG/make.log" 2>&1 || { tail -n 30 "$LOG/make.log"; return 1; }
	list_files > "$list.after"
	diff "$list.before" "$list.after"
}

# by DKMS, as where there are no packages
make_dkms()
{
	local list=$LOG/files

	inside_make dkms-install > "$LOG/make.log" 2>&1 && built_for_kernel && inside_make dkms-remove >> "$LOG/make.log" 2>&1 ||
		{ tail -n 30 "$LOG/make.log"; return 1; }
	list_files > "$list.after"
	diff "$list.before" "$list.after"
}

# of what is installed; depmod writes its lists anew
list_files()
{
	(cd "$ROOT" && find etc usr lib/modules -type f ! -path '*/modules.*' | sort)
}

# says WORDS COMMAND...: fails, with one line that has the words
says()
{
	local words=$1 said

	shift
	said=$("$@" 2>&1) && { echo "# it succeeded: $said"; return 1; }
	said=$(grep -v '^make: \*\*\* ' <<< "$said")
	[ "$(wc -l <<< "$said")" -eq 1 ] && [[ $said == *"$words"* ]] || { echo "# said: $said"; return 1; }
}

make_refuses()
{
	says "may not write to /usr/local" inside setpriv --reuid=1000 --regid=1000 --clear-groups -- make -s -C /kvnet-source install-tools &&
		says "may not write to /etc" inside setpriv --reuid=1000 --regid=1000 --clear-groups -- make -s -C /kvnet-source install-host PREFIX=/tmp/x &&
		says "no kernel headers in /nowhere" inside_make install KDIR=/nowhere
}

### the virtual machine

# boot NAME ARGUMENTS OF host.sh...
boot()
{
	local before=$FAILED status=0 name=$NAME-$1 size

	shift
	say "$name: starting"
	rm -rf "$ROOT/usr/local/bin/uname" "$ROOT"/packages/* "$WORK/disk"
	size=$(($(du -sm "$ROOT" | cut -f1) * 5 / 4 + 300))
	mke2fs -q -t ext4 -m 0 -d "$ROOT" "$WORK/disk" "${size}M" > /dev/null
	"$TOP/scripts/vm.sh" --system "$WORK" --name "$name" --timeout 900 --add "$BUILD/guest-6.1:/kvnet/guest" \
		--add "$TOP/selftests/packages/complete.zsh" --add "$BUILD/net-tools/vhost_features" --output "$BUILD/log/$name.tap" \
		-- "$TOP/selftests/packages/host.sh" "$@" || status=$?
	rm -f "$WORK/disk"
	count_log "$BUILD/log/$name.tap" "$name" "$name"
	count_status "$before" $status "$name"
}

try_system()
{
	TOOK=()
	NAME=$1 BARE=$BUILD/system-$1 WORK=$BUILD/packages-$1 APT=$BUILD/debs-$1 LOG=$BUILD/log/packages-$1
	ROOT=$WORK/root
	mkdir -p "$LOG" "$APT"
	own_log
	"$TOP/scripts/mksystem.sh" "$NAME"
	mkdir -p "$WORK"
	RELEASE=$(cat "$BARE/release")
	cp "$BARE"/{kernel,l1.cpio} "$WORK/"
	fresh_root
	step "$NAME: apt install ./kvnet-*.deb linux-headers-$RELEASE" install_them
	step "$NAME: its QEMU" install_qemu
	step "$NAME: zsh and jq, for the tests" apt_install --no-install-recommends zsh jq
	boot installed installed
	step "$NAME: how long it took is known" note_times
	fresh_uname
	step "$NAME: upgrade" upgrade_them
	boot upgraded upgraded "$VERSION+next"
	fresh_uname
	step "$NAME: purge where there is no kernel" remove_them
	step "$NAME: make install" make_install
	step "$NAME: make install refuses with one line" make_refuses
	boot made made
	fresh_uname
	step "$NAME: make uninstall leaves nothing" make_uninstall
	step "$NAME: make dkms-install, and dkms-remove leaves nothing" make_dkms
	rm -rf "$WORK"
}

run_lintian()
{
	local log=$BUILD/log/lintian.log

	lintian --fail-on error --display-info --allow-root "$DEB"/kvnet_"$VERSION"_*.changes > "$log" 2>&1 || { cat "$log"; return 1; }
	sed 's/^/# lintian: /' "$log"
}

main()
{
	local name

	trap cleanup EXIT
	trap 'exit 130' INT TERM
	"$TOP/scripts/setup.sh" --systems
	mkdir -p "$BUILD/log"
	VERSION=$("$TOP/scripts/version.sh")
	step "packages of $VERSION build" env OUT="$DEB" "$TOP/scripts/deb.sh"
	step "lintian finds no error" run_lintian
	step "packages to upgrade to build" env OUT="$NEXT" VERSION="$VERSION+next" "$TOP/scripts/deb.sh"
	[ "$FAILED" -gt 0 ] || step "uapi tests build" locked uapi make -s -C "$TOP/selftests/uapi" OUTPUT="$BUILD/uapi" TESTS="loop_tx_test loop_rx_test"
	if [ "$FAILED" -eq 0 ]; then
		"$TOP/scripts/setup.sh" 6.1
		"$TOP/scripts/mkimage.sh" --guests
		for name in $SYSTEMS; do
			try_system "$name"
		done
	fi
	info "done"
	[ ${#TIMES[@]} -eq 0 ] || printf '%s\n' "${TIMES[@]}"
	count_skips
	echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
	[ "$FAILED" -eq 0 ]
}

main "$@"
