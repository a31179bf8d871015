# SPDX-License-Identifier: GPL-2.0
"""
Does kvnet build, and without a warning (W=1), on each kernel, for each architecture, with each
compiler? A table of that. Beside it: the programs of selftests for arm64 and with clang, and the
unit tests, which are built of the module's own files, on arm64, emulated by qemu-user.

What it needs it installs by itself (scripts/setup.sh --cross): packages and, below build/ only,
other kernels' headers and the newest one's own compilers.
"""
import os
import time

import lanes
from machines import choose, library
from tiers import make, script

KERNELS, ARCHES, COMPILERS = ("6.1", "6.12", "newest"), ("amd64", "arm64"), ("gcc", "clang")
# what test programs are built with, in the shell of lib.sh
PROGRAMS = {"amd64": ("clang", "clang-$CLANG"), "arm64": ("arm64", "aarch64-linux-gnu-gcc")}
# Under an emulator LeakSanitizer cannot look into the process, and TSan cannot start itself anew
# for other addresses: hence setarch.
UNDER = ("setarch -R env ASAN_OPTIONS=detect_leaks=0 "
         "qemu-aarch64 -L /usr/aarch64-linux-gnu")


class Matrix:
    def __init__(self, tier):
        self.tier, self.run, self.build = tier, tier.run, tier.build
        self.kernels = choose("KERNELS", KERNELS)
        self.arches = choose("ARCHES", ARCHES)
        self.compilers = choose("COMPILERS", COMPILERS)
        # of kernel, compiler and architecture
        self.cells = {}
        self.have_newest = False

    def run_all(self):
        main = self.run.main
        main.say(f"the build matrix: {len(self.kernels)} kernels, compilers "
                 f"{' '.join(self.compilers)}, for {' '.join(self.arches)}")
        main.say("part 1 of 2: packages, headers and compilers (the first time some 250 MB more)")
        main.need(script("setup.sh", "--cross"))
        self.have_newest = not main.call(library("is_made cross-newest"))
        main.say("part 2 of 2: builds; five minutes on two free CPUs")
        lanes.Lanes(self.run).together([(arch, self.job(arch)) for arch in self.arches])
        print("\n" + "\n".join(self.table()) + "\n")

    def job(self, arch):
        return lambda lane: self.builds(lane, arch)

    def builds(self, lane, arch):
        name, compiler = PROGRAMS[arch]
        # those for this machine with gcc are in every other run
        programs = arch == "arm64" or name in self.compilers
        lane.steps = len(self.kernels) * len(self.compilers) + programs + (arch == "arm64")
        for kernel in self.kernels:
            for compiler in self.compilers:
                self.module(lane, kernel, compiler, arch)
        if programs:
            lane.step(f"test programs build {'with' if arch == 'amd64' else 'for'} {name}",
                      lambda lane: self.programs(lane, name, compiler))
        if arch == "arm64":
            self.unit(lane)

    def module(self, lane, kernel, compiler, arch):
        if kernel == "newest" and not self.have_newest:
            lane.say("kvnet.ko for the newest kernel: skipped")
            self.run.results.skip(lane, "test-newest", "the newest kernel", "cannot be had here")
            self.cells[kernel, compiler, arch] = "-"
            return
        start = time.monotonic()
        good = lane.step(f"kvnet.ko for {kernel}, {arch}, builds without a warning with {compiler}",
                         script("build-module.sh", "--arch", arch,
                                *(["--clang"] if compiler == "clang" else []), kernel))
        seconds = int(time.monotonic() - start)
        self.cells[kernel, compiler, arch] = f"{'ok' if good else 'FAILED'}, {seconds} s"

    def programs(self, lane, name, compiler):
        for folder in "uapi", "net", "perf":
            command = make(f"selftests/{folder}", f"OUTPUT={self.build}/matrix/{name}/{folder}")
            if lane.call(library(f'"$@" "CC={compiler}"', *command)):
                return False
        return True

    def unit(self, lane):
        lane.say("unit tests on arm64")
        command = make("selftests/unit", "run", f"OUTPUT={self.build}/matrix/arm64/unit",
                       "CC=aarch64-linux-gnu-gcc", f"UNDER={UNDER}")
        status, path = self.tier.logged(lane, "unit-arm64", command)
        self.tier.show(lane, path, r"^not ok|^\d+ passed,|^unit:|ERROR")
        self.run.results.count(lane, path, "matrix-arm64", "unit tests on arm64", status)

    def release(self, kernel):
        folder = f"{self.build}/kernel-{kernel}/lib/modules"
        return os.listdir(folder)[0].removesuffix("-amd64") if os.path.isdir(folder) else kernel

    def table(self):
        """The kernels as rows, each with what its release is."""
        def line(*cells):
            return ("%-16s %-6s" + " %-14s" * len(self.arches)) % cells

        yield line("kernel", "with", *self.arches)
        for kernel in self.kernels:
            for compiler in self.compilers:
                yield line(self.release(kernel), compiler,
                           *(self.cells.get((kernel, compiler, arch), "not tried")
                             for arch in self.arches))
