#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Description: libvirt starts the guest, with <backend vhost='/dev/kvnet'/> in its
# <interface>: the QEMU that it starts holds the device, and the traffic passes
# through it. Once on a tap of the administrator's, once on a bridge with two
# queue pairs, where libvirt makes the tap; an interface attached and detached while
# the guest runs; and <emulatorpin>, which reaches the worker.
#
# @hosts: 6.1
declare -F run_test > /dev/null || exec bash "${0%/*}/run.sh" "${0##*/}"

VIRT=/tmp/libvirt
VIRT_QEMU=/opt/qemu-7.2
VIRT_BRIDGE=virtbr0
VIRT_CGROUPS=/sys/fs/cgroup
VIRT_MAC=52:54:00:12:34:99

# libvirt applies <emulatorpin> through the cgroup that it makes for QEMU. It takes the
# controllers that the root enables, and fails on those that qemu.conf does not name.
virt_has_cgroups()
{
	local controller

	mount_cgroup2 && grep -qw cpuset $VIRT_CGROUPS/cgroup.controllers || return
	for controller in $(cat $VIRT_CGROUPS/cgroup.subtree_control); do
		echo "-$controller" > $VIRT_CGROUPS/cgroup.subtree_control
	done
	echo +cpuset > $VIRT_CGROUPS/cgroup.subtree_control
}

mount_cgroup2()
{
	mountpoint -q $VIRT_CGROUPS || mount -t cgroup2 none $VIRT_CGROUPS
}

# no security driver or name spaces: the test host has none of them
virt_configure()
{
	virt_has_cgroups || echo "# no cgroups with cpusets"
	mkdir -p $VIRT /etc/libvirt /run/libvirt /var/lib/libvirt /var/log/libvirt /var/cache/libvirt
	# where libvirt looks for QEMU, and QEMU for its firmware and modules
	ln -sf $VIRT_QEMU/bin/qemu-system-x86_64 /usr/bin/
	ln -sfn . $VIRT_QEMU/share/qemu
	ln -sfn /usr/lib $VIRT_QEMU/lib
	# the package's default, looked up whatever qemu.conf says
	grep -q libvirt-qemu /etc/passwd || echo 'libvirt-qemu:x:64055:64055::/:/bin/false' >> /etc/passwd
	grep -q libvirt-qemu /etc/group || echo 'libvirt-qemu:x:64055:' >> /etc/group
	cat > /etc/libvirt/libvirtd.conf <<-END
		auth_unix_rw = "none"
		unix_sock_group = "root"
		log_outputs = "3:file:$VIRT/log"
	END
	cat > /etc/libvirt/qemu.conf <<-END
		security_driver = "none"
		user = "root"
		group = "root"
		namespaces = []
		cgroup_controllers = ["cpuset"]
		remember_owner = 0
		stdio_handler = "file"
	END
}

virt()
{
	timeout 120 virsh -q -c qemu:///system "$@"
}

virt_start()
{
	virt_configure
	libvirtd > $VIRT/libvirtd.out 2>&1 &
	VIRT_PID=$!
	wait_until 60 virt list || fail "libvirtd does not answer: $(tail -n 5 $VIRT/libvirtd.out $VIRT/log)"
}

virt_stop()
{
	kill $VIRT_PID
	wait $VIRT_PID 2>/dev/null
}

virt_interface()
{
	case $1 in
	ethernet) echo "<interface type='ethernet'><target dev='$TAP' managed='no'/>" ;;
	bridge) echo "<interface type='bridge'><source bridge='$VIRT_BRIDGE'/><driver queues='2'/>" ;;
	esac
	echo "<mac address='$GUEST_MAC'/><model type='virtio'/><rom enabled='no'/>"
	# after the serial device's: the guest expects that to be the first
	echo "<address type='pci' bus='0' slot='4'/>"
	[ "$BACKEND" = vhost ] || echo "<backend vhost='$(backend_node)'/>"
	echo "</interface>"
}

# "pc" can have devices attached without a bus of their own
virt_domain()
{
	local machine=q35

	[ "$1" != bridge ] || machine=pc
	cat <<-END
		<domain type='kvm'>
		<name>guest</name><memory unit='MiB'>256</memory><vcpu>1</vcpu>
		<os><type arch='x86_64' machine='$machine'>hvm</type>
		<kernel>/guest-kernel</kernel><initrd>$GUEST/initrd</initrd>
		<cmdline>$GUEST_WORDS</cmdline></os>
		<features><acpi/><apic/></features><cpu mode='maximum'/>
		<devices><emulator>/usr/bin/qemu-system-x86_64</emulator>
		<controller type='usb' model='none'/><memballoon model='none'/><video><model type='none'/></video>
		<serial type='file'><source path='$GUEST/console'/></serial>
		<controller type='virtio-serial' index='0'><address type='pci' bus='0' slot='3'/></controller>
		<channel type='pipe'><source path='$GUEST/control'/><target type='virtio' name='control'/></channel>
		$(virt_interface "$1")
		</devices></domain>
	END
}

# the guest of lib.sh, but started by libvirt
virt_guest_start()
{
	prepare_guest_files || return
	virt_domain "$1" > $GUEST/domain.xml
	virt create $GUEST/domain.xml > $GUEST/qemu.log 2>&1 || fail "virsh create: $(cat $GUEST/qemu.log; tail -n 5 $VIRT/log)" || return
	cp /run/libvirt/qemu/guest.pid $GUEST/pid
	guest_wait_up && guest_reachable 30
}

virt_guest_stop()
{
	virt destroy guest
	guest_stop
}

# virt_works ethernet|bridge QUEUES
virt_works()
{
	local tx rx

	virt_guest_start "$1" || return
	[ "$2" -eq 1 ] || guest ethtool -L eth0 combined "$2" || return
	DEVICE=$(backend_node) backend_fd > $VIRT/fds || fail "QEMU does not hold $(backend_node)" || return
	[ "$(wc -l < $VIRT/fds)" -eq "$2" ] || fail "not $2 backends: $(cat $VIRT/fds)" || return
	if [ "$BACKEND" = kvnet ]; then
		tx=$(kvnet_counter 'tx.packets')
		rx=$(kvnet_counter 'rx.packets')
	fi
	ping_guest 50 && streams_both_ways $((4 << 20)) || return
	[ "$BACKEND" = kvnet ] || return 0
	tx=$(($(kvnet_counter 'tx.packets') - tx))
	rx=$(($(kvnet_counter 'rx.packets') - rx))
	echo "# QEMU $(guest_pid) holds $DEVICE as $(tr '\n' ' ' < $VIRT/fds), which sent $tx packets and received $rx"
	[ $tx -gt 50 ] && [ $rx -gt 50 ]
}

virt_on_tap()
{
	tap_delete $TAP
	tap_create $TAP && virt_works ethernet 1
}

virt_on_bridge()
{
	tap_delete $TAP
	modprobe bridge && ip link add $VIRT_BRIDGE type bridge &&
		ip addr add $HOST_IP/24 dev $VIRT_BRIDGE && ip link set $VIRT_BRIDGE up &&
		virt_works bridge 2
}

virt_backends()
{
	[ "$(DEVICE=$(backend_node) backend_fd | wc -l)" -eq "$1" ]
}

virt_second()
{
	cat <<-END
		<interface type='bridge'><source bridge='$VIRT_BRIDGE'/>
		<mac address='$VIRT_MAC'/><model type='virtio'/><rom enabled='no'/>
		$([ "$BACKEND" = vhost ] || echo "<backend vhost='$(backend_node)'/>")
		</interface>
	END
}

guest_has_second()
{
	guest grep -q $VIRT_MAC /sys/class/net/eth1/address
}

guest_has_no_second()
{
	! guest_has_second
}

# a second interface, on the same bridge; it carries packets, too
virt_attaches()
{
	virt_second > $GUEST/second.xml
	virt attach-device guest $GUEST/second.xml || return
	wait_until 30 guest_has_second || fail "the guest does not see it" || return
	virt_backends 3 || fail "QEMU holds no third backend" || return
	guest "ip link set eth1 up && ip addr add 10.9.0.3/24 dev eth1 && ping -q -c 3 -I eth1 $HOST_IP" || fail "it carries nothing" || return
	virt detach-device guest $GUEST/second.xml || return
	wait_until 30 guest_has_no_second && wait_until 30 virt_backends 2 && ping_guest 10
}

# the CPUs that all workers of QEMU's devices may use, be they kernel threads or QEMU's
virt_worker_cpus()
{
	local status

	for status in /proc/[0-9]*/task/*/status; do
		awk -v name="kvnet-$(guest_pid)" '$1 == "Name:" { mine = $2 == name } $1 == "Cpus_allowed_list:" && mine { print $2 }' "$status" 2>/dev/null
	done | sort -u
}

virt_workers_on()
{
	[ "$(virt_worker_cpus)" = "$1" ]
}

virt_pins()
{
	local cpus

	for cpus in 1 0; do
		virt emulatorpin guest $cpus --live || return
		wait_until 5 virt_workers_on $cpus || fail "the workers may use CPUs $(virt_worker_cpus)" || return
		ping_guest 10 || return
	done
}

# QEMU that ends gives back the device, and libvirt its tap
virt_ends()
{
	virt_guest_stop && wait_until 10 test ! -e /sys/class/net/vnet0 || fail "the tap stays" || return
	[ "$BACKEND" != kvnet ] || wait_until 10 kvnet_unused || fail "the device is still held"
}

virt_main()
{
	[ "$BACKEND" != off ] || return 0
	if ! type -P libvirtd > /dev/null; then
		skip libvirt "no libvirtd in the test host (vm.sh --tree build/vmm-libvirt; scripts/mkvmm.sh libvirt)"
		return 0
	fi
	guest_stop
	if run_test "libvirt: libvirtd_starts" virt_start; then
		load_backend
		run_test "libvirt: interface_type_ethernet_traffic_passes" virt_on_tap
		virt_guest_stop > /dev/null 2>&1
		run_test "libvirt: interface_type_bridge_two_pairs_traffic_passes" virt_on_bridge
		run_test "libvirt: interface_attached_and_detached_under_a_guest" virt_attaches
		[ "$BACKEND" != kvnet ] || run_test "libvirt: emulatorpin_reaches_the_workers" virt_pins
		run_test "libvirt: guest_destroyed_leaves_nothing" virt_ends
		virt_stop
	fi
	guest_stop
	ip link del $VIRT_BRIDGE 2>/dev/null
	tap_delete $TAP
}

virt_main
