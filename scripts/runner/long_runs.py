# SPDX-License-Identifier: GPL-2.0
"""
What runs for long, and for a purpose of its own: "soak" and "sysfuzz".
"""
import os
import re

import lanes
import plan
from machines import SCRIPTS, UAPI, option, options
from tiers import SMP, kernel_of_uml, script

# of a program of sysfuzz: ABUSE_OPS of selftests/uapi/lib/abuse.h
OPERATIONS = 512


### sysfuzz

def smaller(operations, fails):
    """Leaves out one half, quarter and so on after the other, as long as what is left still
    fails."""
    parts = 2
    while len(operations) > 1:
        size = -(-len(operations) // parts)
        for start in range(0, len(operations), size):
            rest = operations[:start] + operations[start + size:]
            if fails(rest):
                operations, parts = rest, max(parts - 1, 2)
                break
        else:
            if size == 1:
                break
            parts = min(2 * parts, len(operations))
    return operations


class Sysfuzz:
    """Random system calls on devices that carry packets (stress/sysfuzz_test), for SYSFUZZ_SECONDS.
    A program that fails is made smaller."""
    def __init__(self, tier):
        self.tier, self.lane, self.flavour = tier, tier.run.main, option("KERNEL")
        plan.known("no such User-Mode Linux:", [self.flavour] if self.flavour else [],
                   (SMP, "smp-kcsan"))
        # seconds that a part is tried for, until it counts as one that works
        self.again = int(option("AGAIN", "10"))

    def command(self, seconds, seed, ops, *name):
        words = options(("KSFT_SEED",), SYSFUZZ_SECONDS=seconds, SEED=seed, OPS=ops,
                        UAPI_TIMEOUT=3 * seconds + 200)
        return [f"{SCRIPTS}/uml.sh", f"--{self.flavour or 'debug'}", *name,
                "--timeout", 3 * seconds + 300, *words, "--", UAPI, "sysfuzz"]

    def fails(self, seed, operations):
        ops = ",".join(map(str, operations))
        name = "sysfuzz-smaller"
        status, _ = self.tier.logged(self.lane, name,
                                     self.command(self.again, seed, ops, "--name", name))
        if status:
            self.lane.say(f"{len(operations)} operations are enough")
        return status

    def run_all(self):
        main, seed, ops = self.lane, option("SEED"), option("OPS")
        main.need(script("build-module.sh", kernel_of_uml(self.flavour)))
        if not self.tier.build_uapi(main, ["sysfuzz"]):
            return
        lock = lanes.only_run(f"{self.tier.log}/sysfuzz")
        # what this run does not come to say is not what one before has said
        console = f"{self.tier.log}/sysfuzz/console.log"
        if os.path.exists(console):
            os.unlink(console)
        seconds = int(option("SYSFUZZ_SECONDS", "600"))
        self.tier.machines.start(main, "sysfuzz", self.command(seconds, seed, ops), 1)
        if main.failed and os.path.exists(console):
            self.explain(console, ops)
        lock.close()

    def explain(self, console, ops):
        with open(console, encoding="utf-8", errors="replace") as file:
            seeds = re.findall(r"sysfuzz: SEED=(\S+)", file.read())
        if not seeds:
            return
        self.lane.print(f"it fails: SEED={seeds[-1]}")
        if ops or option("SMALLER", "1") == "0":
            return
        everything = list(range(OPERATIONS))
        if not self.fails(seeds[-1], everything):
            self.lane.print(f"alone it does not fail within {self.again} seconds: "
                            f"make sysfuzz SEED={seeds[-1]} AGAIN=60")
            return
        left = smaller(everything, lambda rest: self.fails(seeds[-1], rest))
        self.lane.print(f"SEED={seeds[-1]} OPS={','.join(map(str, left))}")


### soak

class Soak:
    """For SOAK_MINUTES, GUESTS at once, in User-Mode Linux that looks for bugs, where QEMU emulates
    the guests' CPUs, or on a test host, for machines with hardware virtualization. What is done, in
    which order, is in scripts/vm/soak.sh."""
    KERNELS = ("uml", SMP, "6.1", "6.12", "newest")

    def __init__(self, tier):
        self.tier, self.kernel = tier, option("KERNEL", "uml")
        plan.known("no guests run on kernel", [self.kernel], self.KERNELS)
        self.minutes, self.guests = int(option("SOAK_MINUTES", "60")), int(option("GUESTS", "8"))

    def run_all(self):
        main, kernel = self.tier.run.main, self.kernel
        if kernel in ("uml", SMP):
            flavour = "" if kernel == "uml" else kernel
            main.need(script("setup.sh", "6.12"))
            main.need(script("mkimage.sh", "--guests"))
            main.need(script("build-module.sh", kernel_of_uml(flavour)))
            machine = ["uml.sh", f"--{flavour or 'debug'}", "--guest"]
        else:
            main.need(script("setup.sh", kernel))
            main.need(script("build-module.sh", kernel))
            machine = ["vm.sh", "--kernel", kernel, "--stall", 1800, "--retries", 0]
        self.tier.build_net_tools(main)
        # an emulated CPU takes a minute and more for a guest to come up, and for the last round
        spare = 900 + 240 * self.guests
        # a guest has 128 MB and two QEMUs while it moves
        self.tier.machines.start(main, "soak", script(
            *machine, "--timeout", 60 * self.minutes + spare, "--mem", 1024 + 384 * self.guests,
            *options((), SOAK_MINUTES=self.minutes, GUESTS=self.guests),
            "--", f"{SCRIPTS}/vm/soak.sh"), 0)
