# SPDX-License-Identifier: GPL-2.0
"""
Runs inside the test host: the paper's evaluation, on the systems that it compares. Prints rows as
bench_guest.py does. LANE, REP and QUICK as there; PARTS: some of hypercall windows exits question
irqchip; WINDOWS: sizes of socket buffers; RUNS of Table 3.
"""

import collections
import contextlib
import os
import re
import sys

import host
from counts import kvm_stat
from guest import DATAGRAMS, STREAM, Guest, Point, on_each
from guest_tests import test_conn, test_ping, test_rr, test_tcp, test_udp
from host import REP

SYSTEMS = ("kvnet", "vhost_net", "qemu", "qemu-noioeventfd", "rtl8139")
PARTS = host.names("PARTS")
ROUNDS, SAMPLES = 300, 10
BUFFERS = "for f in /proc/sys/net/core/[rw]mem_max; do echo 4194304 > $f; done"
WINDOW_PORT = 5202


# Table 2: the module is put into the guest's image

def add_module():
    if os.path.exists("/kvnet/hypercall.ko"):
        host.run("sh", "-c", "cd /kvnet && echo hypercall.ko | cpio -o -H newc >> guest-overlay.cpio")


def hypercall(guest):
    """
    What each sample took, and exits for a call. How far a call goes does not depend on the system,
    but which thread a notification wakes does.
    """
    for kind in ("kernel", "user", "ioeventfd") if guest.system in ("kvnet", "vhost_net", "qemu") else ():
        point = Point(guest, "hypercall", f"kind={kind}")
        guest.ask("dmesg -c > /dev/null")
        before = kvm_stat("exits")
        guest.ask(f"insmod /hypercall.ko kind={kind} rounds={ROUNDS} samples={SAMPLES}")
        calls = kvm_stat("exits") - before
        for sample, n, ns in re.findall(r"kind=.* sample=(\d+) n=(\d+) ns=(\d+)", guest.ask("dmesg")):
            point.row("cost", int(ns) / int(n), "ns", REP * 100 + int(sample))
        point.row("exits", calls / ((SAMPLES + 1) * ROUNDS), "1/call")
        guest.ask("rmmod hypercall")


# Figures 5 to 9: both ends' buffers, as iperf's -w sets them

def each_window(guest):
    for window in map(int, host.names("WINDOWS")):
        for way in ("rx", "tx"):
            point = Point(guest, "window", f"dir={way} window={window}", WINDOW_PORT)
            point.rr("window", window)
            amount = point.scale(1500000 if window < 32768 else 6000000)
            point.rate_row(point.rr(STREAM[way], amount, 1, window))


def windows(guest):
    guest.ask(BUFFERS)
    guest.serve(WINDOW_PORT)
    each_window(guest)


def host_windows():
    """The paper's baseline: the host talks to itself."""
    host_itself = Guest("host")
    host_itself.ip = "127.0.0.1"
    with host.tried("host"), host.server("rr", "serve", str(WINDOW_PORT), port=WINDOW_PORT):
        each_window(host_itself)


# Figures 10 and 11: what the guest does to its device for a packet, counted by KVM's tracepoints
# (histograms in the kernel). They make each access dearer, so nothing is timed meanwhile.

TRACE = "/sys/kernel/tracing/events/kvm"
LOCAL_APIC = "fee00000"
KEYS = {"kvm_mmio": "type,gpa.hex", "kvm_pio": "rw,port.hex", "kvm_exit": "exit_reason", "kvm_hypercall": "nr",
        "kvm_inj_virq": "vector", "kvm_userspace_exit": "reason", "kvm_msr": "write,ecx.hex"}
NAMES = {"kvm_pio": "port", "kvm_hypercall": "hypercalls", "kvm_inj_virq": "interrupts", "kvm_exit": "exits",
         "kvm_userspace_exit": "exits_to_qemu", "kvm_msr": "msr"}


@contextlib.contextmanager
def histograms():
    for event, keys in KEYS.items():
        host.write(f"{TRACE}/{event}/trigger", f"hist:keys={keys}:size=4096")
    try:
        yield
    finally:
        for event, keys in KEYS.items():
            host.write(f"{TRACE}/{event}/trigger", f"!hist:keys={keys}:size=4096")


def accesses():
    """How often each: lines "{ type: 2, gpa: febf1000 } hitcount: 17"."""
    found = collections.Counter(dict.fromkeys(["mmio", "apic", *NAMES.values()], 0))
    for event in KEYS:
        for keys, hits in re.findall(r"^\{(.*)\} hitcount: *(\d+)", host.text_of(f"{TRACE}/{event}/hist"), re.M):
            words = keys.replace(",", " ").split()
            name = NAMES.get(event, "apic" if words[-1] == LOCAL_APIC else "mmio")
            # a read that QEMU answers is seen twice, as type 0 and as 1
            if event != "kvm_mmio" or words[1] != "0":
                found[name] += int(hits)
    found["accesses"] = found["mmio"] + found["port"]
    return found


def exits(guest):
    """Single packets, 2 ms apart, and bursts."""
    for way in ("rx", "tx"):
        for pattern, count, gap in (("single", 200, 2000), ("burst", 1000, 0)):
            point = Point(guest, "accesses", f"dir={way} pattern={pattern}")
            with histograms():
                got = point.rr(DATAGRAMS[way], count, 64, gap)["got"]
                for name, value in sorted(accesses().items()) if got else ():
                    point.row(name, value / got, "1/packet")


def question(guest):
    """What it gains to have the device in the kernel."""
    for test in (test_ping, test_rr, test_conn):
        test(guest)
    test_tcp(guest, (1,))
    test_udp(guest, (64, 1472))


# Table 3: the same work many times, each from another moment on

def irqchip_runs(guest):
    mode = guest.shell["GUEST_MACHINE"].rpartition("=")[2]
    # the first two or three are half as fast, with each device: a warm-up
    for run in range(-3, int(os.environ["RUNS"]) + 1):
        for way in ("rx", "tx"):
            point = Point(guest, "irqchip", f"dir={way} irqchip={mode}")
            if way == "rx":
                point.rr("udp", 3 * run + 10, 1)
            said = point.rr(STREAM[way], point.scale(24000000), 1)
            if run > 0:
                point.rate_row(said, REP * 100 + run)


def irqchip():
    for mode in ("on", "split", "off"):
        # what needs a local APIC in the kernel, and is asked for by -cpu max all the same
        on_each(("kvnet", "qemu"), irqchip_runs, GUEST_CPU="max,-kvm-asyncpf-int,-kvm-pv-eoi",
                GUEST_MACHINE=f"q35,kernel-irqchip={mode}")


GUEST_PARTS = {"hypercall": hypercall, "exits": exits, "windows": windows, "question": question}


def parts_of(guest):
    for name, part in GUEST_PARTS.items():
        if name in PARTS:
            host.say(f"{guest.system}: {name}")
            part(guest)


def main():
    host.begin()
    if "hypercall" in PARTS:
        add_module()
    host.run("sh", "-c", BUFFERS)
    if "windows" in PARTS:
        host_windows()
    if PARTS != ["irqchip"]:
        on_each(SYSTEMS, parts_of)
    if "irqchip" in PARTS:
        irqchip()
    return bool(host.failures)


sys.exit(main())
