# SPDX-License-Identifier: GPL-2.0
"""
`make demo`: from nothing to a table that compares kvnet with in-tree vhost_net and QEMU's own
virtio-net, for a guest in a test host in a VM.

With hardware virtualization one test host measures in real time, in rounds. Where the CPU is
emulated, time says nothing: there several test hosts count instructions, one for each seed, as many
at a time as there are CPUs and memory for. A seed gives the same figures whatever else the machine
does; what another seed gives is the spread.
"""

import os
import re
import signal
import statistics
import subprocess
import time

import machine
from machine import Failed, built, info, inside, script

HOST_MB = 1536  # memory of a test host
UNITS_BOOT, UNITS_ROUND = 8, 15  # what a boot takes, in rows of a round
SYSTEMS = ("kvnet", "vhost_net", "qemu")
ROWS = (("ping", "ping, us (less is better)"), ("tcp-to-guest", "TCP to the guest, Mbit/s"), ("tcp-to-host", "TCP to the host, Mbit/s"),
        ("udp-to-guest", "UDP to the guest, packets/s"), ("udp-to-host", "UDP to the host, packets/s"))
NO_RESULT = (124, 125)  # its time was over, or it did not boot: the rig's fault

VIRTUAL = """\
One guest with three network devices. Median and range of {} seeds in virtual time: the CPU is emulated, and
instructions are counted instead of seconds. So it shows the length of the path; compare, do not take as absolute.
"""
REAL = "One guest with three network devices, on nested KVM. Median and range of {} rounds.\n"
NEXT = """
even: the ranges overlap, this run shows no difference. Above 1 kvnet is faster.

By hand:  scripts/vm.sh --shell, then: . /kvnet/selftests/net/lib.sh; guest_need; ping -c 3 10.9.0.2; kvnet_counters; exit
Read:     README.md, then Documentation/datapath.rst (how it works), vmms.rst (QEMU, libvirt, DPDK), limits.rst
Install:  apt install linux-headers-$(uname -r) && make && make install && modprobe kvnet     (on a host with KVM)
"""


def values_of(texts):
    """{(system, row): sorted values} of lines "@row SYSTEM ROW VALUE"."""
    found = {}
    for system, row, value in re.findall(r"^@row (\S+) (\S+) ([0-9.]+)$", "\n".join(texts), re.M):
        if float(value) > 0:
            found.setdefault((system, row), []).append(float(value))
    return {key: sorted(values) for key, values in found.items()}


def cell(values):
    """As many digits as tell something."""
    def show(value):
        return f"{value:.1f}" if value < 99.95 else f"{value:.0f}"

    return f"{show(statistics.median(values))} ({show(values[0])}-{show(values[-1])})" if values else "-"


def ratio(ours, theirs, less):
    """
    How fast the one is against the other, where all values of one are above all of the other's: with
    four values each, equals look different in 3 of 100 cases, with six in 2 of 1000.
    """
    if not ours or not theirs:
        return "-"
    if ours[0] <= theirs[-1] and theirs[0] <= ours[-1]:
        return "even"
    a, b = statistics.median(ours), statistics.median(theirs)
    text = f"{b / a if less else a / b:.2f}"
    return "even" if text == "1.00" else text


def table(values):
    def line(*cells):
        return "{:27} {:>19}  {:>19}  {:>19}  {:>10}  {:>10}".format(*cells)

    lines = [f"{'how fast is kvnet against':>111}", line("", "kvnet", "vhost_net", "QEMU's own", "vhost_net", "QEMU's own")]
    for row, title in ROWS:
        ours, *others = (values.get((system, row), []) for system in SYSTEMS)
        lines.append(line(title, *map(cell, (ours, *others)), *(ratio(ours, theirs, row == "ping") for theirs in others)))
    return "\n".join(lines)


class Demo:
    def __init__(self):
        self.samples = machine.number("SAMPLES", 6)
        self.run = machine.Run("log/demo")
        self.jobs, self.good = {}, []  # test hosts that run: process to output; outputs of those that ended well
        self.choose_lane()

    def choose_lane(self):
        """In real time where it can be, see vm.sh for what it finds out."""
        self.kvm = machine.has_virtualization()
        free = int(re.search(r"^MemAvailable: +(\d+)", machine.text_of("/proc/meminfo"), re.M)[1]) // 1024
        self.at_once = 1 if self.kvm else max(1, min(os.cpu_count(), free // (HOST_MB + 256)))
        self.want, rounds = (1, self.samples) if self.kvm else (self.samples, 1)
        self.units = self.want * (2 * UNITS_BOOT + rounds * UNITS_ROUND)

    def step(self, title, *words):
        try:
            self.run.build("demo", *words)
        except Failed:
            self.run.show_failure("demo")
            raise Failed(f"stopped at: {title}") from None
        info(f"{title}: done")

    def build(self):
        net, perf = (os.path.join(machine.TOP, "selftests", name) for name in ("net", "perf"))
        tools = built("net-tools")
        self.step("packages", script("setup.sh"), "--packages-only")
        self.step("kernel and QEMU, downloaded and unpacked", script("setup.sh"), machine.SERIES)
        self.step("images of the test host and its guest", script("mkimage.sh"), machine.SERIES)
        self.step("kvnet.ko", script("build-module.sh"), machine.SERIES)
        self.step("test programs", "make", "-s", "-C", net, f"OUTPUT={tools}")
        self.step("rr", "make", "-s", "-C", perf, f"OUTPUT={tools}", f"{tools}/rr")

    def start_host(self, number):
        """Of the test hosts; in virtual time its seed. A process group of its own, so that ^C ends all of it."""
        if self.kvm:
            how = ["--accel", "kvm", "--stall", "60", "--env", "LANE=kvm", "--env", "PINGS=500", "--env", f"ROUNDS={self.samples}"]
        else:
            # how long a healthy test host may be silent: longer on a busy machine
            stall = 90 + 40 * int(os.getloadavg()[0]) // os.cpu_count()
            how = ["--qemu", "7.2", "--icount", str(number), "--retries", "0", "--stall", str(stall), "--env", "LANE=vtime",
                   "--env", "PINGS=300", "--env", "TCP=-n 192M", "--env", f"UDP=-n {16000 * 64}"]
        path = self.run.path(f"{number}.out")
        with open(path, "wb") as out:
            process = subprocess.Popen(  # pylint: disable=consider-using-with
                [script("vm.sh"), "--name", f"demo-{number}", "--mem", str(HOST_MB), "--timeout", "500", "--env", f"REP={number}",
                 *how, "--", inside("demo.py")], stdin=subprocess.DEVNULL, stdout=out, stderr=out, close_fds=False, process_group=0)
        self.jobs[process] = path

    def host_ended(self, path, status):
        """One that does not come up, or falls silent, is the rig's fault: then another seed. All else is a failure."""
        if status == 0:
            self.good.append(machine.text_of(path))
        elif self.kvm and not machine.has_virtualization():
            info("no test host with hardware virtualization boots here: in virtual time, then; "
                 f"to try again: rm {machine.CACHE}/accel")
            self.choose_lane()
        elif not self.kvm and status in NO_RESULT:
            info(f"{os.path.basename(path)}: this seed gave no result, which can happen in virtual time: another one")
        else:
            print("\n".join([line for line in machine.text_of(path).splitlines() if not line.startswith("@")][-15:]))
            raise Failed(f"the test host failed ({status}); see {built('log/demo-*')}")

    def run_hosts(self):
        number, progress = 0, machine.Progress()
        while len(self.good) < self.want:
            while len(self.jobs) < self.at_once and len(self.good) + len(self.jobs) < self.want:
                number += 1
                if number > 2 * self.samples:
                    raise Failed(f"too many test hosts gave no result; see {built('log/demo-*')}")
                self.start_host(number)
            time.sleep(0.5)
            said = self.good + [machine.text_of(path) for path in self.jobs.values()]
            done = sum(UNITS_BOOT * text.count("@up ") + text.count("@row ") for text in said)
            text = f"step {done} of {self.units}: test hosts"
            progress.show(text + progress.left(text))
            for process in [process for process in self.jobs if process.poll() is not None]:
                self.host_ended(self.jobs.pop(process), process.returncode)
        progress.end()

    def end_hosts(self):
        for process in self.jobs:
            os.killpg(process.pid, signal.SIGTERM)

    def main(self):
        info("demo: a guest on kvnet, on vhost_net and on QEMU itself, in a VM; nothing is loaded on this machine")
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            self.build()
            self.run_hosts()
        finally:
            self.end_hosts()
        # in virtual time all have been checked, and count alike
        print("\n" + "\n".join(re.findall("^@proof (.*)", self.good[0], re.M)))
        print("\n" + (REAL if self.kvm else VIRTUAL).format(self.samples))
        print(table(values_of(self.good)))
        print(NEXT)
        info("demo: done")
        return 0
