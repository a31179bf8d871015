# SPDX-License-Identifier: GPL-2.0
"""
`make bench-profile`: perf looks from outside at User-Mode Linux while the backends do the same
work, and the costliest functions of each are named side by side. In lane icount a plugin of QEMU
(scripts/vm/count.c) counts instructions instead: exact, and the same each time.

Only the workers' samples count: those on kernel stacks on which what workers alone run was seen, or
else on the one with most of the backend's own code; of the sender, most of tun_net_xmit(). That
kernel is a process for this machine, hence ":u".
"""

import base64
import contextlib
import gzip
import io
import os
import signal
import subprocess
import sys

import cases
import lanes
import machine
import profile_top
from machine import Failed, built, info, inside, script, setting

RATE = "4999"  # samples per second


class Profile:
    def __init__(self):
        self.lane = setting("LANE", "native")
        self.task = setting("TASK", "worker")
        self.work = setting("WORK", "test=pps dir=tx size=64")
        self.backends = machine.names("BACKENDS") or list(cases.PEERS)
        cases.words_known("LANE", [self.lane], ("native", "native2", "icount"))
        cases.words_known("TASK", [self.task], ("worker", "sender"))
        cases.words_of_profile(self.backends)
        self.program = cases.program_of(self.work)
        self.top, self.seed = machine.number("TOP_N", 10), machine.number("SEED", 1)
        self.ms = machine.number("PROFILE_MS", 8000)
        self.flavour = "smp" if self.lane == "native2" else "fast"
        self.perf = None
        self.run = machine.Run("bench/profile-%F-%H%M%S")

    def options(self):
        """What inside/profile.py is told by."""
        turns = " ".join(map(cases.turn_of, self.backends))
        return ["--add", built("perf/lab")] + lanes.env_words(
            LANE=self.lane, WORK=self.work, PROGRAM=self.program, TURNS=turns, PROFILE_MS=self.ms)

    def build(self, kernel):
        machine.call(script("build-module.sh"), kernel)
        machine.call("make", "-s", "-C", lanes.PERF, f"OUTPUT={built('perf')}", built("perf/lab"))

    def take(self, child):
        """The script inside says where functions are, and when each backend begins and ends."""
        found, symbols = [], ""
        with open(self.run.path("profile.log"), "a", encoding="utf-8") as log:
            for line in map(str.rstrip, child.stdout):
                kind, _, rest = line.partition(" ")
                if kind == "@begin":
                    self.begin(rest, child.pid)
                elif kind == "@end":
                    self.end(rest)
                elif kind == "@symbols":
                    symbols += rest
                elif kind == "@bench":
                    found.append(line)
                else:
                    print(line, file=log, flush=True)
                if line.startswith("vm.sh: fault of the rig"):
                    found, symbols = [], ""
        self.run.add(*found)
        with open(self.run.path("symbols"), "wb") as file:
            file.write(gzip.decompress(base64.b64decode(symbols)) if symbols else b"")

    def begin(self, backend, pid):
        data = self.run.path(f"{backend}.data")
        target = machine.text_of(f"/tmp/kvnet-{pid}/pid").strip()
        if not target:
            raise Failed("where is User-Mode Linux?")
        with open(self.run.path(f"{backend}.log"), "w", encoding="utf-8") as log:
            self.perf = subprocess.Popen(["perf", "record", "-q", "-e", "cpu-clock:u", "-F", RATE,
                                          "--user-regs=sp", "-p", target, "-o", data],
                                         stdout=log, stderr=log)

    def end(self, backend):
        self.perf.send_signal(signal.SIGINT)
        self.perf.wait()
        path = self.run.path(f"{backend}.samples")
        script_of = ["perf", "script", "-i", self.run.path(f"{backend}.data"), "-F", "ip,sym,uregs"]
        with open(path, "w", encoding="utf-8") as samples:
            status = subprocess.call(script_of, stdout=samples, stderr=subprocess.DEVNULL)
        if status:
            raise Failed(f"perf cannot read what it recorded; see {self.run.path(backend)}.log")
        info(f"{backend}: {len(machine.text_of(path).splitlines())} samples")

    def boot(self, *words):
        info(f"profile of: {self.work}")
        with machine.child(words) as child:
            self.take(child)
        if child.returncode:
            said = machine.text_of(self.run.path("profile.log")).splitlines()[-5:]
            raise Failed("the run failed:\n" + "\n".join(said))

    def measure(self):
        if self.lane == "icount":
            machine.call(script("setup.sh"), machine.SERIES)
            self.build(machine.SERIES)
            ns = machine.NS_PER_INSTRUCTION
            self.boot(script("vm.sh"), "--name", "profile-icount", "--icount", str(self.seed),
                      "--count", self.run.path("counts"), "--smp", "1", "--stall", "300",
                      *self.options(), *lanes.env_words(BENCH_MS=40, BENCH_NS_PER_INSTRUCTION=ns),
                      "--", inside("profile.py"))
        else:
            machine.call(script("setup.sh"), "--perf")
            machine.call("nice", script("uml/build.sh"), f"uml-{self.flavour}")
            self.build(f"uml-{self.flavour}")
            self.boot(script("uml.sh"), f"--{self.flavour}", "--mem", "1024", "--name", "profile",
                      "--timeout", "600", *self.options(), "--", inside("profile.py"))
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            profile_top.main(self.run.out, built(f"uml-{self.flavour}", "linux"), self.top,
                             self.task, self.backends)
        with open(self.run.path("profile.txt"), "w", encoding="utf-8") as file:
            file.write(text.getvalue())
        print(text.getvalue(), end="")
        info(f"{self.run.out}: profile.txt, {'counts' if self.lane == 'icount' else '*.samples'}")


def main():
    try:
        Profile().measure()
    except Failed as error:
        sys.exit(f"bench: {error}")
    return 0
