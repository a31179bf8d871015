# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Description: a guest that is not Linux: iPXE, with a virtio-net driver of its
# own. It gets an address by DHCP, fetches a script by HTTP and shows what that
# says, answers pings, and boots a Linux whose files it fetches by HTTP.

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
	exec "/opt/qemu-$QEMU/bin/qemu-system-x86_64" -L "/opt/qemu-$QEMU/share" \
		-name guest,debug-threads=on -nodefaults -no-user-config -display none \
		-accel kvm -cpu max -smp 1 -m 256 -M q35,graphics=off \
		-serial "file:$GUEST/console" \
		-chardev "pipe,id=control,path=$GUEST/control" \
		-device virtio-serial-pci -device virtserialport,chardev=control,name=control \
		-netdev "$(netdev_argument)" \
		-device "virtio-net-pci,bootindex=1,netdev=net0,mac=$GUEST_MAC,$1"
}

# what iPXE fetches: it asks for the file "go" until the test makes it
ipxe_files()
{
	rm -rf $IPXE_DIR
	mkdir -p $IPXE_DIR
	ln -s /guest-kernel $IPXE_DIR/kernel
	ln -s $GUEST/initrd $IPXE_DIR/initrd
	cat > $IPXE_DIR/boot.ipxe <<-END
	#!ipxe
	echo kvnet-address \${net0/ip} kvnet-end
	:again
	imgfetch go && goto load ||
	sleep 1
	goto again
	:load
	imgfree go
	echo kvnet-load
	kernel kernel console=ttyS0 panic=-1 quiet mitigations=off tsc=reliable no_timer_check
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
	boot_file http://$HOST_IP/boot.ipxe
	END
	: > $IPXE_DIR/leases
}

ipxe_servers()
{
	modprobe af_packet 2> /dev/null
	busybox udhcpd -f $IPXE_DIR/udhcpd.conf > $IPXE_DIR/udhcpd.log 2>&1 &
	IPXE_PIDS=($!)
	busybox httpd -f -vv -p $HOST_IP:80 -h $IPXE_DIR > $IPXE_DIR/httpd.log 2>&1 &
	IPXE_PIDS+=($!)
	wait_until 10 host_listens 80 tcp || fail "no HTTP server: $(cat $IPXE_DIR/httpd.log)"
}

ipxe_says()
{
	strings $GUEST/console | grep -- "$1"
}

# guest_wait_up's twin: what came instead is of interest
ipxe_reaches()
{
	wait_until "$BOOT_DEADLINE" ipxe_says "$1" ||
		fail "no '$1' from iPXE; it said: $(strings $GUEST/console | tail -n 20)"
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
	guest_reachable 30 && stream_to_guest $((4 << 20)) && stream_to_host $((4 << 20))
}

# ipxe_works DEVICE-OPTIONS [more to do]
ipxe_works()
{
	local status

	guest_stop
	load_backend || return
	[ -e /sys/class/net/$TAP ] || tap_create $TAP || return
	prepare_guest_files && ipxe_files && ipxe_servers || return
	(ipxe_exec "$1") > $GUEST/qemu.log 2>&1 < /dev/null &
	echo $! > $GUEST/pid
	echo ipxe > $GUEST/config
	ipxe_gets_address && ${2:-true}
	status=$?
	kill "${IPXE_PIDS[@]}"
	return $status
}

if [ -e "$IPXE_ROM" ]; then
	run_test "ipxe: legacy device" ipxe_works disable-modern=on,disable-legacy=off
	run_test "ipxe: modern device, then Linux booted by it" ipxe_works disable-legacy=on,disable-modern=off ipxe_boots_linux
	guest_stop
else
	echo "# SKIP ipxe: no efi-virtio.rom in the test host (package ipxe-qemu)"
fi
