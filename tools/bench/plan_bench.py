# SPDX-License-Identifier: GPL-2.0
"""The report of `make bench`."""

import chance
from report import Bars, Lines, Multiples, Ratios, Resolutions, Resolves, Section, Table

TITLE = "kvnet in the laboratory"
NATIVE = {"lane": "native"}
HEADLINE = ["pps", "rate", "p50", "p99"]
# what is counted, and by its nature repeats: no spread worth a plot
COUNTS = ["kicks", "calls", "switches", "exits", "wakeups", "timers"]
# of the test "events", by the kernel's tracepoints
EVENTS = ["kick", "call", "wakeup", "switch", "sum", "anywakeup", "exit", "timer"]
SHOWN_UNITS = ["1/s", "bit/s", "s", "ms", "us", "ns", "instructions"]
BRIEF = ["uneven", "wakeups", "timers", "cpu", "exits", "exits_to_qemu", "interrupts", "kicks", "calls", "switches", "switches_own", "cpu_host"]
# what a layout of the ring, and its being pinned, is compared with
LAYOUT_PAIRS = [("kvnet-packed", "kvnet"), ("kvnet-inorder", "kvnet"), ("kvnet-packed-inorder", "kvnet"),
                ("kvnet", "kvnet-user"), ("kvnet-packed", "kvnet-packed-user")]
PEER_PAIRS = [(name, "vhost_net") for name in ("kvnet", "kvnet-inorder", "kvnet-packed", "kvnet-packed-inorder", "kvnet-user")]
COUNTED_PAIR = ("kvnet", "kvnet-uncounted")
LANE_TITLES = {"native": "native speed, a process as guest", "icount": "instructions counted, a process as guest",
               "smp": "two CPUs, a process as guest", "native2": "native speed, two CPUs, a process as guest",
               "vtime": "virtual time, a real guest",
               "kvm": "hardware KVM, a real guest", "emul": "emulated test host, a real guest"}


def native(test, **more):
    return dict(NATIVE, test=test, **more)


def glance(results):
    lanes = list(dict.fromkeys(row.lane for row in results.rows))
    tests = ["pps", "gso", "rr", "sender", "bridge", "notso", "xdp", "dpdk"]
    items = [Resolves()]
    if "native" in lanes:
        items += [Ratios(native(tests, metric="worker"), title="The worker's CPU time for a packet (native speed, a process as guest)"),
                 Ratios(native(tests[:-1], metric=["pps", "p50", "p99"]), title="Packets per second and round trips (the same)")]
    for lane in lanes:
        if lane != "native":
            metrics = ["worker", "p50", "sender"] if lane == chance.COUNTED else HEADLINE
            items.append(Ratios({"lane": lane, "metric": metrics}, title=LANE_TITLES.get(lane, lane)))
            if results.select(lane=lane, test="events"):
                items.append(Ratios({"lane": lane, "test": "events", "metric": EVENTS[:5]}, title=f"Fewer kicks, calls, wake-ups, switches: {LANE_TITLES.get(lane, lane)}"))
            if results.select(lane=lane, backend=["kvnet-packed", "kvnet-user"]):
                items.append(Ratios({"lane": lane, "metric": HEADLINE + ["cpu_worker"]}, title=f"Layouts: {LANE_TITLES.get(lane, lane)}", ratio=LAYOUT_PAIRS))
    for twin in dict.fromkeys(row.backend for row in results.rows if chance.is_twin(row.backend)):
        of = twin[:-len(chance.TWIN)]
        items += [Ratios({"lane": lane, "metric": chance.USUAL}, ratio=(twin, of), title=f"Against itself: {of} ({LANE_TITLES.get(lane, lane)})")
                  for lane in lanes if results.select(lane=lane, backend=twin)]
    slowed = [name for name in dict.fromkeys(row.backend for row in results.rows) if name.endswith(chance.SLOWED)]
    items += [Ratios({"metric": chance.USUAL}, ratio=(name, name[:-len(chance.SLOWED)]), title=f"Slowed by 5 %, which should be seen of the whole (0.952) and not of the worker's time: {name}")
              for name in slowed]
    return Section("At a glance", """
        Each line is one measurement of kvnet divided by the same of in-tree vhost_net, sample by sample of one run (for times the other
        way round): right of 1 kvnet is better, left of it vhost_net is. The bar is the 95 % interval of the median (sign test; bootstrap of fewer than six repetitions). Where it
        crosses 1, or vhost_net differs as much from itself, this run shows no difference: even; and where vhost_net differs from itself by
        more than 5 %, in this row, it cannot tell.""", items)


def native_sections():
    yield Section("Packets per second", """
        A process plays the guest and has little to do: it offers a ring of frames at once and sleeps. To the host (tx) the frames end in the
        host's stack. To the guest (rx) a burst waits in the tap until the guest offers buffers, so that no sender limits it. Both:
        a burst and a ring at the same time, on one CPU; packets of both directions are added. A sample is up to 200 slices of a millisecond, and
        backends take turns slice by slice: bars are of the median slice, ratios of slices side by side.""",
                  [Bars(native("pps", metric="pps", dir=d), x="size", title=f"{d}: packets per second by size of the frame")
                   for d in ("tx", "rx", "both")] +
                  [Table(native("pps", metric="pps"), rows=("dir", "size"), title="packets per second")])
    yield Section("Large packets", """
        TCP packets of 64 KiB, not yet segmented (GSO), in 16 buffers each to the guest.""",
                  [Bars(native("gso", metric="rate"), x="dir", title="GSO: bits per second"),
                   Table(native("gso", metric=["pps", "rate"]), rows=("dir", "metric"), title="GSO")])
    yield Section("The worker's time", """
        CPU time of the device's kernel thread for one packet, from the scheduler's own account of it.""",
                  [Bars(native("pps", metric="worker"), x=("dir", "size"), title="worker time for a packet"),
                   Table(native(["pps", "gso"], metric="worker"), rows=("test", "dir", "size"), title="worker time for a packet")])
    yield Section("Above the floor", """
        The same frames through the same tap by a module that has no virtqueue: made from the kernel's own memory and sent in batches, or
        taken from the tap's ring and freed. What a backend takes beyond that is the virtqueue, the guest's memory and itself: all that it could
        ever save. A frame to the guest is not copied there.""",
                  [Multiples(native("floor", metric="worker"), "floor", title="worker time for a packet, as a multiple of the tap's own"),
                   Bars(native("floor", metric="worker"), x=("dir", "size"), title="floor: worker time for a packet"),
                   Table(native("floor", metric=["worker", "pps"]), rows=("metric", "dir", "size"), title="floor")])
    yield Section("What counting costs", """
        kvnet beside a copy of it that was built without counters and histograms, and reads no clock for them. Left of 1: dearer with them.""",
                  [Ratios(native("counters", metric=["pps", "worker", "p50"]), ratio=COUNTED_PAIR, title="with counters, beside a copy without"),
                   Table(native("counters", metric=["worker", "pps", "p50"]), rows=("metric", "dir", "size"), title="counters")])
    yield Section("Layouts of the ring", """
        The same work with split and packed rings, with and without in-order use; kvnet reaches its rings by the kernel's own addresses, their
        pages being pinned, or (-user) by user access as vhost_net does. On one CPU the ring's memory stays in one cache: what a packed ring saves
        when two CPUs share it does not show here, what it costs to handle does.""",
                  [Ratios(native("layout", metric="worker"), title="the worker's time: layouts and pins against each other", ratio=LAYOUT_PAIRS),
                   Ratios(native("layout", metric="worker"), title="the worker's time: each against vhost_net", ratio=PEER_PAIRS),
                   Bars(native("layout", metric="worker"), x=("dir", "size"), title="layouts: worker time for a packet"),
                   Bars(native("layout", metric="pps"), x=("dir", "size"), title="layouts: packets per second"),
                   Table(native("layout", metric=["worker", "pps"]), rows=("metric", "dir", "size"), stats=("median",), title="layouts: medians"),
                   Table(native("layout"), rows=("metric", "dir", "size"), title="layouts: with the spread", detail=True)])
    yield Section("A single packet", """
        The guest sends one frame, the host takes it from the tap and sends it back, the guest is called and sends the next: two wake-ups of
        the worker for a round trip.""",
                  [Bars(native("rr", metric=["p50", "p99", "p999"]), x="metric", title="round trip of a single packet"),
                   Table(native("rr"), rows=("metric",), title="round trip")])
    yield Section("As the ring grows", "The same work with rings of other sizes, whole rings at a time.",
                  [Lines(native("ring", metric="pps", dir=d), x="ring", xlog=True, title=f"{d}, 64 bytes: packets per second by size of the ring")
                   for d in ("tx", "rx")])
    yield Section("As the batch grows", "So many frames are made available, with one kick, before the guest sleeps until all are used.",
                  [Lines(native("batch", metric="pps"), x="batch", xlog=True, ylog=True, title="tx, 64 bytes: packets per second by batch"),
                   Table(native("batch", metric=["pps", "worker", "kicks", "switches"]), rows=("metric", "batch"), title="by batch")])
    yield Section("As devices and queues grow", """
        Devices have a tap and workers each; queues share one tap, whose steering program spreads what it sends. All are busy at once, on one
        CPU: the total can only fall, and should not.""",
                  [Lines(native(t, metric="pps", dir=d), x=t, xlog=True, title=f"{d}, 64 bytes: packets per second of all {t}")
                   for t in ("devices", "queues") for d in ("tx", "rx")] +
                  [Table(native(t, metric=["pps", "worker"]), rows=("dir", t, "metric"), title=f"by {t}") for t in ("devices", "queues")])
    yield Section("The sender to the guest", """
        The guest has offered its buffers and waits; what a frame costs the host's own process that puts it into the tap, from its own CPU time.
        The wake-up of the device's worker is part of that.""",
                  [Bars(native("sender", metric="sender"), x="size", title="sender: the sender's time for a frame"),
                   Table(native("sender", metric=["sender", "alone", "worker", "pps"]), rows=("metric", "size"), title="sender")])
    yield Section("Many guests, and other work beside", """
        Guests are processes, each with a device and a worker, all busy for the same time: what they do together, what the worst of them does, and
        the best over the worst. Busy threads, two for each CPU, never sleep: a device that spins takes turns from them, and a worker that
        sleeps waits for one.""",
                  [Bars(native("crowd", metric="pps"), x=("dir", "guests"), title="crowd: packets per second of all guests"),
                   Table(native("crowd", metric=["pps", "worst", "uneven"]), rows=("dir", "metric"), title="crowd"),
                   Bars(native("load", metric="p50"), x="busy", title="load: round trip beside busy threads"),
                   Table(native("load", metric=["p50", "p99", "pps", "worker"]), rows=("dir", "metric"), title="load"),
                   Table(native("neighbour", metric=["echo-slower", "bulk-slower", "ioctl-slower", "other-slower", "ioctl", "worst", "other-waited"]),
                         rows=("attack", "metric"), title="neighbour: beside one that attacks, as multiples of beside one that behaves")])
    yield Section("From a guest to another", """
        The taps of two guests are ports of a Linux bridge, which knows their addresses. All workers of both are counted, for each frame that
        the first guest sends. The floor copies each from one guest's ring to the other's, and checks nothing.""",
                  [Multiples(native("bridge", metric="worker"), "floor", title="bridge: worker time for a packet, as a multiple of the floor's"),
                   Bars(native("bridge", metric="worker"), x="size", title="bridge: worker time for a packet"),
                   Table(native("bridge", metric=["worker", "pps"]), rows=("metric", "size"), title="bridge"),
                   Table(native("bridge_rr"), rows=("metric",), title="bridge_rr: a round trip")])
    yield Section("A guest without TSO", """
        It sends TCP segments of 1514 bytes, one flow, over a bridge to a second guest, or through the host's routing to a device that
        drops them. "frames" is how many frames arrive for each segment: less than 1 where the host has merged some.""",
                  [Bars(native("notso", metric="worker"), x="action", title="notso: worker time for a segment"),
                   Table(native("notso", metric=["worker", "pps", "frames"]), rows=("metric", "action"), title="notso")])
    yield Section("An XDP program on the tap", """
        It drops each frame of the guest's, or sends it on to the tap of a second guest: none ever becomes a socket buffer.""",
                  [Bars(native("xdp", metric="worker"), x=("action", "size"), title="xdp: worker time for a packet"),
                   Table(native("xdp", metric=["worker", "pps"]), rows=("metric", "action", "size"), title="xdp")])
    yield Section("A guest behind a strict IOMMU", """
        Each buffer is translated when the device asks the VMM, and invalidated when it is used. The VMM answers each miss before it reads the next.""",
                  [Bars(native("viommu", metric="pps"), x=("dir", "size"), title="viommu: packets per second, guest and VMM included"),
                   Table(native("viommu", metric=["worker", "pps", "misses", "vmm", "switches"]), rows=("metric", "dir", "size"), title="viommu")])
    yield Section("The owner's memory", """
        What it costs the process that owns a device to change its memory: a device with inline RX is notified of each change.""",
                  [Table(native("memory"), rows=("metric", "devices"), title="calls about 64 MiB of memory, and of one page")])
    yield Section("DPDK's testpmd as the guest", """
        virtio-user in DPDK polls its rings; the node is all that differs. It sends without a pause, or takes bursts of 28672 packets that waited
        in the tap while it was stopped. It shares the only CPU with the device's workers, so packets per second are those of both together.""",
                  [Bars(native("dpdk", metric="worker"), x=("dir", "size"), title="testpmd: worker time for a packet"),
                   Bars(native("dpdk", metric="pps"), x=("dir", "size"), title="testpmd: packets per second"),
                   Table(native("dpdk"), rows=("dir", "size", "metric"), title="testpmd")])
    yield Section("Notifications, wake-ups and idle devices", """
        Kicks, calls and switches to the worker for a packet; and what idle devices cost.""",
                  [Table(native(["pps", "gso", "rr"], metric=COUNTS, size=[64, 65226]), rows=("test", "dir", "size", "metric"),
                         stats=("median",), title="for each packet (rr: for each round trip)"),
                   Table(native("batch", metric=["kicks", "calls", "switches"]), rows=("batch", "metric"), stats=("median",),
                         title="for each packet, by batch"),
                   Table(native("idle", queues=None), rows=("devices", "metric"), title="idle, by devices"),
                   Table(native("idle", devices=None), rows=("queues", "metric"), title="idle, by queue pairs of one tap")])


def guest_section(results, lane, test):
    """Whatever a lane with a real guest measured: rates and times as bars, and what was counted."""
    found = results.series(lane=lane, test=test)
    params = tuple(dict.fromkeys(name for key in found for name in key.params))
    where = {"lane": lane, "test": test}
    shown = list(dict.fromkeys(key.get("metric") for key in found if key.get("unit") in SHOWN_UNITS))
    counted = [m for m in dict.fromkeys(key.get("metric") for key in found) if m not in shown]
    items = [Bars(dict(where, metric=metric), x=params or "test", title=f"{test}: {metric}") for metric in shown[:4]]
    if test in ("floor", "bridge") and "worker" in shown:
        items.insert(0, Multiples(dict(where, metric="worker"), "floor", title="the worker's part, as a multiple of the floor's"))
    if test == "counters":
        items.insert(0, Ratios(dict(where, metric=["pps", "worker", "p50"]), ratio=COUNTED_PAIR, title="with counters, beside a copy without"))
    if shown:
        items.append(Table(dict(where, metric=shown), rows=params + ("metric",), title=f"{test}: rates and times"))
    if counted:
        items.append(Table(dict(where, metric=EVENTS if test == "events" else BRIEF + ["wakeup", "timer"]), rows=params + ("metric",), stats=("median",), title=f"{test}: counts"))
        items.append(Table(dict(where, metric=counted), rows=params + ("metric",), stats=("median", "spread"), detail=True,
                           title=f"{test}: everything that was counted"))
    return Section(f"{test} ({lane})", f"{LANE_TITLES.get(lane, lane).capitalize()}.", items)


def sections(results):
    lanes = {}
    for row in results.rows:
        lanes.setdefault(row.lane, {})[row.test] = True
    found = [glance(results)]
    if "native" in lanes:
        have = lanes["native"]
        found += [s for s in native_sections() if any(set(wanted_tests(item)) & set(have) for item in s.items)]
    for lane, tests in lanes.items():
        if lane != "native":
            found += [guest_section(results, lane, test) for test in tests]
    prose = "From the spread of each row's samples in this run: the smallest difference that it can tell. The method is at the end of this page."
    found.append(Section("What this run can resolve", prose, [Resolutions({"unit": SHOWN_UNITS})]))
    return found


def wanted_tests(item):
    test = item.where.get("test", [])
    return [test] if isinstance(test, str) else test
