# SPDX-License-Identifier: GPL-2.0
"""
What can be measured: the lanes, their tests and backends, the rows of each test, and the
order in which backends take turns. Names that are none are refused here, with those that are.
"""

import collections
import fnmatch
import itertools

LANES = ("native", "native2", "icount", "smp", "vtime", "kvm", "emul")
PROCESS_LANES = LANES[:4]  # a process is the guest (inside/native.py); in the others a real one
GUEST_LANES = LANES[4:]
SIZES = (64, 1500)
ONE_WAY = ("tx", "rx")
EACH_WAY = ("tx", "rx", "both")
LARGE = 65226

# what may follow the name of a backend that a process drives: see laboratory.rst
KINDS = {
    "kvnet": ("packed", "inorder", "vectorized", "user", "woken", "still", "each", "uncounted",
              "twin", "slowed"),
    "vhost_net": ("inorder", "twin", "slowed"),
    "floor": ("twin",),
}
NODES = {"kvnet": "/dev/kvnet", "vhost_net": "/dev/vhost-net", "floor": "/dev/kvnet-floor"}
PEERS = ["kvnet", "vhost_net"]
LAYOUTS = PEERS + ["kvnet-inorder", "vhost_net-inorder", "kvnet-packed", "kvnet-packed-inorder",
                   "kvnet-user", "kvnet-packed-user"]
QUICK_LAYOUTS = PEERS + ["kvnet-packed", "kvnet-packed-inorder", "kvnet-user"]
VECTORIZED = "kvnet-packed-inorder-vectorized"
OF_FLOOR = ("pps", "floor", "ring", "batch", "bridge")  # it has no rings, and takes what waits already
WITHOUT_TWIN = ("idle", "dpdk", "neighbour", "order")

# a real guest's: each is a function of inside/guest_tests.py
GUEST_TESTS = ("ping", "rr", "conn", "tcp", "udp", "events", "idle")
GUEST_BOOTS = ("layout", "queues", "guests", "bridge", "viommu", "notso")  # inside/guest_boots.py: they boot guests of their own
BY_NAME = ("queues", "guests", "bridge", "viommu", "notso")  # only if ONLY names them
GUEST_SYSTEMS = PEERS + ["qemu", "qemu-noioeventfd", "rtl8139"]
GUEST_LAYOUTS = [name for name in LAYOUTS if name != "vhost_net-inorder"]
GUEST_BACKENDS = list(dict.fromkeys(GUEST_SYSTEMS + GUEST_LAYOUTS + ["kvnet-woken"]))
GUEST_SCALE = PEERS + ["qemu"]


class Refused(Exception):
    """A name that is none."""


class Case(collections.namedtuple("Case", "program words")):
    """A program of selftests/perf and its parameters, which stand in every row."""

    @property
    def test(self):
        return self.words.split()[0].partition("=")[2]


def rows(program, test, **params):
    """One for each combination; the last parameter changes first."""
    lists = [value if isinstance(value, (list, tuple)) else [value] for value in params.values()]
    for values in itertools.product(*lists):
        words = [f"{name}={value}" for name, value in zip(params, values)]
        yield Case(program, " ".join([f"test={test}"] + words))


def shared_cases():
    """Of those that share CPUs: senders, other guests, other work."""
    yield from rows("sender", "sender", dir="rx", size=SIZES)
    yield from rows("crowd", "crowd", dir=ONE_WAY, size=64, ring=256, guests=16)
    yield from rows("rr", "load", size=64, busy=2)
    yield from rows("pps", "load", dir=ONE_WAY, size=64, busy=2)
    attacks = ("none", "kicks", "chains", "tables", "bad", "refill")
    yield from rows("neighbour", "neighbour", attack=attacks, size=64)


def smp_cases():
    """To which a second CPU makes a difference."""
    yield from rows("pps", "pps", dir=EACH_WAY, size=64)
    yield from rows("rr", "rr", size=64)
    yield from shared_cases()


def pair_cases():
    """From a guest to another; and a guest's TCP segments that it has made itself."""
    yield from rows("pair", "bridge", size=SIZES + (LARGE,), devices=2)
    yield from rows("rr", "bridge_rr", size=64, devices=2)
    yield from rows("pair", "xdp", action="redirect", size=SIZES, devices=2)
    yield from rows("pair", "notso", action="bridge", size=1514, devices=2)
    yield from rows("pair", "notso", action="forward", size=1514)


def native2_cases():
    """The guest, which also fills the tap, on one CPU, and the device's workers on another."""
    yield from rows("viommu", "viommu", dir=ONE_WAY, size=SIZES, ring=256, batch=64)
    for size in SIZES:
        yield from rows("pps", "apart", dir=ONE_WAY, size=size, apart=1)
        yield from rows("sender", "sender", dir="rx", size=size, apart=1)
    for way in EACH_WAY:
        yield from rows("pps", "pps", dir=way, size=1500)
        yield from rows("pps", "gso", dir=way, size=LARGE)
    yield from pair_cases()
    yield from rows("order", "order", port=("nic", "veth"), size=64, moves=(0, 1), apart=1)
    yield from rows("order", "order", port="nic", size=64, queues=2, apart=1)
    yield from smp_cases()


def all_cases():
    for way in EACH_WAY:
        yield from rows("pps", "pps", dir=way, size=(64, 256, 1024, 1500))
        yield from rows("pps", "gso", dir=way, size=LARGE)
    for test in ("layout", "floor", "counters"):
        yield from rows("pps", test, dir=ONE_WAY, size=SIZES)
    yield from rows("rr", "counters", size=64)
    yield from rows("rr", "rr", size=64)
    yield from rows("pps", "ring", dir=ONE_WAY, size=64, ring=(256, 512, 1024, 4096))
    yield from rows("pps", "batch", dir="tx", size=64, batch=(1, 4, 16, 64, 256))
    for way in ONE_WAY:
        yield from rows("pps", "devices", dir=way, size=64, ring=256, devices=(1, 2, 4, 8, 16, 32))
        yield from rows("pps", "queues", dir=way, size=64, ring=256, queues=(1, 2, 4, 8))
    yield from shared_cases()
    yield from rows("pair", "xdp", action="drop", size=SIZES)
    yield from pair_cases()
    yield from rows("viommu", "viommu", dir=ONE_WAY, size=SIZES, ring=256, batch=64)
    yield from rows("memory", "memory", size=64, ring=256, devices=(1, 64))
    yield from rows("idle", "idle", devices=32, ring=256)
    yield from rows("idle", "idle", queues=8, ring=256)
    yield from rows("dpdk", "dpdk", dir=ONE_WAY, size=SIZES)


def quick_cases():
    """One small row of each kind."""
    yield from rows("pps", "pps", dir=ONE_WAY, size=64)
    yield from rows("pps", "gso", dir="both", size=LARGE)
    yield from rows("pps", "layout", dir="tx", size=64, ring=256, batch=8)
    yield from rows("pps", "layout", dir="rx", size=64)
    yield from rows("pps", "floor", dir="both", size=64, ring=256)
    yield from rows("pps", "queues", dir="rx", size=64, ring=256, queues=2)
    yield from rows("rr", "rr", size=64)
    yield from rows("sender", "sender", dir="rx", size=64, ring=256)
    yield from rows("crowd", "crowd", dir="tx", size=64, ring=256, guests=2)
    yield from rows("rr", "load", size=64, busy=1)
    yield from rows("neighbour", "neighbour", attack="tables", size=64)
    yield from rows("pair", "bridge", size=(64, LARGE), ring=256, devices=2)
    yield from rows("rr", "bridge_rr", size=64, devices=2)
    yield from rows("pair", "xdp", action="redirect", size=64, ring=256, devices=2)
    yield from rows("pair", "notso", action="bridge", size=1514, ring=256, devices=2)
    yield from rows("pair", "notso", action="forward", size=1514, ring=256)
    yield from rows("viommu", "viommu", dir="tx", size=64, ring=256, batch=64)
    yield from rows("idle", "idle", devices=2, ring=256)
    yield from rows("dpdk", "dpdk", dir="rx", size=64)


def cases_of(lane, quick=False):
    found = {"smp": smp_cases, "native2": native2_cases}.get(lane, all_cases)
    found = quick_cases if quick else found
    # testpmd is for User-Mode Linux with one CPU
    return [case for case in found() if case.test != "dpdk" or lane == "native"]


def tests_of(lane, quick=False):
    if lane in GUEST_LANES:
        return list(GUEST_TESTS + GUEST_BOOTS)
    return list(dict.fromkeys(case.test for case in cases_of(lane, quick)))


def wanted(name, only):
    return not only or any(fnmatch.fnmatchcase(name, pattern) for pattern in only)


# backends

def base_of(name):
    return name.partition("-")[0]


def kinds_of(name):
    return name.split("-")[1:]


def is_backend(lane, name):
    if lane in GUEST_LANES:
        return name in GUEST_BACKENDS
    known, kinds = KINDS.get(base_of(name)), kinds_of(name)
    return known is not None and set(kinds) <= set(known) and len(set(kinds)) == len(kinds)


def known_backends(lane):
    if lane in GUEST_LANES:
        return " ".join(GUEST_BACKENDS)
    return ", ".join(f"{base} (-{' -'.join(kinds)})" for base, kinds in KINDS.items())


def turn_of(name):
    """How it is set up: its name, node, layout, module parameters, slowness (perf/turns.h)."""
    kinds = kinds_of(name)
    node = "/dev/kvnet_uncounted" if "uncounted" in kinds else NODES[base_of(name)]
    layout = ("packed," if "packed" in kinds else "") + ("in_order" if "inorder" in kinds else "")
    parameters = ["", "", "", ""]
    if base_of(name) == "kvnet":
        parameters = ["0" if "user" in kinds else "1", "0" if "woken" in kinds else "1",
                      "0" if "still" in kinds else "50", "0" if "each" in kinds else "100"]
    return ":".join([name, node, layout] + parameters + ["5" if "slowed" in kinds else ""])


def with_twin(names):
    """These, and one of them once more: vhost_net, or else the first."""
    if not names or any(kinds_of(name)[-1:] == ["twin"] for name in names):
        return names
    return names + [("vhost_net" if "vhost_net" in names else names[0]) + "-twin"]


def backends_of(test, named=(), quick=False, vectors=False):
    """Of a test that a process drives; vectors: the CPU has what DPDK's vectorized driver wants."""
    vectorized = [VECTORIZED] if vectors else []
    found = list(named) or {
        "layout": QUICK_LAYOUTS if quick else LAYOUTS,
        "neighbour": PEERS + ["kvnet-packed"],
        "floor": PEERS + ["floor"],
        "bridge": PEERS + ["floor"],
        "counters": ["kvnet", "kvnet-uncounted"],
        "dpdk": vectorized or ["kvnet-packed"] if quick else PEERS + ["kvnet-packed"] + vectorized,
    }.get(test, PEERS)
    found = [name for name in found if base_of(name) != "floor" or test in OF_FLOOR]
    return found if test in WITHOUT_TWIN else with_twin(found)


def in_turn(names, number):
    """Every other repetition the other way round, and another begins."""
    first = number // 2
    found = names if number % 2 else names[::-1]
    return [names[(names.index(name) + first) % len(names)] for name in found]


# the plan of a boot, for inside/native.py

def plan(cases, backends, numbers, begin=0, steps=0):
    """
    Lines "backend|NAME|how it is set up", and "NUMBER|step N of M|PROGRAM|WORDS|BACKENDS" for each
    row of each repetition. backends: {test: names}; begin, steps: how many steps other boots take
    before, and all of them.
    """
    cases = [case for case in cases if backends[case.test]]
    names = sorted({name for case in cases for name in backends[case.test]})
    lines = [f"backend|{name}|{turn_of(name)}" for name in names]
    steps = steps or len(numbers) * len(cases)
    for at, (number, case) in enumerate(itertools.product(numbers, cases), begin + 1):
        turns = " ".join(in_turn(backends[case.test], number))
        lines.append(f"{number}|step {at} of {steps}|{case.program}|{case.words}|{turns}")
    return lines


# what is asked for

def words_known(name, words, known):
    for word in words:
        if word not in known:
            raise Refused(f"{name}: no '{word}'; known: {' '.join(known)}")


def lanes_wanted(lanes, only, backends, quick=False):
    """Those of the lanes that have such a test; Refused if a name is wrong."""
    words_known("LANE", lanes, LANES)
    known = list(dict.fromkeys(test for lane in lanes for test in tests_of(lane, quick)))
    for pattern in only:
        if not fnmatch.filter(known, pattern):
            where = " ".join(lanes) + (", QUICK=1" if quick else "")
            raise Refused(f"ONLY: no test '{pattern}' in {where}; known: {' '.join(known)}")
    found = [lane for lane in lanes if any(wanted(test, only) for test in tests_of(lane, quick))]
    for lane in found:
        for name in backends:
            if not is_backend(lane, name):
                known = known_backends(lane)
                raise Refused(f"BACKENDS: lane {lane} has no '{name}'; known: {known}")
        tests = [test for test in tests_of(lane, quick) if wanted(test, only)]
        if lane in PROCESS_LANES and not any(backends_of(test, backends) for test in tests):
            raise Refused(f"BACKENDS: these tests are not of {' '.join(backends)}; "
                          f"known: {' '.join(OF_FLOOR)}")
    return found


PROFILED = ("pps", "rr", "sender", "pair")  # the programs
NUMBERS = ("size", "ring", "batch", "devices", "queues", "busy", "apart", "alone")


def program_of(work):
    """The program for WORK="test=pps dir=rx size=64"; Refused if it is no such row."""
    words = dict(word.partition("=")[::2] for word in work.split())
    test = words.get("test", "")
    programs = {case.test: case.program for case in itertools.chain(all_cases(), native2_cases())
                if case.program in PROFILED and case.test not in ("load", "counters", "floor")}
    words_known("WORK: test", [test], programs)
    words_known("WORK", words, ("test", "dir", "action") + NUMBERS)
    words_known("WORK: dir", [words.get("dir", "tx")], EACH_WAY)
    words_known("WORK: action", [words.get("action", "drop")], ("drop", "redirect", "bridge", "forward"))
    for name in NUMBERS:
        if not words.get(name, "1").isdecimal():
            raise Refused(f"WORK: {name} is no number")
    return programs[test]


def words_of_profile(backends):
    """Refused if perf and its like could not tell their workers."""
    others = {"vectorized", "uncounted", "twin", "slowed"}
    for name in backends:
        kinds = set(kinds_of(name))
        if not is_backend("native", name) or base_of(name) == "floor" or others & kinds:
            known = " -".join(kind for kind in KINDS["kvnet"] if kind not in others)
            raise Refused(f"BACKENDS: no '{name}' to profile; known: kvnet (-{known}), "
                          "vhost_net (-inorder)")
