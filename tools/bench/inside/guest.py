# SPDX-License-Identifier: GPL-2.0
"""A real guest on one of the systems that are compared, and what is measured on it."""

import os

import host
from counts import Counts, kernel_workers
from host import Failed

PORT = 5201
PARAMETERS = "/sys/module/kvnet/parameters"
BACKENDS = {"kvnet": "kvnet", "vhost_net": "vhost"}
OPTIONS = {"packed": "packed=on", "inorder": "in_order=on", "noioeventfd": "ioeventfd=off"}


def assignment(name, value):
    return f"{name}=({' '.join(value)})" if isinstance(value, list) else f"{name}='{value}'"


def backend_of(system):
    return BACKENDS.get(system.partition("-")[0], "off")


class Guest:
    """
    selftests/net/lib.sh starts it and talks to it. variables: more that lib.sh reads; options: of
    the device. The guest's number is that of its tap and network: 10.9.NUMBER.1 and .2.
    """

    def __init__(self, system, number=0, options="", **variables):
        kinds = system.split("-")[1:]
        self.system, self.kinds, self.ip = system, kinds, f"10.9.{number}.2"
        self.options = " ".join([OPTIONS[kind] for kind in kinds if kind in OPTIONS] + [options])
        self.path = f"/tmp/guest{number}"
        self.backend = backend_of(system)
        words = "nokaslr " if host.LANE == "vtime" else ""
        self.shell = {"BACKEND": self.backend, "GUEST": self.path, "TAP": f"tap{number}", "HOST_IP": f"10.9.{number}.1",
                      "GUEST_IP": self.ip, "GUEST_MAC": f"52:54:00:12:34:5{number}", **variables,
                      "GUEST_APPEND": words + variables.get("GUEST_APPEND", "")}
        if system == "rtl8139":
            self.shell["GUEST_NIC"] = system
        self.counts = None

    def in_lib(self, command):
        return host.in_lib("; ".join([assignment(*item) for item in self.shell.items()] + [command]))

    def lib(self, command):
        host.run(*self.in_lib(command))

    def ask(self, command):
        """What the guest's shell says."""
        return host.answer(*self.in_lib('guest "$1"'), "bash", command)

    def start(self, launch="guest_start", tap="", prepare=":"):
        """launch: a command of lib.sh that boots it; tap: words for the tap; prepare: a command for the guest."""
        self.lib(f"load_backend && tap_create $TAP {tap}")
        if self.backend == "kvnet":
            host.write(f"{PARAMETERS}/pin_rings", int("user" not in self.kinds))
            host.write(f"{PARAMETERS}/rx_inline", int("woken" not in self.kinds))
        self.lib(f"{launch} {self.options}")
        self.ask(f"[ {self.ip} = 10.9.0.2 ] || {{ ip addr flush dev eth0; ip addr add {self.ip}/24 dev eth0; }}; {prepare}")
        self.lib("guest_reachable 30")
        self.take_workers()
        self.serve(PORT)
        self.warm_up()
        host.say(f"{self.system}: the guest is up")

    def take_workers(self):
        """
        In virtual time one CPU does all the work: emulated CPUs take turns, and one that is woken by
        the other waits for that one's turn to end, often a whole tick. Such waits would hide the
        length of the path, which is what is compared.
        """
        pid = host.text_of(f"{self.path}/pid").strip()
        opened = f"/proc/{pid}/fd"
        self.counts = Counts(pid, [fd for fd in os.listdir(opened) if os.readlink(f"{opened}/{fd}") == "/dev/kvnet"])
        if host.LANE == "vtime":
            for worker in kernel_workers():
                os.sched_setaffinity(int(worker), {0})

    def serve(self, port):
        """rr's server runs in the guest until its end."""
        listens = f"grep -q '{host.listener(port)}' /proc/net/tcp"
        self.ask(f"rr serve {port} > /dev/null 2>&1 & until {listens}; do usleep 50000; done")

    def warm_up(self):
        """The first traffic touches memory for the first time: not measured."""
        for words in (("to", 1000000, 1), ("from", 1000000, 1), ("udp", 50, 1), ("blast", 300, 1472), ("draw", 300, 1472)):
            rr(*words, host_ip=self.ip)

    def stop(self):
        self.lib("guest_stop; tap_delete $TAP; :")


def pairs(text):
    """The words name=number that a program says."""
    return {name: int(value) for name, _, value in (word.partition("=") for word in text.split())}


def rr(what, *words, host_ip, port=PORT, before=()):
    """before: a program that runs it."""
    return pairs(host.answer(*before, "rr", what, host_ip, str(port), *map(str, words)))


def per(amount, by):
    return amount / by if by > 0 else 0


def per_second(amount, ns):
    return per(amount * 1e9, ns)


class Point:
    """What a row is about: a test with its parameters on a system."""

    def __init__(self, guest, test, params, port=PORT):
        self.guest, self.test, self.params, self.port = guest, test, params, port

    def row(self, metric, value, unit, rep=host.REP):
        text = f"{value:.6g}" if isinstance(value, float) else value
        print(f"@bench lane={host.LANE} rep={rep} backend={self.guest.system} test={self.test} {self.params} "
              f"metric={metric} value={text} unit={unit}")

    def scale(self, amount):
        """What is slow gets less work."""
        return amount // ((8 if self.guest.system == "rtl8139" else 1) * (4 if host.QUICK else 1))

    def rr(self, what, *words, before=()):
        return rr(what, *words, host_ip=self.guest.ip, port=self.port, before=before)

    def amount(self, fixed, what, *words):
        """How much of it lasts a second, or just so much in virtual time."""
        fixed = self.scale(fixed)
        if host.LANE == "vtime":
            return fixed
        tried = fixed // 4
        ns = self.rr(what, tried, *words)["ns"]
        return int(min(max(tried * 1e9 / max(ns, 1), tried / 4), 400 * tried))

    def measured(self, fixed, what, *words):
        """What rr says, and what was counted meanwhile."""
        amount = self.amount(fixed, what, *words)
        return self.guest.counts.while_running(lambda: self.rr(what, amount, *words))

    def count_rows(self, counted, amount, unit, bits=0):
        """For each unit of work; of time, also as processor seconds per Gbit where bits were carried."""
        for name, value in sorted(counted.items()):
            if not name.startswith("cpu"):
                self.row(name, value / amount, f"1/{unit}")
            elif bits:
                self.row(name, value / bits, "s/Gbit")
            else:
                self.row(name, value / amount, f"ns/{unit}")

    def latency(self, fixed, what, *words):
        said, counted = self.measured(fixed, what, *words)
        for name in ("p50", "p99", "p999"):
            self.row(name, said[name], "ns")
        self.row("rate", per_second(said["n"], said["ns"]), "1/s")
        if said["lost"]:
            self.row("lost", said["lost"], "1")
        # Of the transactions alone: rr has looked when the first began and the last was over. Each
        # time that one of the kernel's own threads runs is two switches, to it and back.
        counted["switches"] = said["switches"]
        counted["cpu_host"] -= said["counting_ns"]
        self.row("switches_own", per(said["switches"] - 2 * said["kernel_turns"], said["n"]), "1/transaction")
        self.count_rows(counted, said["n"], "transaction")

    def rate_row(self, said, rep=host.REP):
        self.row("rate", per_second(8 * said["bytes"], said["ns"]), "bit/s", rep)

    def stream(self, direction, streams, fixed=24000000):
        said, counted = self.measured(fixed, STREAM[direction], streams)
        self.rate_row(said)
        self.count_rows(counted, said["bytes"] / 1e6, "MB", 8 * said["bytes"])

    def datagrams(self, said):
        """That some have arrived."""
        if said["got"] <= 1:
            raise Failed(f"{self.test} {self.params}: no datagram arrived")
        return said


# rr's words for each direction; rx: the guest receives
STREAM = {"rx": "to", "tx": "from"}
DATAGRAMS = {"rx": "blast", "tx": "draw"}


def on_each(systems, measure, **guest):
    for system in systems:
        one = Guest(system, **guest)
        with host.tried(system, one):
            one.start()
            measure(one)
