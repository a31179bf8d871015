#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What of installing and packaging can be told without a system to install on: part of
# "make unit". The rest is "make test-packages". Ends in "N passed,
# N failed, N skipped".
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../../scripts/lib.sh"
# shellcheck disable=SC2034 # for check.sh
WHAT=packages
# shellcheck source=selftests/rig/check.sh
. "$TOP/selftests/rig/check.sh"

DEST=$WORK/dest
# of a make that calls
unset DESTDIR PREFIX SYSCONFDIR LOADDIR KVER KDIR TREE TOOLS VERSION

# name=default of each parameter, as the module says
parameters()
{
	find "$TOP/drivers/kvnet" -name '*.c' -exec cat {} + |
		sed -nE '/^MODULE_PARM_DESC/ { :more; /;$/!{ N; b more; }; s/^MODULE_PARM_DESC\((\w+),.*\(default (.*)\)"\);$/\1=\2/p }' | sort
}

# the sample has all of them, with the module's defaults, and all of it is a comment
sample_has_each_parameter()
{
	local sample=$TOP/tools/packaging/modprobe.conf said

	[ "$(parameters | wc -l)" -eq "$(grep -rh --include='*.c' '^MODULE_PARM_DESC' "$TOP/drivers/kvnet" | wc -l)" ] || fail "parameters that have no default in their description" || return
	said=$(diff <(parameters) <(sed -n 's/^#options kvnet //p' "$sample" | sort)) || fail "module and sample: $said" || return
	! grep -v '^\(#\|$\)' "$sample" || fail "it changes something"
}

# modprobe understands the sample's lines without their #: vhost first, with as many regions as kvnet has
vhost_comes_first()
{
	local said dir=$WORK/modprobe

	mkdir -p "$dir"
	sed 's/^#\(softdep\|options vhost\)/\1/' "$TOP/tools/packaging/modprobe.conf" > "$dir/kvnet.conf"
	said=$(PATH=$PATH:/usr/sbin:/sbin modprobe -C "$dir" -c) || return
	grep -qx 'softdep kvnet pre: vhost *' <<< "$said" || fail "no softdep: $said" || return
	grep -qx 'options vhost max_mem_regions=509' <<< "$said" || fail "no option of vhost: $said"
}

readme_has_each_parameter()
{
	local name

	for name in $(parameters); do
		grep -q "^| \`${name%%=*}\` | ${name#*=} |" "$TOP/README.md" || fail "README.md: $name" || return
		grep -q "^\`\`${name%%=*}\`\` (${name#*=})" "$TOP/Documentation/uapi.rst" || fail "uapi.rst: $name" || return
	done
}

# install VERB: below DEST
install_to()
{
	DESTDIR=$DEST "$TOP/scripts/install.sh" "$@"
}

files()
{
	(cd "$DEST" && find . -type f | sed 's,^\./,,' | sort)
}

# kvnetctl's own tests see to its manual
manual_has_each_option()
{
	local option options manual

	manual=$(sed 's/\\-/-/g' "$TOP/tools/qemu-kvnet.1")
	options=$("$TOP/tools/qemu-kvnet" --help | sed -nE 's/^ +--([a-z-]+) .*/\1/p')
	[ "$(wc -w <<< "$options")" -ge 7 ] || fail "the help has few options: $options" || return
	for option in $options; do
		grep -q -- "--$option" <<< "$manual" || fail "qemu-kvnet.1 has no --$option" || return
	done
}

installed_and_uninstalled()
{
	local module=$BUILD/mod-6.12 said name

	rm -rf "$DEST"
	install_to tools && install_to host && install_to apparmor || return
	for name in usr/local/bin/qemu-kvnet usr/local/share/man/man1/qemu-kvnet.1 \
		usr/local/share/kvnet/latency.bt usr/local/share/kvnet/wakers.bt usr/local/lib/udev/rules.d/60-kvnet.rules \
		etc/modules-load.d/kvnet.conf etc/modprobe.d/kvnet.conf etc/apparmor.d/abstractions/libvirt-qemu.d/kvnet; do
		[ -f "$DEST/$name" ] || fail "no $name" || return
	done
	# where one has been built
	if [ -f "$module/drivers/kvnet/kvnet.ko" ]; then
		TREE=$module install_to module || return
		files | grep -q '^lib/modules/6\.12[^/]*/updates/kvnet\.ko$' || fail "no kvnet.ko: $(files)" || return
	fi
	install_to uninstall || return
	[ -z "$(files)" ] || fail "left: $(files)"
}

# edited_stays FILE LINE: a line more, or none at all if LINE is empty
edited_stays()
{
	local file=$DEST/$1 said

	rm -rf "$DEST"
	install_to host || return
	[ -n "$2" ] || : > "$file"
	printf '%s' "$2" >> "$file"
	cp "$file" "$DEST.edited"
	said=$(install_to host) && [[ $said == *"was edited, and stays"* ]] && cmp -s "$file" "$DEST.edited" || fail "install: $said" || return
	said=$(install_to uninstall) && [[ $said == *"was edited, and stays"* ]] && [ "$(files)" = "$1" ] || fail "uninstall: $said; $(files)"
}

edited_parameters_stay()
{
	edited_stays etc/modprobe.d/kvnet.conf 'options kvnet poll_us=0'
}

not_loaded_at_boot_stays()
{
	edited_stays etc/modules-load.d/kvnet.conf ''
}

prefix_of_a_distribution()
{
	rm -rf "$DEST"
	PREFIX=/usr LOADDIR=/usr/lib/modules-load.d install_to host || return
	[ "$(files | tr '\n' ' ')" = "etc/modprobe.d/kvnet.conf usr/lib/modules-load.d/kvnet.conf usr/lib/udev/rules.d/60-kvnet.rules " ] || fail "$(files)"
}

# says WORDS COMMAND...: fails, with one line that has the words
says()
{
	local words=$1 said

	shift
	said=$("$@" 2>&1) && fail "it succeeded: $said" && return 1
	[ "$(wc -l <<< "$said")" -eq 1 ] && [[ $said == *"$words"* ]] || fail "said: $said"
}

refuses_with_one_line()
{
	local own='' home=$WORK/unprivileged

	# another user must be able to read the script
	install -D -m 755 -t "$home/scripts" "$TOP/scripts/install.sh"
	install -D -m 644 -t "$home/tools" "$TOP/tools/qemu-kvnet"
	chmod 755 "$WORK" "$home" "$home"/*
	[ "$(id -u)" -ne 0 ] || own="setpriv --reuid=65534 --regid=65534 --clear-groups"
	# shellcheck disable=SC2086 # words
	says "run as root" $own bash "$home/scripts/install.sh" tools &&
		says "run as root" $own bash "$home/scripts/install.sh" dkms-add &&
		says "build it first" bash "$home/scripts/install.sh" module &&
		says "usage: " bash "$home/scripts/install.sh" nothing || return
}

# dkms finds the module where the source says that it will be, for the kernels that we take
dkms_source()
{
	local dir file said

	rm -rf "$DEST"
	VERSION=1.2 install_to source || return
	dir=$DEST/usr/src/kvnet-1.2
	for file in $(sed -n 's/^kvnet-y += \(.*\)\.o$/\1.c/p' "$dir/drivers/kvnet/Kbuild"); do
		[ -f "$dir/drivers/kvnet/$file" ] || fail "no $file" || return
	done
	# shellcheck disable=SC2034,SC2154 # dkms has and wants them
	(
		kernel_source_dir=/headers dkms_tree=/dkms
		. "$dir/dkms.conf"
		[ "${BUILT_MODULE_LOCATION[0]}/${BUILT_MODULE_NAME[0]}" = drivers/kvnet/kvnet ] || fail "the module's place" || exit
		[ "${MAKE[0]}" = "make -C /headers M=/dkms/kvnet/1.2/build modules" ] || fail "${MAKE[0]}" || exit
		for said in 6.1.0-50-amd64 6.12.107+deb13-amd64 6.6.9 7.2.12+deb13-amd64 10.0; do
			[[ $said =~ $BUILD_EXCLUSIVE_KERNEL ]] || fail "not for $said" || exit
		done
		for said in 5.10.0-30-amd64 6.0.12 4.19; do
			! [[ $said =~ $BUILD_EXCLUSIVE_KERNEL ]] || fail "for $said" || exit
		done
	)
}

version()
{
	local tree=$WORK/version file=$WORK/version/Documentation/CHANGELOG.rst said

	install -D -t "$tree/scripts" "$TOP/scripts/version.sh"
	mkdir -p "$tree/Documentation"
	printf '=\nC\n=\n\n1.4\n===\n\n* x\n\n1.3 (unreleased)\n================\n' > "$file"
	said=$("$tree/scripts/version.sh")
	[ "$said" = 1.4 ] || fail "released: $said" || return
	printf '=\nC\n=\n\n1.5 (unreleased)\n================\n\n* x\n\n1.4\n===\n' > "$file"
	touch -d @86400 "$file"
	said=$("$tree/scripts/version.sh")
	[ "$said" = 1.5~19700102.000000 ] || fail "to come: $said" || return
	echo > "$file"
	says "no heading with a version" "$tree/scripts/version.sh"
	[[ $("$TOP/scripts/version.sh") =~ ^[0-9]+\.[0-9.]+(~[0-9.]+)?$ ]] || fail "ours: $("$TOP/scripts/version.sh")"
}

source_package()
{
	local tree script

	tree=$(VERSION=1.2 OUT=$WORK/deb "$TOP/scripts/deb.sh" --source-tree) || return
	[ "$(head -n 1 "$tree/debian/changelog")" = "kvnet (1.2) unstable; urgency=medium" ] || fail "changelog" || return
	! awk 'length > 80' "$tree/debian/changelog" | grep . || fail "lines of the changelog are too long" || return
	grep -q '^  \* ' "$tree/debian/changelog" || fail "the changelog has nothing in it" || return
	[ -f "$tree/Makefile" ] && [ ! -e "$tree/build" ] && [ -x "$tree/debian/rules" ] || fail "the tree" || return
	# what libvirt's profile reads is of the package that has qemu-kvnet
	[ "$(make -s -n -C "$tree" -f debian/rules override_dh_auto_install 2> /dev/null | grep apparmor)" = \
		"DESTDIR=$tree/debian/kvnet-tools PREFIX=/usr ZSHDIR=/usr/share/zsh/vendor-completions scripts/install.sh apparmor" ] ||
		fail "AppArmor's file" || return
	for script in "$tree"/debian/*.{postinst,prerm}; do
		sh -n "$script" || return
	done
}

# removal_says ACTION: the package's script, on a host below DEST
removal_says()
{
	sed "s,/etc/modprobe.d,$DEST&,; s,/sys/module,$DEST&," "$TOP/tools/packaging/debian/kvnet-dkms.prerm" | sh -s "$1"
}

removal_tells_of_the_blacklist()
{
	local said file=$DEST/etc/modprobe.d/kvnet.conf

	rm -rf "$DEST"
	install_to host || return
	said=$(removal_says remove) && [ -z "$said" ] || fail "as installed: $said" || return
	sed -i 's/^#blacklist/blacklist/' "$file"
	said=$(removal_says remove) && [ "$(wc -l <<< "$said")" -eq 1 ] && [[ $said == *"take out its line 'blacklist vhost_net'"* ]] || fail "edited: $said" || return
	said=$(removal_says upgrade) && [ -z "$said" ] || fail "an upgrade: $said"
}

for name in removal_tells_of_the_blacklist vhost_comes_first sample_has_each_parameter readme_has_each_parameter manual_has_each_option installed_and_uninstalled edited_parameters_stay not_loaded_at_boot_stays \
	prefix_of_a_distribution refuses_with_one_line dkms_source version source_package; do
	check $name
done
echo "$PASSED passed, $FAILED failed, 0 skipped"
[ $FAILED -eq 0 ]
