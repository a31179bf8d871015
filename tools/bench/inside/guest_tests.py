# SPDX-License-Identifier: GPL-2.0
"""
The tests of a real guest: traffic between the test host and its guest with the program rr, whose
server runs in the guest from its start. dir=rx: the guest receives. Amounts are fixed in virtual
time; otherwise they are chosen so that a test lasts a second.
"""

import re
import time

import host
from guest import DATAGRAMS, PORT, Point, pairs, per, per_second
from host import Failed

UDP_COUNT = 8000
TALLY = ("tally",)


def test_ping(guest):
    """busybox's ping has no flood: the other one, each waits for its answer."""
    point = Point(guest, "ping", "size=56")
    count = point.scale(400)
    said, counted = guest.counts.while_running(lambda: host.answer("ping", "-q", "-f", "-c", str(count), guest.ip))
    found = re.search(r"^rtt [^=]*= ([0-9.]+)/([0-9.]+)/([0-9.]+)", said, re.M)
    if not found:
        raise Failed("ping says no times")
    for name, value in zip(("min", "avg", "max"), found.groups()):
        point.row(f"rtt_{name}", value, "ms")
    point.count_rows(counted, count, "transaction")


def test_rr(guest):
    for proto in ("tcp", "udp"):
        Point(guest, "rr", f"proto={proto} size=1").latency(1600, proto, 1)


def test_conn(guest):
    Point(guest, "conn", "proto=tcp").latency(320, "conn")


def test_tcp(guest, streams=(1, 4)):
    for count in streams:
        for way in ("rx", "tx"):
            Point(guest, "tcp", f"dir={way} streams={count}").stream(way, count)


def test_udp(guest, sizes=(64, 256, 1024, 1472), test="udp", count=UDP_COUNT):
    """For each packet that arrived."""
    for size in sizes:
        for way in ("rx", "tx"):
            point = Point(guest, test, f"dir={way} size={size}")
            said, counted = point.measured(count, DATAGRAMS[way], size)
            point.datagrams(said)
            point.row("pps", per_second(said["got"] - 1, said["ns"]), "1/s")
            point.row("lost", per(said["sent"] - said["got"], said["sent"]), "1")
            point.count_rows(counted, said["got"], "packet")


def test_idle(guest):
    """Nothing to do: what it costs per second."""
    seconds, point = 2, Point(guest, "idle", "traffic=none")
    _, counted = guest.counts.while_running(lambda: time.sleep(seconds))
    point.count_rows(counted, seconds, "second")
    tally_rows(point, pairs(host.answer(*TALLY, "sleep", str(seconds))), seconds, "second")


def tally_rows(point, said, amount, unit):
    """What wakes a task or takes the CPU from it, by the kernel's tracepoints: of any backend alike."""
    for name in ("kick", "call", "wakeup", "anywakeup", "switch", "exit", "timer"):
        if f"tally_{name}" not in said:
            raise Failed(f"no tracepoint for '{name}'")
        point.row(name, per(said[f"tally_{name}"], amount), f"1/{unit}")
    point.row("sum", per(sum(said[f"tally_{name}"] for name in ("kick", "call", "wakeup", "switch")), amount), f"1/{unit}")


def floor_events(guest, where, *command):
    """The same without a device: what the programs cost, and the guest's own timer."""
    point = Point(guest, "events", f"proto=udp dir={where} size=64 gap=100")
    said = host.answer(*TALLY, *command, "blast", "127.0.0.1", str(PORT), str(point.scale(1000)), "64", "100")
    tally_rows(point, point.datagrams(pairs(said)), pairs(said)["got"], "packet")


def test_events(guest):
    """
    Kicks, calls, wake-ups and switches for a datagram that the guest sends or gets by a call of its
    own, and for a request with its answer. Without a gap, on one CPU, a sender goes on until its
    time slice ends, and one kick is for many; with one of some microseconds each finds the worker asleep.
    """
    for gap in (0, 100):
        for way in ("tx", "rx"):
            point = Point(guest, "events", f"proto=udp dir={way} size=64 gap={gap}")
            said = point.rr(DATAGRAMS[way], point.scale(UDP_COUNT // (4 if gap else 1)), 64, gap, before=TALLY)
            tally_rows(point, point.datagrams(said), said["got"], "packet")
    for proto in ("udp", "tcp"):
        point = Point(guest, "events", f"proto={proto} dir=rr size=1")
        said = point.rr(proto, point.scale(1600), 1, before=TALLY)
        tally_rows(point, said, said["n"], "transaction")
    with host.server("rr", "serve", str(PORT), port=PORT):
        floor_events(guest, "host", "rr")
    floor_events(guest, "guest", *guest.in_lib('guest rr "$@"'), "bash")


TESTS = {"ping": test_ping, "rr": test_rr, "conn": test_conn, "tcp": test_tcp, "udp": test_udp, "events": test_events,
         "idle": test_idle}
