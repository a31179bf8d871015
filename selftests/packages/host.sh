#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs in a Debian that has the packages, as its first script (scripts/runner/packages.py): kvnet is
# there, for the right users, and carries packets; and the packages report a module in use. Ends in "N passed, N failed, N skipped".
#
#   host.sh installed           after apt-get install
#   host.sh upgraded VERSION    after an upgrade to VERSION; removes the packages
#   host.sh made                after make install
read -r BOOTED _ < /proc/uptime
# shellcheck source=selftests/net/lib.sh
. /kvnet/selftests/net/lib.sh
OUT=/tmp/out

# as a user of that group and of no other
as_group()
{
	local gid

	gid=$(getent group "$1" | cut -d: -f3)
	shift
	setpriv --reuid=1000 --regid=1000 --groups="$gid" "$@"
}

qemu_as_group()
{
	exec setpriv --reuid=1000 --regid=1000 --groups="$(getent group "$1" | cut -d: -f3)" bash -c "$2" "$3"
}

# opens [COMMAND...]: the device tells this command that it has VERSION_1
opens()
{
	local features

	features=$("$@" /kvnet/vhost_features $DEVICE) && [ $((features >> MODERN & 1)) -eq 1 ]
}

### what is tried

loaded_at_boot()
{
	local file

	kvnet_loaded || fail "kvnet is not loaded" || return
	file=$(modinfo -F filename kvnet)
	[[ $file == */"$(uname -r)"/updates/"$1"kvnet.ko* ]] || fail "it comes from $file"
}

# with this machine's key, for Secure Boot: the one that there is a certificate of
signed()
{
	local serial

	serial=$(openssl x509 -inform der -in /var/lib/dkms/mok.pub -noout -serial) || return
	[ "$(modinfo -F sig_key kvnet | tr -d :)" = "${serial#serial=}" ] || fail "$(modinfo kvnet | grep ^sig) is not $serial"
}

permissions()
{
	[ "$(stat -c '%U %G %a' $DEVICE)" = "root kvm 660" ] || fail "$(ls -l $DEVICE)" || return
	opens || fail "root may not open it" || return
	opens as_group kvm || fail "group kvm may not open it" || return
	! opens as_group nogroup || fail "a user of another group may open it"
}

wrapper()
{
	local said

	ip tuntap add dev $TAP mode tap vnet_hdr user 1000 && ip link set $TAP up || return
	said=$(as_group kvm qemu-kvnet --ifname $TAP --dry-run true) || fail "as kvm: $said" || return
	[[ $said == *vhostfd=* ]] || fail "$said" || return
	said=$(as_group nogroup qemu-kvnet --ifname $TAP --dry-run true 2>&1) && fail "no permission, and yet: $said" && return 1
	[[ $said == *"root and the group kvm: join"* ]] && [ "$(wc -l <<< "$said")" -eq 1 ] || fail "$said" || return
	ip link del $TAP
}

# what the packages bring for the operator, and that it works
operator()
{
	local file said status=0

	for file in share/man/man8/kvnetctl.8.gz share/man/man1/qemu-kvnet.1.gz share/bash-completion/completions/kvnetctl \
		share/zsh/vendor-completions/_kvnetctl share/kvnet/latency.bt share/kvnet/wakers.bt; do
		[ -s /usr/$file ] || fail "no /usr/$file" || return
	done
	[ "$(dpkg -S /etc/apparmor.d/abstractions/libvirt-qemu.d/kvnet)" = "kvnet-tools: /etc/apparmor.d/abstractions/libvirt-qemu.d/kvnet" ] || return
	bash -c '. /usr/share/bash-completion/completions/kvnetctl && complete -p kvnetctl' || return
	kvnetctl features -j | jq -e 'any(.[]; .feature == "RING_PACKED" and .bit == 34 and .kvnet)' > /dev/null || fail "$(kvnetctl features 2>&1)" || return
	said=$(kvnetctl doctor) && grep -q '^ok *module ' <<< "$said" && grep -q '^ok *node .*group kvm' <<< "$said" || fail "$said" || return
	said=$(as_group kvm kvnetctl list 2>&1) || status=$?
	[ $status -eq 5 ] && [ "$(wc -l <<< "$said")" -eq 1 ] || fail "kvnetctl as group kvm: status $status, $said"
}

# what is offered for a line typed so far
offers()
{
	local said

	said=$(timeout 60 /kvnet/complete.zsh "kvnetctl $1" | xargs) && [ "$said" = "$2" ] || fail "'kvnetctl $1' is offered: $said"
}

zsh_completes()
{
	offers s "set show stats" && offers "-j mon" monitor && offers "set tap0 c" cpus &&
		offers "set tap0 nice 3 sched f" fifo && offers "rules " "apply check run" &&
		offers "stats --pro" --prometheus && offers "list --pro" ""
}

packets()
{
	/kvnet/uapi/loop_test > $OUT || { sed 's/# SKIP/skipped/' $OUT; return 1; }
	grep '^ok' $OUT | grep -vq SKIP || fail "it tried nothing"
}

# as a user of the group starts it, with the one flag that kvnet wants
start_guest()
{
	rm -f /tmp/control.* && mkfifo -m 666 /tmp/control.{in,out}
	# shellcheck disable=SC2016 # arguments of that shell
	qemu_as_group kvm 'exec 9<> /dev/kvnet
		exec qemu-system-x86_64 -nodefaults -no-reboot -display none -accel kvm -cpu max -m 256 -M q35 \
			-kernel /kvnet/guest/kernel -initrd /kvnet/guest/guest.cpio -append "$0" -serial file:/tmp/console \
			-chardev pipe,id=c,path=/tmp/control -device virtio-serial-pci -device virtserialport,chardev=c \
			-device virtio-net-pci,netdev=n0,romfile= \
			-netdev tap,id=n0,ifname=tap0,script=no,downscript=no,vhost=on,vhostfd=9' \
		"console=ttyS0 panic=-1 quiet mitigations=off tsc=reliable no_timer_check pci=lastbus=0" > $OUT 2>&1 < /dev/null &
	QEMU=$!
}

guest_answers()
{
	local deadline=$((SECONDS + 120))

	until ping -q -c 1 -W 1 10.9.0.2 > /dev/null; do
		[ $SECONDS -lt $deadline ] && [ -d /proc/$QEMU ] || { cat $OUT; return 1; }
	done
	ping -q -c 5 -i 0.2 10.9.0.2
}

guest_once()
{
	local status=0

	start_guest
	guest_answers && grep -E 'kvnet.rx.packets:\s*[1-9]' /proc/$QEMU/fdinfo/9 &&
		kvnetctl show tap0 -j | jq -e ".[0].pid == $QEMU" || status=1
	kill $QEMU
	wait $QEMU 2> /dev/null
	return $status
}

# The one fault of an emulated test host's KVM that its QEMU still has, with any backend
# (testing.rst), has a name: that guest is started once more.
is_known_fault()
{
	grep -q 'KVM internal error. Suberror: 3' $OUT || return
	echo "# the emulated SVM has lost the guest: once more"
}

guest_carries_pings()
{
	local status=0 begin

	begin=$(uptime_now)
	modprobe kvm_amd 2> /dev/null || modprobe kvm_intel || return
	udevadm settle
	ip tuntap add dev $TAP mode tap vnet_hdr user 1000 && ip addr add 10.9.0.1/24 dev $TAP && ip link set $TAP up || return
	guest_once || { is_known_fault && guest_once; } || status=1
	GUEST_TOOK=$(took "$begin")
	ip link del $TAP
	return $status
}

parameters()
{
	local dir=/sys/module/kvnet/parameters

	[ "$(cat $dir/poll_us)" = 50 ] || fail "poll_us is $(cat $dir/poll_us) before" || return
	rmmod kvnet && sed -i 's/^#\(options kvnet poll_us=\).*/\17/' /etc/modprobe.d/kvnet.conf && modprobe kvnet || return
	[ "$(cat $dir/poll_us)" = 7 ] || fail "poll_us is $(cat $dir/poll_us)" || return
	udevadm settle
	permissions
}

# what was edited has come through the upgrade
parameters_kept()
{
	grep -q '^options kvnet poll_us=7$' /etc/modprobe.d/kvnet.conf || fail "the file was replaced" || return
	[ "$(cat /sys/module/kvnet/parameters/poll_us)" = 7 ] || fail "the module does not have it"
}

only_version()
{
	local said

	said=$(dkms status)
	[ "$(wc -l <<< "$said")" -eq 1 ] && [[ $said == *"$1"*installed* ]] || fail "dkms status: $said" || return
	[ "$(echo /usr/src/kvnet-*)" = "/usr/src/kvnet-$1" ] || fail "$(echo /usr/src/kvnet-*)"
}

# configure again, without a build: what it does with the module that is loaded
postinst()
{
	touch /etc/dkms/no-autoinstall
	/var/lib/dpkg/info/kvnet-dkms.postinst configure 0 > $OUT 2>&1 || { cat $OUT; fail "it failed"; return; }
	cat $OUT
}

# said WORDS: one line of kvnet-dkms', which has them
said()
{
	[ "$(grep -c '^kvnet-dkms: ' $OUT)" -eq 1 ] && grep -q "^kvnet-dkms: .*$1" $OUT || { cat $OUT; return 1; }
}

replaced_when_idle()
{
	opens || return
	echo 9 > /sys/module/kvnet/parameters/poll_us
	postinst || return
	! grep '^kvnet-dkms: ' $OUT || return
	# as new: what was set by hand is gone
	[ "$(cat /sys/module/kvnet/parameters/poll_us)" = 7 ] || fail "it is still the old one" || return
	udevadm settle
	permissions
}

kept_when_used()
{
	local fd

	exec {fd}<> $DEVICE || return
	echo 9 > /sys/module/kvnet/parameters/poll_us
	postinst && said "is in use: the new module is loaded when" || return
	[ "$(cat /sys/module/kvnet/parameters/poll_us)" = 9 ] || fail "it was replaced" || return
	exec {fd}>&-
}

no_headers()
{
	local dir

	dir=/lib/modules/$(uname -r)
	mv "$dir/updates" "$dir/updates.away" && mv "$dir/build" "$dir/build.away" && rmmod kvnet || return
	postinst && said "no headers of the running kernel: apt install linux-headers-$(uname -r)" || return
	mv "$dir/updates.away" "$dir/updates" && mv "$dir/build.away" "$dir/build" && modprobe kvnet
}

# as_kernel RELEASE COMMAND...
as_kernel()
{
	local fake=/usr/local/bin/uname status=0

	printf '#!/bin/sh\necho %s\n' "$1" > $fake && chmod 755 $fake || return
	shift
	"$@" || status=1
	rm $fake
	return $status
}

other_kernels()
{
	as_kernel 5.10.0-30-amd64 postinst && said "kernel 5.10.0-30-amd64 is too old: kvnet needs 6.1" || return
	# with headers, and without a module
	mkdir -p /lib/modules/6.1.0-kvnet/build && touch /lib/modules/6.1.0-kvnet/build/Makefile || return
	as_kernel 6.1.0-kvnet postinst && said "no module for the running kernel 6.1.0-kvnet: see /var/lib/dkms/" || return
	rm -r /lib/modules/6.1.0-kvnet
	kvnet_loaded || fail "the module is gone"
}

# vhost_net has the name that it is told to take
does_not_load()
{
	modprobe vhost_net && echo 'options kvnet replace_vhost_net=1' > /etc/modprobe.d/wrong.conf || return
	postinst && said "does not load (modprobe: ERROR: could not insert 'kvnet': Device or resource busy): see dmesg" || return
	rm /etc/modprobe.d/wrong.conf && rmmod vhost_net && modprobe kvnet
}

# by dkms, with a module in use
removed_when_used()
{
	local fd

	exec {fd}<> $DEVICE || return
	dpkg --remove kvnet-dkms > $OUT 2>&1 || { cat $OUT; fail "it failed"; return; }
	said "in use, and stays loaded until the VMs have ended" || return
	kvnet_loaded || fail "and yet it is gone" || return
	exec {fd}>&-
	# what dpkg started has inherited what is open here, and may end after it
	wait_until 10 kvnet_unused || { find /proc/[0-9]*/fd -lname '*kvnet*' -ls; return 1; }
	rmmod kvnet && ! modprobe kvnet 2> /dev/null
}

nothing_left()
{
	local left

	dpkg --purge kvnet-dkms kvnet-tools > $OUT 2>&1 || { cat $OUT; return 1; }
	left=$(find / -xdev \( -path /kvnet -o -path /proc -o -path /sys -o -path /tmp -o -path /run \) -prune -o -name '*kvnet*' ! -path '/var/log/*' ! -path '/var/cache/*' -print)
	[ -z "$left" ] || fail "$left"
}

case $1 in
installed)
	run_test "packages: module_of_dkms_loaded_at_boot" loaded_at_boot dkms/
	run_test "packages: device_opens_for_root_and_group_kvm_only" permissions
	run_test "packages: qemu_kvnet_works_for_the_group_and_refuses_others" wrapper
	run_test "packages: module_is_signed_with_the_machine_key" signed
	run_test "packages: tools_of_the_operator_are_there" operator
	run_test "packages: zsh_completes_words_of_kvnetctl" zsh_completes
	run_test "packages: packets_pass_both_ways" packets
	run_test "packages: guest_of_a_user_of_the_group_answers" guest_carries_pings
	# for packages.py, which adds it up
	echo "# took boot $BOOTED"
	echo "# took guest ${GUEST_TOOK:-}"
	run_test "packages: parameter_in_modprobe_d_takes_effect" parameters
	run_test "packages: postinst_without_headers_prints_one_line" no_headers
	run_test "packages: postinst_of_a_module_that_does_not_load_prints_one_line" does_not_load
	run_test "packages: postinst_on_an_unsupported_kernel_prints_one_line" other_kernels
	;;
upgraded)
	run_test "upgrade: module_of_dkms_loaded_at_boot" loaded_at_boot dkms/
	run_test "upgrade: only_the_new_version_is_there" only_version "$2"
	run_test "upgrade: edited_parameter_is_kept" parameters_kept
	run_test "upgrade: packets_pass_both_ways" packets
	run_test "upgrade: idle_module_is_replaced" replaced_when_idle
	run_test "upgrade: module_in_use_is_kept_with_one_line" kept_when_used
	run_test "remove: module_in_use_is_kept_with_one_line" removed_when_used
	run_test "purge: nothing_is_left" nothing_left
	;;
made)
	run_test "make install: module_loaded_at_boot" loaded_at_boot ''
	run_test "make install: device_opens_for_root_and_group_kvm_only" permissions
	run_test "make install: packets_pass_both_ways" packets
	;;
esac
echo "$TESTS_PASSED passed, $TESTS_FAILED failed, 0 skipped"
[ "$TESTS_FAILED" -eq 0 ] && [ "$TESTS_PASSED" -gt 0 ]
