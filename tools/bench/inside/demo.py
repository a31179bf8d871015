# SPDX-License-Identifier: GPL-2.0
"""
The demonstration's part inside the test host: one guest with three network devices, on kvnet, on
vhost_net and on QEMU itself. Prints rows of what each carries, in turn, measured by ping and iperf,
and in the end what /dev/kvnet counted, beside the guest's count. Variables:

  LANE      vtime (instructions are counted, work is fixed) or kvm
  REP       the seed, in vtime
  ROUNDS    how often all is measured
  PINGS, TCP, UDP   how much: a number, and iperf's amounts ("-t 1", "-n 48M")
"""

import os
import re
import sys

import host
from guest import Guest
from host import Failed

PORT = 5003
DATAGRAM = 64
SYSTEMS = ("kvnet", "vhost_net", "qemu")
TCP, UDP = (os.environ.get(name, "-t 1") for name in ("TCP", "UDP"))


class Device:
    """The N-th device of the guest, and what it is on."""

    def __init__(self, guest, number):
        self.guest, self.number, self.system = guest, number, SYSTEMS[number]
        self.host_ip, self.guest_ip = f"10.9.{number}.1", f"10.9.{number}.2"

    def row(self, name, value):
        print(f"@row {self.system} {name} {value}")

    def ping(self, count):
        """Microseconds, the mean of the middle half."""
        said = host.answer("ping", "-c", str(count), "-i", "0.002", self.guest_ip)
        us = sorted(1000 * float(ms) for ms in re.findall(r"time=([0-9.]+) ms", said))
        us = us[len(us) // 4:len(us) - len(us) // 4]
        self.row("ping", f"{sum(us) / len(us):.2f}" if us else "")

    def received(self, by_guest):
        path = f"/sys/class/net/{'eth' if by_guest else 'tap'}{self.number}/statistics/rx_packets"
        return int(self.guest.ask(f"cat {path}") if by_guest else host.text_of(path))

    def iperf(self, to_guest, amount, udp=""):
        """
        What iperf says, and the packets that arrived. A server for each client: a second one of UDP
        can be the end of iperf 2.1.8.
        """
        client = f"iperf -c {self.guest_ip if to_guest else self.host_ip} -p {PORT} {udp} {amount} 2>&1"
        server = f"iperf -s -p {PORT} {udp and '-u'}"
        table, before = "udp" if udp else "tcp", self.received(to_guest)
        if to_guest:
            self.guest.ask(f"{server} > /dev/null 2>&1 & echo $! > /tmp/iperf; "
                           f"until grep -q '{host.listener(PORT)}' /proc/net/{table}; do usleep 50000; done")
            said = host.answer("sh", "-c", client)
        else:
            with host.server(*server.split(), port=PORT, table=table):
                said = self.guest.ask(client)
        packets = self.received(to_guest) - before
        if to_guest:
            self.guest.ask("kill -KILL $(cat /tmp/iperf)")
        return said, packets

    def tcp(self, to_guest, amount):
        said, _ = self.iperf(to_guest, f"-f m {amount}")
        return re.findall(r"(\S+) \S*bits/sec", said)[-1]

    def udp(self, to_guest, amount):
        """Small datagrams, offered above what can be carried; what arrives is counted, by iperf's first report's time."""
        said, packets = self.iperf(to_guest, amount, f"-u -l {DATAGRAM} -b 10g")
        return f"{packets / float(re.search(r' 0[.]0*-([0-9.]+) sec ', said)[1]):.1f}"

    def measure(self):
        self.ping(os.environ.get("PINGS", "200"))
        for name, measured, amount in (("tcp", self.tcp, TCP), ("udp", self.udp, UDP)):
            for end in ("guest", "host"):
                self.row(f"{name}-to-{end}", measured(end == "guest", amount))


def start(guest):
    """By its MAC the N-th device is the one that it should be."""
    more = ""
    for number in (1, 2):
        tap, vhost = f"tap{number}", "on" if number == 1 else "off"
        guest.lib(f"BACKEND={'vhost' if number == 1 else 'off'} TAP={tap} HOST_IP=10.9.{number}.1; load_backend && tap_create $TAP")
        more += (f" -netdev tap,id=net{number},ifname={tap},script=no,downscript=no,vhost={vhost}"
                 f" -device virtio-net-pci,id=nic{number},romfile=,netdev=net{number},mac=52:54:00:12:34:5{number}")
    if host.LANE == "vtime":
        host.no_halt_poll()
        os.sched_setaffinity(0, {0})
    guest.lib(f"load_backend && tap_create $TAP && guest_start --{more}")
    guest.take_workers()
    for number in (1, 2):
        guest.ask(f"grep -q 52:54:00:12:34:5{number} /sys/class/net/eth{number}/address && "
                  f"ip addr add 10.9.{number}.2/24 dev eth{number} && ip link set eth{number} up")
    devices = [Device(guest, number) for number in range(3)]
    for device in devices:
        # the first traffic touches memory for the first time: not measured
        guest.lib(f"GUEST_IP={device.guest_ip}; guest_reachable 30 && ping_guest 3 > /dev/null")
        for to_guest in (True, False):
            device.tcp(to_guest, "-n 4M")
    return devices


def counted(guest):
    """What the module and the guest's driver counted, each for itself."""
    kvnet = host.answer(*guest.in_lib("kvnet_counter rx.packets; kvnet_counter tx.packets")).split()
    return kvnet, guest.ask("cd /sys/class/net/eth0/statistics && cat rx_packets tx_packets").split()


def proof(guest):
    """The traffic really went through the module."""
    host.wait_until(15, lambda: len(set(map(tuple, counted(guest)))) == 1)
    ours, theirs = counted(guest)
    if ours != theirs or min(map(int, ours)) <= 1000:
        raise Failed(f"/dev/kvnet counted {ours} packets to and from the guest, its eth0 {theirs}")
    shown = host.answer(*guest.in_lib(
        'echo "QEMU (process $(guest_pid)) has /dev/kvnet open as descriptor $(backend_fd). It counted, of eth0 of the guest:"'))
    print(f"@proof {shown}@proof   to the guest    {ours[0]} packets (eth0 received {theirs[0]})")
    print(f"@proof   from the guest  {ours[1]} packets (eth0 sent {theirs[1]})")
    for name in ("bytes", "kicks", "calls"):
        to, sent = host.answer(*guest.in_lib(f"kvnet_counter rx.{name}; kvnet_counter tx.{name}")).split()
        print(f"@proof   {name}           {to} to, {sent} from the guest")


def main():
    print(f"@up host\n@fact {os.uname().release}, {host.answer('/opt/qemu-7.2/bin/qemu-system-x86_64', '--version').splitlines()[0]}")
    guest = Guest("kvnet")
    devices = start(guest)
    print("@up guest")
    for turn in range(int(os.environ.get("ROUNDS", "1"))):
        for number in range(3):
            # what comes first is a little slower: each does, in turn
            devices[(number + turn + host.REP) % 3].measure()
    proof(guest)


try:
    main()
except Failed as error:
    sys.exit(f"# {error}")
