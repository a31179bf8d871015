#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Description: a guest that is not Linux: iPXE, with a virtio-net driver of its
# own. It gets an address by DHCP, fetches a script by HTTP and shows what that
# says, answers pings, and boots a Linux whose files it fetches by HTTP.
#
# @hosts: 6.1
declare -F run_test > /dev/null || exec bash "${0%/*}/run.sh" "${0##*/}"

IPXE_DIR=/tmp/ipxe
IPXE_FIRST=10.9.0.100
IPXE_LAST=10.9.0.109
IPXE_ROM=/opt/qemu-$QEMU/share/efi-virtio.rom

# in place of guest_exec: no kernel, the card's ROM boots. "graphics=off" lets the
# BIOS show on the serial port what goes to its screen.
# ipxe_exec DEVICE-OPTIONS
ipxe_exec()
{
	[ "$BACKEND" != kvnet ] || exec 9<> $DEVICE
	set_qemu_command
	exec "${QEMU_COMMAND[@]}" -accel kvm -cpu max -smp 1 -m 256 -M q35,graphics=off \
		-netdev "$(netdev_argument)" -device "virtio-net-pci,bootindex=1,netdev=net0,mac=$GUEST_MAC,$1"
}

# what iPXE fetches: it asks for the file "go" until the test makes it
ipxe_files()
{
	rm -rf $IPXE_DIR
	mkdir -p $IPXE_DIR
	# it takes a bzImage only
	ln -s /guest-bzimage $IPXE_DIR/kernel
	ln -s $GUEST/initrd $IPXE_DIR/initrd
	cat > $IPXE_DIR/boot.ipxe <<-END
	#!ipxe
	echo kvnet-address \${net0/ip} kvnet-end
	:again
	imgfetch go && goto load ||
	goto again
	:load
	imgfree go
	echo kvnet-load
	kernel kernel $GUEST_WORDS
	initrd initrd
	boot
	END
	cat > $IPXE_DIR/udhcpd.conf <<-END
	interface $TAP
	start $IPXE_FIRST
	end $IPXE_LAST
	lease_file $IPXE_DIR/leases
	pidfile $IPXE_DIR/pid
	option subnet 255.255.255.0
	# of iPXE's own: there is no other server to wait for
	option 0xaf b00101
	boot_file http://$HOST_IP/boot.ipxe
	END
	: > $IPXE_DIR/leases
}

# Router advertisements until the guest has come: iPXE waits 15 s for an IPv6 router before it
# goes on with what DHCP said, and IPv6 of a new tap is not ready yet.
ipxe_router()
{
	exec python3 -I -c 'import socket, struct, sys, time
s = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
# what has passed a router does not count
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
advertisement = struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, 0, 0, 0)
while True:
    try:
        s.sendto(advertisement, ("ff02::1", 0, 0, int(sys.argv[1])))
    except OSError:
        pass
    time.sleep(0.3)' "$(cat /sys/class/net/$TAP/ifindex)"
}

ipxe_servers()
{
	modprobe af_packet 2> /dev/null
	# no other host has these addresses: no need to ask with ARP
	busybox udhcpd -f -a 0 $IPXE_DIR/udhcpd.conf > $IPXE_DIR/udhcpd.log 2>&1 &
	IPXE_PIDS=($!)
	(ipxe_router) > $IPXE_DIR/router.log 2>&1 &
	IPXE_PIDS+=($!)
	busybox httpd -f -vv -p $HOST_IP:80 -h $IPXE_DIR > $IPXE_DIR/httpd.log 2>&1 &
	IPXE_PIDS+=($!)
	wait_until 10 listens host 80 tcp || fail "no HTTP server: $(cat $IPXE_DIR/httpd.log)"
}

ipxe_says()
{
	strings $GUEST/console | grep -- "$1"
}

# the BIOS's count of timer interrupts, which is iPXE's clock
ipxe_clock()
{
	hmp xp /1wx 0x46c | sed -n 's/.*: \(0x[0-9a-f]*\).*/\1/p'
}

clock_left()
{
	[ "$(ipxe_clock)" != "$1" ]
}

ipxe_clock_runs()
{
	local now

	now=$(ipxe_clock)
	[ -n "$now" ] && wait_until 10 clock_left "$now"
}

# where a packet may have been lost; run_test shows 30 lines
ipxe_report()
{
	strings $GUEST/console | tail -n 8
	tail -n 5 $IPXE_DIR/udhcpd.log
	tail -n 3 $IPXE_DIR/httpd.log
	cat $IPXE_DIR/router.log
	ip -s link show $TAP | tail -n 4
	ipxe_clock_runs && echo "iPXE's clock runs" || echo "iPXE's clock stands still at '$(ipxe_clock)'"
	hmp info registers | grep -o 'EIP=[0-9a-f]* EFL=[0-9a-f]* [^ ]*\|CS =.*'
	[ "$BACKEND" != kvnet ] || kvnet_counters | grep -v '[[:space:]]0$' | tr -s '\t\n' '  ' | fold -s
	echo
}

# like guest_wait_up; gives up when the guest's processor stands still
ipxe_reaches()
{
	local deadline=$((SECONDS + BOOT_DEADLINE * PATIENCE))

	until wait_until $((15 / PATIENCE)) ipxe_says "$1"; do
		[ $SECONDS -lt $deadline ] && ipxe_clock_runs || fail "no '$1' from iPXE" || return
	done
}

ipxe_gets_address()
{
	local ip

	ipxe_reaches 'kvnet-address .* kvnet-end' || return
	ip=$(ipxe_says kvnet-address | sed -n 's/.*kvnet-address \([0-9.]*\) kvnet-end.*/\1/p')
	[[ $ip == 10.9.0.10? ]] || fail "iPXE has address '$ip'" || return
	grep -q "$ip:.*url:/boot.ipxe" $IPXE_DIR/httpd.log || fail "the HTTP server was not asked" || return
	ping -q -c 10 -i 0.05 -W 5 "$ip" || fail "iPXE does not answer at $ip"
}

# programs and libraries of the guest against the test host's own
ipxe_boots_linux()
{
	touch $IPXE_DIR/go
	ipxe_reaches kvnet-load || return
	guest_wait_up || return
	guest 'sha256sum /bin/busybox /usr/bin/ping /usr/bin/iperf /lib/x86_64-linux-gnu/*' > $IPXE_DIR/sums
	[ "$(wc -l < $IPXE_DIR/sums)" -ge 4 ] && sha256sum -c $IPXE_DIR/sums > /dev/null ||
		fail "the files came damaged: $(sha256sum -c $IPXE_DIR/sums)" || return
	guest_reachable 30 && streams_both_ways $((4 << 20))
}

# ipxe_attempt DEVICE-OPTIONS [more to do]
ipxe_attempt()
{
	local status

	guest_stop
	load_backend || return
	[ -e /sys/class/net/$TAP ] || tap_create $TAP || return
	ipxe_files && ipxe_servers && launch ipxe ipxe_exec "$1" || return
	ipxe_gets_address && ${2:-true}
	status=$?
	kill "${IPXE_PIDS[@]}"
	wait "${IPXE_PIDS[@]}" 2>/dev/null
	[ $status -eq 0 ] || ipxe_report
	return $status
}

if [ -e "$IPXE_ROM" ]; then
	run_test "ipxe: legacy_device_gets_address_and_answers" once_more_if_lost ipxe_attempt disable-modern=on,disable-legacy=off
	run_test "ipxe: modern_device_boots_linux_over_http" once_more_if_lost ipxe_attempt disable-legacy=on,disable-modern=off ipxe_boots_linux
	guest_stop
else
	skip ipxe "no efi-virtio.rom in the test host (package ipxe-qemu)"
fi
