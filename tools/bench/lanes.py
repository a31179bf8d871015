# SPDX-License-Identifier: GPL-2.0
"""
`make bench`: measures in every lane that is wanted, and writes the report. Names are checked before
anything is built.
"""

import hashlib
import importlib
import os
import shutil
import sys
import time

import cases
import machine
import rows
from machine import Failed, built, info, inside, script, setting

REPETITIONS = {"icount": 2, "smp": 15}
ELSE = 5
# of a sample; emulated CPUs are slow, and their turns on this machine's are long
MILLISECONDS = {"smp": 100}
LIVES = 3
PROCESS_NOTE = "No exits and interrupts: a process is the guest"
ONE_CPU = "One CPU: nothing runs in parallel"
DEARER = "are dearer than on hardware: compare, do not take as absolute"
NOTES = {
    "native": [PROCESS_NOTE, ONE_CPU, f"User copies, system calls and page faults {DEARER}"],
    "native2": [PROCESS_NOTE,
                f"User copies, system calls, page faults and waking another CPU {DEARER}"],
    "icount": [PROCESS_NOTE, ONE_CPU,
               "Instructions, each of the same length: no caches, no misses, no long divisions"],
    "smp": [PROCESS_NOTE],
    "vtime": ["Virtual time: one instruction is 2 ns. No caches, no parallelism: it shows the "
              "length of the path, not the speed of hardware.",
              "The test queues has one virtual CPU for all queues there, and guests no more than "
              "the test host's memory allows (4).",
              "KVM does not poll before a virtual CPU sleeps (halt_poll_ns=0).",
              "All threads run on one CPU; rates say how much the sum of all of them does.",
              "A seed or a change of code moves a short run by some per cent: compare medians over "
              "seeds, and counts before rates."],
    "kvm": ["The test host is a virtual machine itself: an exit of its guest is dearer than on "
            "bare metal."],
    "emul": ["The CPU and its virtualization are emulated: times follow the load of this machine, "
             "and an exit costs other than on silicon."],
}
EMULATED = "An exit of the guest is carried out by an emulated CPU."
# of a lane with a real guest: what scripts/vm.sh is told
HOSTS = {"vtime": ["--qemu", "7.2", "--icount"], "kvm": ["--accel", "kvm"],
         "emul": ["--accel", "tcg"]}
PERF = os.path.join(machine.TOP, "selftests/perf")


def default_lanes():
    return ["native", "icount", "smp", "kvm" if machine.has_virtualization() else "vtime"]


def refuse_kvm(lanes):
    """Before anything is built."""
    why = machine.why_no_virtualization() if "kvm" in lanes else ""
    if why:
        raise cases.Refused(f"LANE: kvm needs hardware virtualization, and {why}; "
                            "a real guest also runs in: vtime emul")


def notes_of(lane):
    return NOTES[lane] + [EMULATED] * (lane in ("vtime", "emul"))


def host_options(lane, number):
    """The test host of one repetition; in virtual time that is the seed."""
    return HOSTS[lane] + [str(number)] * (lane == "vtime")


def env_words(**variables):
    return [word for name, value in variables.items() for word in ("--env", f"{name}={value}")]


def seeds(run, lane, want, most, repetition):
    """
    Calls repetition(number, how many are there) until there are enough: in virtual time a seed can
    stall, then the next is taken.
    """
    what = "seed" if lane in ("icount", "vtime") else "repetition"
    good = 0
    for number in range(1, most + 1):
        if good == want or run.stopped:
            break
        info(f"lane {lane}: {what} {number} ({good} of {want} are there)")
        if repetition(number, good):
            good += 1
        elif not run.stopped:
            info(f"lane {lane}: {what} {number} gave no result; see {run.path(lane)}.log")
    return good


class Bench:
    def __init__(self):
        self.only, self.named = machine.names("ONLY"), machine.names("BACKENDS")
        self.quick = bool(setting("QUICK"))
        self.uml = setting("UML", "fast")
        cases.words_known("UML", [self.uml], ("fast", "debug"))
        lanes = machine.names("LANE") or default_lanes()
        self.lanes = cases.lanes_wanted(lanes, self.only, self.named, self.quick)
        refuse_kvm(self.lanes)
        for name in ("REPEAT", "MOST", "BENCH_MS"):
            machine.number(name, 1)
        self.run = machine.Run()

    def repeat(self, lane):
        return machine.number("REPEAT", REPETITIONS.get(lane, ELSE))

    def measure(self):
        run, failed = self.run, []
        machine.call(script("setup.sh"), "--packages-only")
        compiler = machine.output_of("gcc", "-dumpfullversion")
        for key, text in (("commit", machine.commit()), ("cpu", machine.cpu()),
                          ("kernel", os.uname().release), ("compiler", compiler),
                          ("load-before", machine.load())):
            run.fact("machine", key, text)
        run.stop_by_signals()
        for lane in self.lanes:
            if run.stopped:
                break
            try:
                self.lane(lane)
            except Failed:
                failed.append(lane)
                run.show_failure(lane)
        run.fact("machine", "load-after", machine.load())
        if run.stopped:
            run.fact("machine", "interrupted", f"after {machine.elapsed()} seconds")
        if not report(run, "bench"):
            failed.append("report")
        if failed and not run.stopped:
            sys.exit(f"bench: failed: {' '.join(failed)}; see {run.out}/*.log")

    def lane(self, lane):
        for note in notes_of(lane):
            self.run.note(lane, note)
        if lane in cases.GUEST_LANES:
            self.with_guest(lane)
        elif lane == "icount":
            self.icount()
        elif lane == "smp":
            self.smp()
        else:
            self.native(lane)

    # a process is the guest

    def chosen(self, lane):
        every = cases.cases_of(lane, self.quick)
        return [case for case in every if cases.wanted(case.test, self.only)]

    def backends(self, chosen):
        vectors = machine.cpu_has("avx512f")
        return {case.test: cases.backends_of(case.test, self.named, self.quick, vectors)
                for case in chosen}

    def build_for(self, lane, kernel, backends):
        """The module and what the backends need beside it; as options of the script that boots."""
        used = [name for names in backends.values() for name in names]
        self.run.build(lane, script("build-module.sh"), kernel)
        self.run.build(lane, "make", "-s", "-C", PERF, f"OUTPUT={built('perf')}", built("perf/lab"))
        options = ["--add", built("perf/lab")]
        if any("uncounted" in cases.kinds_of(name) for name in used):
            self.run.build(lane, script("build-module.sh"), "--uncounted", kernel)
            options += ["--add", built(f"uncounted-{kernel}/drivers/kvnet/kvnet_uncounted.ko")]
        if any(cases.base_of(name) == "floor" for name in used):
            self.run.build(lane, script("build-module.sh"), "--floor", kernel)
            options += ["--add", built(f"floor-{kernel}/kvnet_floor.ko")]
        return options

    def process_guest(self, lane, plan, repeat=1, lives=1):
        """What inside/native.py is told by, as options of the script that boots."""
        path = built("log", f"bench-{lane}.plan")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in plan)
        ms = machine.number("BENCH_MS", MILLISECONDS.get(lane, 40))
        self.run.fact(lane, "sample", f"{lives} times {ms} ms")
        return ["--add", path] + env_words(LANE=lane, REPEAT=repeat, LIVES=lives, BENCH_MS=ms)

    def native(self, lane):
        """User-Mode Linux; with two CPUs, which are two of the machine's, it is native2."""
        repeat, chosen = self.repeat(lane), self.chosen(lane)
        most = repeat if self.quick else max(repeat, machine.number("MOST", 4 * repeat))
        flavour = "smp" if lane == "native2" else self.uml
        kernel = "uml" if flavour == "debug" else f"uml-{flavour}"
        cpus = " with two CPUs" if lane == "native2" else ""
        info(f"lane {lane}: User-Mode Linux{cpus}, a process is the guest")
        self.run.build(lane, "nice", script("uml/build.sh"), kernel)
        options = []
        # testpmd is one more guest; without it its test is left out
        if any(case.test == "dpdk" for case in chosen):
            if self.run.command(lane, script("mkvmm.sh"), "dpdk") == 0:
                options += ["--add", f"{built('vmm-dpdk')}:dpdk"]
            else:
                info("no dpdk: going on without")
                chosen = [case for case in chosen if case.test != "dpdk"]
        backends = self.backends(chosen)
        options += self.build_for(lane, kernel, backends)
        # what was stolen from one CPU is told; of two, it would be a sum
        if lane == "native" and not self.quick:
            self.run.build(lane, script("build-module.sh"), "--hosttime", kernel)
            options += ["--add", built(f"hosttime-{kernel}/kvnet_hosttime.ko")]
        config = built(kernel, ".config")
        shutil.copy(config, self.run.path(f"{lane}.config"))
        with open(config, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()[:12]
        name = "fast.config, smp" if flavour == "smp" else flavour
        self.run.fact(lane, "configuration", f"scripts/uml/{name}.config, {digest}")
        plan = cases.plan(chosen, backends, range(1, most + 1))
        options += self.process_guest(lane, plan, repeat, 1 if self.quick else LIVES)
        self.run.build(lane, script("uml.sh"), f"--{flavour}", "--mem", "1024", "--name", lane,
                       "--timeout", str(300 + 600 * most), *options, "--", inside("native.py"))

    def process_host(self, lane):
        """For a test host: cases, backends, options."""
        chosen = self.chosen(lane)
        backends = self.backends(chosen)
        self.run.build(lane, script("setup.sh"), machine.SERIES)
        return chosen, backends, self.build_for(lane, machine.SERIES, backends)

    def icount(self):
        """Instructions of a test host; each seed is a boot."""
        want, lane = self.repeat("icount"), "icount"
        chosen, backends, options = self.process_host(lane)

        def repetition(number, good):
            plan = cases.plan(chosen, backends, [number], good * len(chosen), want * len(chosen))
            return self.boot(lane, "native.py", number, "--icount", str(number), "--smp", "1",
                             *options, *self.process_guest(lane, plan, number),
                             *env_words(BENCH_NS_PER_INSTRUCTION=machine.NS_PER_INSTRUCTION),
                             timeout=1800)

        if not seeds(self.run, lane, want, 3 * want, repetition):
            raise Failed(lane)

    def smp(self):
        """Two CPUs, in real time: one boot, in which backends take turns as in lane native."""
        repeat, lane = self.repeat("smp"), "smp"
        chosen, backends, options = self.process_host(lane)
        plan = cases.plan(chosen, backends, range(1, repeat + 1))
        self.run.build(lane, script("vm.sh"), "--name", "bench-smp", "--smp", "2",
                       "--timeout", str(300 + 120 * repeat), *options,
                       *self.process_guest(lane, plan, repeat), "--", inside("native.py"))

    # a real guest

    def with_guest(self, lane):
        want = self.repeat(lane)
        tests = [test for test in cases.tests_of(lane)
                 if cases.wanted(test, self.only) and (self.only or test not in cases.BY_NAME)]
        systems = self.named or cases.GUEST_SYSTEMS
        layouts = self.named or cases.GUEST_LAYOUTS
        scale = [name for name in cases.GUEST_SCALE if name in (self.named or cases.GUEST_SCALE)]
        self.run.build(lane, script("setup.sh"), machine.SERIES)
        self.run.build(lane, script("build-module.sh"), machine.SERIES)
        options = env_words(TESTS=" ".join(test for test in tests if test in cases.GUEST_TESTS),
                            BOOTS=" ".join(test for test in tests if test in cases.GUEST_BOOTS),
                            SYSTEMS=" ".join(systems), LAYOUTS=" ".join(layouts),
                            SCALE=" ".join(scale), QUICK="1" if self.quick else "")
        if "layout" in tests:
            options += self.newest_guest(lane)

        def repetition(number, _good):
            return self.boot(lane, "bench_guest.py", number, *host_options(lane, number),
                             *options)

        if not seeds(self.run, lane, want, 3 * want, repetition):
            raise Failed(lane)

    def newest_guest(self, lane):
        """Which the test layout boots."""
        directory = built("guest-newest")
        if (self.run.command(lane, script("setup.sh"), "--guests") or
                self.run.command(lane, script("mkimage.sh"), "--guests") or
                not os.path.exists(os.path.join(directory, "kernel"))):
            info("no newest kernel for the guest: no row in order")
            return []
        return ["--add", f"{directory}:/kvnet/guests/newest"]

    def boot(self, lane, program, number, *options, timeout=900):
        """One boot of a test host, whose rows count if it ends well."""
        held = []
        status = self.run.command(lane, script("vm.sh"), "--name", f"bench-{lane}",
                                  "--timeout", str(timeout), "--stall", "120", *options,
                                  *env_words(LANE=lane, REP=number), "--", inside(program),
                                  held=held)
        if status == 0:
            self.run.add(*held)
        return status == 0


def report(run, plan):
    """report.html, report.txt, plots/ and results.json, from rows.txt; False without rows."""
    with open(run.path("rows.txt"), encoding="utf-8") as file:
        results = rows.Results.parse(file)
    for bad in results.bad:
        print(f"bench: cannot read a row: {bad}", file=sys.stderr)
    if not results.rows:
        info(f"no rows: no report; see {run.out}/*.log")
        return False
    results.meta = {"date": time.strftime("%F %H:%M UTC", time.gmtime()),
                    "commit": machine.commit(), "machine": machine.cpu()}
    results.save(run.path("results.json"))
    machine.prepare_report()
    writer, sections = importlib.import_module("report"), importlib.import_module(f"plan_{plan}")
    with open(run.path("report.txt"), "w", encoding="utf-8") as file:
        def out(line):
            print(line)
            print(line, file=file)

        writer.write(run.out, sections.TITLE, sections.sections(results), results, out)
    print()
    info(f"{run.out}: report.html, report.txt, plots/, results.json, rows.txt")
    return True
