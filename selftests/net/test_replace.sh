#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Description: replace_vhost_net=1: the module is /dev/vhost-net too, so that
# "vhost=on" of a stock QEMU uses it without a further option. vhost_net cannot be loaded
# meanwhile, nor the module so while vhost_net is; each comes back unharmed.
#
# @hosts: 6.1
declare -F run_test > /dev/null || exec bash "${0%/*}/run.sh" "${0##*/}"

REPLACE_NODE=/dev/vhost-net

vhost_net_loaded()
{
	[ -d /sys/module/vhost_net ]
}

# no guest, and neither module
replace_nothing_loaded()
{
	guest_stop
	tap_delete $TAP
	! kvnet_loaded || rmmod kvnet || return
	! vhost_net_loaded || rmmod vhost_net || return
	modprobe -a tun tap
}

replace_insmod()
{
	insmod /kvnet/kvnet.ko replace_vhost_net=1
}

node_number()
{
	stat -c '%t:%T' "$1"
}

# what the kernel said since the marker
said_since()
{
	dmesg | awk -v mark="$1" 'index($0, mark) { text = ""; next } { text = text $0 "\n" } END { printf "%s", text }'
}

# with vhost_net there: refused, one line says what to do, and all is as before
replace_refused()
{
	local said lines

	replace_nothing_loaded && modprobe vhost_net || return
	marker "replace: insmod"
	said=$(replace_insmod 2>&1) && fail "loaded beside vhost_net" && return 1
	[[ $said == *"resource busy"* ]] || fail "insmod said: $said" || return
	lines=$(said_since "replace: insmod" | grep kvnet: | grep -v 'loading out-of-tree\|module verification')
	echo "# ${lines#*] }"
	[ "$(wc -l <<< "$lines")" -eq 1 ] && [[ $lines == *"rmmod vhost_net"* ]] || fail "not the one line: $lines" || return
	! kvnet_loaded && [ ! -e $DEVICE ] && vhost_features $REPLACE_NODE > /dev/null || return
	rmmod vhost_net && replace_insmod || fail "not even after rmmod vhost_net" || return
	! vhost_net_loaded && [ -c $REPLACE_NODE ] && [ -c $DEVICE ]
}

# a static node, as of devtmpfs, leads to the driver that has the number
replace_node()
{
	[ "$(node_number $REPLACE_NODE)" = a:ee ] || fail "$REPLACE_NODE is $(node_number $REPLACE_NODE)" || return
	rm -f /tmp/static-node
	mknod /tmp/static-node c 10 238 || return
	[ "$(vhost_features /tmp/static-node)" = "$(vhost_features $DEVICE)" ] || fail "not the module's features" || return
	[ "$(kvnet_users)" -eq 0 ]
}

second_tap()
{
	ip tuntap add dev tap1 mode tap vnet_hdr && ip addr add 10.9.1.1/24 dev tap1 && ip link set tap1 up
}

# One QEMU, two devices: one told "vhost=on" only, one given /dev/kvnet.
replace_guest()
{
	local BACKEND=vhost

	tap_create $TAP && second_tap || return
	exec 9<> $DEVICE
	guest_start -- -netdev tap,id=net1,ifname=tap1,script=no,downscript=no,vhost=on,vhostfd=9 \
		-device virtio-net-pci,romfile=,netdev=net1
	exec 9>&-
	guest_reachable 30 && guest "ip addr add 10.9.1.2/24 dev eth1 && ip link set eth1 up"
}

# "sent received", as the module counts them for QEMU's descriptor of NODE
replace_counted()
{
	local DEVICE=$1

	echo "$(kvnet_counter 'tx.packets') $(kvnet_counter 'rx.packets')"
}

# replace_pings NODE ADDRESS: so many packets more, both ways, through NODE
replace_pings()
{
	local tx rx tx_after rx_after

	read -r tx rx < <(replace_counted "$1")
	wait_until 20 ping -q -c 1 -W 1 "$2" || return
	ping -q -c 30 -i 0.05 -W 2 "$2" || return
	read -r tx_after rx_after < <(replace_counted "$1")
	echo "# QEMU's $1: sent $((tx_after - tx)), received $((rx_after - rx))"
	[ $((tx_after - tx)) -ge 30 ] && [ $((rx_after - rx)) -ge 30 ]
}

replace_works()
{
	replace_guest || return
	! vhost_net_loaded || fail "vhost_net is loaded" || return
	replace_pings $REPLACE_NODE $GUEST_IP && replace_pings $DEVICE 10.9.1.2 &&
		streams_both_ways $((4 << 20))
}

# under the running guest
replace_keeps_vhost_out()
{
	local said

	marker "replace: modprobe"
	said=$(modprobe vhost_net 2>&1) && fail "vhost_net was loaded" && return 1
	[[ $said == *"resource busy"* ]] || fail "modprobe said: $said" || return
	! vhost_net_loaded && ! rmmod kvnet && replace_pings $REPLACE_NODE $GUEST_IP && replace_pings $DEVICE 10.9.1.2
}

replace_back()
{
	local BACKEND=vhost DEVICE=$REPLACE_NODE

	guest_stop
	wait_until 10 kvnet_unused && rmmod kvnet || return
	[ ! -e $REPLACE_NODE ] && [ ! -e /dev/kvnet ] || fail "nodes stay" || return
	modprobe vhost_net && guest_start && guest_reachable 30 || return
	backend_fd > /dev/null && ! kvnet_counters || fail "not vhost_net" || return
	guest_stop
	wait_until 10 rmmod vhost_net
}

replace_main()
{
	[ "$BACKEND" = kvnet ] || return 0
	if run_test "replace: insmod_refused_while_vhost_net_is_loaded" replace_refused; then
		run_test "replace: static_node_leads_to_the_module" replace_node
		run_test "replace: vhost_on_of_stock_qemu_uses_the_module" replace_works &&
			run_test "replace: modprobe_vhost_net_refused_under_a_guest" replace_keeps_vhost_out
		run_test "replace: vhost_net_works_after_rmmod" replace_back
	fi
	replace_nothing_loaded
	tap_delete tap1
	load_kvnet
}

replace_main
