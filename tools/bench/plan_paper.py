# SPDX-License-Identifier: GPL-2.0
"""The report of `make paper`: the paper's tables and figures, its own numbers beside ours."""

import stats
import units
from items import Grid, Ref, Table, Text
from plots import Bars, Lines
from report import Section

TITLE = "The paper's evaluation, repeated"
MBIT = 1e6
# from what answers the question to what was there first
SYSTEMS = [("kvnet", "proposed in section 7", "the device is in the kernel: ours"),
           ("vhost_net", "none", "the device is in the kernel: in-tree"),
           ("qemu", "pv in kvm-51", "a notification ends in KVM; the device is in QEMU"),
           ("qemu-noioeventfd", "pv in kvm-36", "a notification goes on to QEMU"),
           ("rtl8139", "rtl8139", "full virtualization")]
# the rows of the answer: what, filter, unit of which more is better or less
ANSWER = [("TCP to the guest", dict(test="tcp", dir="rx", metric="rate")),
          ("TCP to the host", dict(test="tcp", dir="tx", metric="rate")),
          ("UDP 64 B to the guest", dict(test="udp", dir="rx", size="64", metric="pps")),
          ("UDP 64 B to the host", dict(test="udp", dir="tx", size="64", metric="pps")),
          ("UDP 1472 B to the guest", dict(test="udp", dir="rx", size="1472", metric="pps")),
          ("UDP 1472 B to the host", dict(test="udp", dir="tx", size="1472", metric="pps")),
          ("UDP request and response, median", dict(test="rr", proto="udp", metric="p50")),
          ("TCP request and response, median", dict(test="rr", proto="tcp", metric="p50")),
          ("connections", dict(test="conn", metric="rate")),
          ("exits, a single packet to the guest", dict(test="accesses", dir="rx", pattern="single", metric="exits")),
          ("exits, a single packet to the host", dict(test="accesses", dir="tx", pattern="single", metric="exits")),
          ("exits to QEMU, a request", dict(test="rr", proto="udp", metric="exits_to_qemu")),
          ("exits to QEMU, MB of TCP to the guest", dict(test="tcp", dir="rx", metric="exits_to_qemu")),
          ("exits to QEMU, MB of TCP to the host", dict(test="tcp", dir="tx", metric="exits_to_qemu")),
          ("switches of the host, a request", dict(test="rr", proto="udp", metric="switches")),
          ("CPU, all of the host, UDP 64 B to the guest", dict(test="udp", dir="rx", size="64", metric="cpu_host")),
          ("CPU, all of the host, UDP 64 B to the host", dict(test="udp", dir="tx", size="64", metric="cpu_host")),
          ("CPU, TCP to the guest", dict(test="tcp", dir="rx", metric="cpu_host")),
          ("CPU, TCP to the host", dict(test="tcp", dir="tx", metric="cpu_host"))]


def cell(results, system, where):
    values = [row.value for row in results.select(backend=system, **where)]
    if not values:
        return "", None
    unit = next(row.unit for row in results.select(backend=system, **where))
    base, slash, per = unit.partition("/")
    if base in units.SECONDS and slash:
        return f"{units.text(stats.median(values), base)}/{per}", stats.median(values)
    if base == "1" and per not in ("", "s"):
        return units.digits(stats.median(values)), stats.median(values)
    return units.text(stats.median(values), unit), stats.median(values)


def gain(results, where, new, old):
    """How many times better 'new' is; counts that reach nothing have no ratio."""
    new, old = cell(results, new, where)[1], cell(results, old, where)[1]
    if not new or not old:
        return ""
    return f"{new / old if where['metric'] in ('rate', 'pps') else old / new:.2f}"


def answer(results):
    head = ["median"] + [name for name, _, _ in SYSTEMS] + ["kvnet / qemu", "kvnet / vhost_net"]
    lines = []
    for title, where in ANSWER:
        cells = [cell(results, name, where)[0] for name, _, _ in SYSTEMS]
        if any(cells):
            lines.append([title] + cells + [gain(results, where, "kvnet", "qemu"), gain(results, where, "kvnet", "vhost_net")])
    return Grid("What moving the device into the kernel gains (ratios: above 1 kvnet is better)", head, lines,
                where={"test": ["tcp", "udp", "rr", "conn", "accesses"]})


def hypercalls():
    where = {"test": "hypercall", "metric": "cost"}
    refs = [Ref("paper: kernel hypercall", value=3930, at={"kind": "kernel"}, unit="ns"),
            Ref("paper: user hypercall", value=6760, at={"kind": "user"}, unit="ns")]
    return Section("Table 2: what an exit costs", """
        A module in the guest issues calls that do nothing. kernel: a hypercall that KVM does not know. user: a write to a port that no
        device has, which goes on to QEMU, as the paper's user hypercall did. ioeventfd, which the paper did not have: a notification of the
        network device's receive queue; KVM signals an eventfd, which wakes the worker of the queue.""",
                   [Bars(where, x="kind", title="Cost of a null call",
                         reference=[Ref("paper: kernel", 3930, x="kernel"), Ref("paper: user", 6760, x="user")]),
                    Table(where, rows=("kind",), title="Cost of a null call", reference=refs),
                    Table(dict(where, metric="exits"), rows=("kind",), stats=("median",), title="Exits for a call: 1, unless the guest does something else meanwhile")])


def windows():
    def lines(direction, refs):
        return Lines({"test": "window", "metric": "rate", "dir": direction}, x="window", xlog=True, ylog=True,
                     title=f"Figures 5 to 9, {direction}: bandwidth by size of the TCP window", reference=refs)
    base = [Ref("paper: host to host", 1600 * MBIT)]
    paper = [Ref("paper: pv kvm-36, RX maximum", 469 * MBIT), Ref("paper: pv kvm-51, maximum", 82.5 * MBIT)]
    refs = [Ref("paper: pv kvm-36 at its best", value=469 * MBIT, at={"dir": "rx", "window": "131072"}, series="qemu-noioeventfd"),
            Ref("paper: pv kvm-51 at its best", value=82.5 * MBIT, at={"dir": "rx", "window": "262144"}, series="qemu")]
    return Section("Figures 5 to 9: TCP window against bandwidth", """
        rx: the host sends to the guest; tx: the guest sends. Both ends' socket buffers are the window, as with iperf -w. host: the host talks
        to itself. Of the paper's curves only what its text says is known here: RX of pv in kvm-36 grew until 80 KB, to 469 Mbit/s; the others
        were flat from 40 KB on; pv in kvm-51 reached 82.5 Mbit/s; host to host 1.6 Gbit/s.""",
                   [lines("rx", base + paper), lines("tx", base),
                    Table({"test": "window", "metric": "rate"}, rows=("dir", "window"), title="bandwidth", stats=("median",), reference=refs)])


def exits():
    where = {"test": "accesses"}
    refs = [Ref("paper: rtl8139, transmit", value=3, at={"dir": "tx", "pattern": "single"}, series="rtl8139"),
            Ref("paper: rtl8139, receive, up to", value=7, at={"dir": "rx", "pattern": "single"}, series="rtl8139"),
            Ref("paper: rtl8139, receive, close to", value=3, at={"dir": "rx", "pattern": "burst"}, series="rtl8139")]
    return Section("Figures 10 and 11: accesses and exits for a packet", """
        Datagrams of 64 bytes; single: 2 ms apart, burst: as fast as they go. accesses: reads and writes of a device's registers, by memory or by
        port (an rtl8139 of 2007 was reached by ports). exits: all exits of the guest, with those that have nothing to do with the network
        (the timer of a sender of single packets, the host's own interrupts). The paper counts accesses.""",
                   [Bars(dict(where, metric="accesses"), x=("dir", "pattern"), title="Accesses to the device for a packet",
                         reference=[Ref("paper: rtl8139", 3, x=("tx", "single")), Ref("paper: rtl8139, up to", 7, x=("rx", "single")),
                                    Ref("paper: rtl8139, close to", 3, x=("rx", "burst"))]),
                    Table(dict(where, metric="accesses"), rows=("dir", "pattern"), stats=("median",), title="accesses for a packet", reference=refs),
                    Table(where, rows=("dir", "pattern", "metric"), stats=("median",), title="by kind, for a packet", ratio=None)])


def irqchip():
    where = {"test": "irqchip", "metric": "rate"}
    refs = [Ref(f"paper: {mode} {direction}", stats=dict(zip(("mean", "min", "max", "sigma"), (v * MBIT for v in values))),
                at={"irqchip": mode, "dir": direction}, unit="bit/s")
            for mode, direction, values in (("on", "rx", (74.3, 73.0, 75.5, 0.626)), ("on", "tx", (44.9, 44.8, 45.1, 0.119)),
                                            ("off", "rx", (69.6, 67.8, 70.6, 0.772)), ("off", "tx", (39.9, 39.8, 40.1, 0.110)))]
    return Section("Table 3: interrupts handled in the kernel, and not", """
        The same TCP stream ten times, each from another moment on. on: interrupt controllers in KVM; split: only the local one; off: all in
        QEMU. In the paper, on wins by 6.5 % (RX) and 12.5 % (TX). With split, a device in the kernel still interrupts the guest without QEMU;
        with off it must wake QEMU for each interrupt.""",
                   [Table(where, rows=("dir", "irqchip"), stats=("mean", "min", "max", "sigma", "n"), title="TCP bandwidth", reference=refs),
                    Bars(where, x=("dir", "irqchip"), title="TCP bandwidth by place of the interrupt controllers")])


def systems():
    return Section("The systems", "Left our name, then the paper's.",
                   [Text([f"{ours:17} {theirs:22} {what}" for ours, theirs, what in SYSTEMS] + [f"{'host':17} {'host to host':22} the baseline"])])


def sections(results):
    return [Section("The paper's open question", """
        The paper proposes to move the para-virtual device into the kernel, and did not build it. This is what it gains.""", [answer(results)]),
            systems(), hypercalls(), windows(), exits(), irqchip()]
