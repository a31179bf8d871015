# SPDX-License-Identifier: GPL-2.0
"""
The tests that boot guests of their own: rings of each layout, more queue pairs of one guest, more
guests, two on a bridge, a guest behind a strict IOMMU, one without TSO.
"""

import os
import subprocess
import time

import host
from guest import PORT, STREAM, Guest, Point, backend_of, on_each, pairs, per_second
from guest_tests import test_udp
from host import Failed

NEWEST = "/kvnet/guests/newest"
LAYOUTS, SCALE = host.names("LAYOUTS"), host.names("SCALE")
PACKED, IN_ORDER = 34, 35
QUEUES = (1, 2, 4, 8)
GUESTS = (1, 2, 4)


# The layouts of the ring side by side, pinned and not. All have the same guest: the newest kernel,
# which is the first to take VIRTIO_F_IN_ORDER, on QEMU 10.0, which is the first to offer it;
# without these, the test host's own and no row in order.

def layout_is_so(guest):
    """Does the guest's driver have what the name of the row says?"""
    guest.lib(f"guest_feature {PACKED} {int('packed' in guest.kinds)} && guest_feature {IN_ORDER} {int('inorder' in guest.kinds)}")
    ring = "user" if "user" in guest.kinds else "pinned"
    if guest.backend == "kvnet":
        said = host.answer(*guest.in_lib("kvnet_counters")).splitlines()
        if sum(".access:" in line and line.endswith(ring) for line in said) != 2:
            raise Failed(f"{guest.system}: the rings are not both '{ring}'")


def layout(guest):
    layout_is_so(guest)
    test_udp(guest, (64, 1472), "layout", 16000)


def test_layout():
    if host.LANE == "vtime":
        host.note("In the test layout the guest's own work for a packet falls into one of two states, "
                  "with vhost_net too: compare cpu_worker, not rates.")
    systems, how = LAYOUTS, {}
    if os.path.exists(f"{NEWEST}/kernel") and os.path.isdir("/opt/qemu-10.0"):
        how = {"QEMU": "10.0", "GUEST_KERNEL": f"{NEWEST}/kernel", "GUEST_CPIO": f"{NEWEST}/guest.cpio"}
        if host.EMULATED:
            # that kernel dies of the xsave that QEMU 7.2 emulates
            how["GUEST_CPU"] = "max,-xsave,-avx,-avx2"
        host.fact("layout-guest", host.text_of(f"{NEWEST}/release").strip() + ", QEMU 10.0")
    else:
        host.note("The test layout has no rows in order: the newest guest kernel or QEMU 10.0 could not be had.")
        systems = [name for name in LAYOUTS if "inorder" not in name]
    on_each(systems, layout, **how)


# queue pairs, all in use

def queues_guest(system, pairs):
    """
    And the command that launches it. Devices in the kernel need a descriptor for each pair, which
    qemu-kvnet opens; QEMU's own device opens the tap's queues by itself.
    """
    # two virtual CPUs that share one CPU would wait for each other, spinning
    how = {"GUEST_SMP": "1" if host.LANE == "vtime" else "2"}
    if backend_of(system) != "off":
        return Guest(system, **how), f"guest_boot wrapped_launch {pairs} ''"
    if pairs > 1:
        how.update(options=f"mq=on vectors={2 * pairs + 2}",
                   GUEST_NETDEV=f"tap,id=net0,ifname=tap0,script=no,downscript=no,vhost=off,queues={pairs}")
    return Guest(system, **how), "guest_start"


def test_queues():
    for system in SCALE:
        for pairs in QUEUES:
            guest, launch = queues_guest(system, pairs)
            with host.tried(f"{system}, {pairs} queue pairs", guest):
                if pairs > 1:
                    guest.start(launch, "multi_queue", f"ethtool -L eth0 combined {pairs}")
                else:
                    guest.start(launch)
                for way in ("rx", "tx"):
                    Point(guest, "queues", f"dir={way} queues={pairs} streams=16").stream(way, 16)


# guests

def together(guests, way):
    """All at once: the time is that of the last."""
    point = Point(guests[0], "guests", f"dir={way} guests={len(guests)}")
    amount, begin = point.scale(12000000), time.monotonic_ns()
    programs = [subprocess.Popen(("rr", STREAM[way], guest.ip, str(PORT), str(amount)), stdout=subprocess.DEVNULL) for guest in guests]
    if any([program.wait() for program in programs]):
        raise Failed("a stream failed")
    point.row("rate", per_second(8 * amount * len(guests), time.monotonic_ns() - begin), "bit/s")


def test_guests():
    for system in SCALE:
        for count in GUESTS:
            guests = [Guest(system, number) for number in range(count)]
            with host.tried(f"{system}, {count} guests", *guests):
                for guest in guests:
                    guest.start()
                for way in ("rx", "tx"):
                    together(guests, way)


# from a guest to another: their taps are ports of a bridge, which has the host's addresses

BRIDGE = "modprobe bridge && ip link add br0 type bridge && ip link set br0 up"
JOIN = "ip link set $TAP master br0 && ip addr flush dev $TAP && ip addr add $HOST_IP/16 dev br0"


class Pair(Point):
    """The first guest sends to the second; processor time is of both."""

    def __init__(self, guests, test, params):
        super().__init__(guests[0], test, params)
        self.other = guests[1]

    def rr(self, what, *words):
        return pairs(self.guest.ask(" ".join(["rr", what, self.other.ip, str(self.port), *map(str, words)])))

    def measured(self, fixed, what, *words):
        measured = super().measured
        (said, counted), other = self.other.counts.while_running(lambda: measured(fixed, what, *words))
        for thread in ("worker", "vcpu", "qemu"):
            counted[f"cpu_{thread}"] += other[f"cpu_{thread}"]
        return said, counted


def on_each_pair(measure, **first):
    for system in SCALE:
        guests = [Guest(system, **first), Guest(system, 1)]
        with host.tried(f"{system}, over a bridge", *guests):
            host.run("bash", "-c", BRIDGE)
            for guest in guests:
                guest.start()
                guest.lib(JOIN)
                guest.ask(f"ip addr flush dev eth0; ip addr add {guest.ip}/16 dev eth0")
            measure(guests)
        subprocess.call(("ip", "link", "del", "br0"))


def bridge(guests):
    for streams in (1, 4):
        Pair(guests, "bridge", f"streams={streams}").stream("rx", streams)


def test_bridge():
    on_each_pair(bridge)


# an IOMMU in front of the device, strict: the guest maps each buffer for itself, and takes the
# translation back when the buffer is used

def viommu(guest):
    for way in ("rx", "tx"):
        Point(guest, "viommu", f"dir={way} streams=1").stream(way, 1, 4000000)
    test_udp(guest, (64, 1472), "viommu", 1000)


def test_viommu():
    on_each(SCALE, viommu, options="iommu_platform=on ats=on disable-legacy=on disable-modern=off",
            GUEST_APPEND="intel_iommu=on iommu.strict=1", GUEST_MACHINE="q35,kernel-irqchip=split",
            GUEST_FIRST=["-device", "intel-iommu,intremap=on,device-iotlb=on"])


def test_notso():
    """A guest that segments TCP itself."""
    options = "host_tso4=off host_tso6=off host_ecn=off host_ufo=off"
    on_each(SCALE, lambda guest: Point(guest, "notso", "dir=tx streams=1").stream("tx", 1), options=options)
    on_each_pair(lambda guests: Pair(guests, "notso", "action=bridge streams=1").stream("rx", 1), options=options)


BOOTS = {"layout": test_layout, "queues": test_queues, "guests": test_guests, "bridge": test_bridge, "viommu": test_viommu,
         "notso": test_notso}
