# SPDX-License-Identifier: GPL-2.0
"""
`make paper`: repeats the evaluation of Ozaki and Nakao, "Analysis of Network I/O Performance in
KVM", with kvnet where the paper proposes a device in the kernel, and shows its figures beside ours.
See Documentation/paper.rst.
"""

import os
import shutil
import sys

import cases
import lanes
import machine
from machine import built, info, inside, script, setting

PARTS = ("hypercall", "exits", "windows", "question", "irqchip")
REPETITIONS = 3
WINDOWS = "4096 8192 16384 32768 65536 131072 262144"
RUNS = 10
# with QUICK=1
FEW_WINDOWS, FEW_RUNS = "4096 32768 262144", 3


def build_hypercall():
    """The guest's module of Table 2."""
    directory = built("hypercall")
    source = os.path.join(machine.TOP, "tools/paper/hypercall")
    shutil.copytree(source, directory, dirs_exist_ok=True)
    release = os.listdir(built(f"kernel-{machine.SERIES}", "lib/modules"))[0]
    headers = built(f"kernel-{machine.SERIES}", "usr/src", f"linux-headers-{release}")
    machine.call("make", "-s", "-C", headers, f"M={directory}", "W=1", "modules")
    machine.call("strip", "--strip-debug", os.path.join(directory, "hypercall.ko"))


class Paper:
    def __init__(self):
        self.quick = bool(setting("QUICK"))
        self.lane = setting("LANE", "kvm" if machine.has_virtualization() else "vtime")
        self.parts = machine.names("PARTS") or list(PARTS)
        cases.words_known("LANE", [self.lane], cases.GUEST_LANES)
        cases.words_known("PARTS", self.parts, PARTS)
        lanes.refuse_kvm([self.lane])
        self.want = machine.number("REPEAT", 1 if self.quick else REPETITIONS)
        self.run = machine.Run("bench/%F-%H%M%S-paper")

    def measure(self):
        run = self.run
        machine.call(script("setup.sh"), machine.SERIES)
        machine.call(script("build-module.sh"), machine.SERIES)
        build_hypercall()
        for key, what in (("commit", machine.commit), ("cpu", machine.cpu), ("load", machine.load)):
            run.fact("machine", key, what())
        for note in lanes.notes_of(self.lane):
            run.note(self.lane, note)
        run.stop_by_signals()
        good = lanes.seeds(run, self.lane, self.want, 2 * self.want, self.repetition)
        if not lanes.report(run, "paper"):
            sys.exit(1)
        if good < self.want and not run.stopped:
            sys.exit(f"bench: {good} of {self.want} repetitions are complete")

    def repetition(self, number, _good):
        """What one that is not complete has measured counts, too."""
        held = []
        windows, runs = (FEW_WINDOWS, FEW_RUNS) if self.quick else (WINDOWS, RUNS)
        status = self.run.command(
            self.lane, script("vm.sh"), "--name", f"paper-{self.lane}", "--kernel", machine.SERIES,
            "--timeout", "1200", "--stall", "120", *lanes.host_options(self.lane, number),
            "--add", built("hypercall/hypercall.ko"),
            *lanes.env_words(LANE=self.lane, REP=number, PARTS=" ".join(self.parts),
                             QUICK="1" if self.quick else "", WINDOWS=windows, RUNS=runs),
            "--", inside("paper.py"), held=held)
        self.run.add(*held)
        # Table 3 needs many runs in one boot, not boots: once is enough
        if any(" test=irqchip " in line for line in held) and len(self.parts) > 1:
            self.parts = [part for part in self.parts if part != "irqchip"]
        if status and not self.run.stopped:
            self.run.show_failure(self.lane)
        return status == 0


def main():
    Paper().measure()
    return 0
