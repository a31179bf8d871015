# SPDX-License-Identifier: GPL-2.0
"""Builds the module of a mutant, and runs uapi tests in User-Mode Linux.

The module is built once without a mutant. The kernel's build system has then noted the command
for each object and the headers that it has read; for a mutant only these commands run again.
One kernel tries several mutants, one after the other, as long as it is as good as new
(inside.sh). A stage is a kernel and the kind of module that it loads.
"""
import glob
import os
import re
import shutil

from .process import run_logged, timed_lines
from .unit import NotBuilt

# that a test may take on a machine that is slow and busy
SECONDS = 400
# mutants, one after the other in one kernel
SEVERAL = 12
# the number of the first, so that all have two digits
FIRST = 10
# the log of all of them has room, so that none loses its begin (inside.sh)
BOOT_WORDS = "kasan.fault=panic sysctl.kernel.panic_on_rcu_stall=1 log_buf_len=16M"


class Stage:
    def __init__(self, name, kernel, module, option, words, variants):
        self.name, self.kernel, self.module = name, kernel, module
        self.option, self.words, self.variants = option, words, variants


# With "time-travel", what waits for a deadline while all processes sleep costs nothing. Some tests
# of the first stage do not end in such a kernel, and one with two CPUs has no such time.
STAGES = [
    Stage("plain", "uml", "mod", [], "", {"", "packed", "kthread", "calls"}),
    Stage("failing", "uml", "failing", [], "time-travel", {"failing"}),
    Stage("smp", "uml-smp-kasan", "mod", ["--smp-kasan"], "", {"smp"}),
    Stage("smp_failing", "uml-smp-kasan", "failing", ["--smp-kasan"], "", {"smp_failing"}),
]


def split(test):
    """uml:NAME@VARIANT: its name and variant."""
    name, _, variant = test.partition(":")[2].partition("@")
    return name, variant


def stage_of(test):
    return next(stage for stage in STAGES if split(test)[1] in stage.variants)


def test_lines(tests):
    """For inside.sh: the tests in their order, those beside each other of one variant in a line."""
    lines = []
    for test in tests:
        name, variant = split(test)
        variant = variant or "split"
        if lines and lines[-1][0] == variant:
            lines[-1].append(name)
        else:
            lines.append([variant, name])
    return "".join(" ".join(line) + "\n" for line in lines)


def program(test):
    return split(test)[0] + "_test"


### what a run says

class Said:
    """Of one mutant: its last word (None: the kernel has died or hung), and its output."""
    def __init__(self, word, text):
        self.word, self.text = word, text

    def killer(self):
        """The first case that failed; where none did, the test that ran when the kernel
        complained, died or hung."""
        failed = re.search(r"^not ok (?:[0-9]+ )?(?:- )?([^#\n]*)", self.text, re.M)
        before = self.text[:failed.start()] if failed else self.text
        variant = (re.findall(r"^# variant (\w+)", before, re.M) or ["split"])[-1]
        test = (re.findall(r"^## (\w+)", before, re.M) or ["load_test"])[-1]
        if failed:
            why = failed[1].strip().removeprefix(test).lstrip(". ")
        else:
            why = re.search(r"bad kernel message|died|not finished", self.text)
            why = why[0] if why else "died"
        return f"uml:{variant} {test}.{why}"


def said_of(output):
    """Number of a mutant -> what was said of it, for each that has begun."""
    parts = re.split(r"^# mutant (\d+) begins\n", output, flags=re.M)
    said = {}
    for number, text in zip(parts[1::2], parts[2::2]):
        end = re.search(rf"^# mutant {number} (\w+)\n", text, re.M)
        said[int(number)] = Said(end and end[1], text[:end.end()] if end else text)
    return said


def seconds_of(lines):
    """Test -> seconds, from pairs of the time and a line: from its heading to its last line. (What
    uapi.sh says is the kernel's time, which travels.)"""
    began, seconds, variant = {}, {}, ""
    for when, line in lines:
        if match := re.match(r"# variant (\w+)", line):
            variant = "" if match[1] in ("split", "smp", "failing", "smp_failing") else match[1]
        elif match := re.match(r"## (\w+)_test", line):
            began[match[1]] = when
        elif (match := re.match(r"# (\w+?)_test\S*: all of it took", line)) and match[1] in began:
            test = match[1] + (f"@{variant}" if variant else "")
            seconds[test] = when - began[match[1]]
    return seconds


### building

class Module:
    """The module of one kind for one kernel, in a lane's tree."""
    def __init__(self, tree, kind, kernel, clean, log):
        self.tree, self.kind, self.kernel, self.log = tree, kind, kernel, log
        self.place = os.path.join(tree, "build", f"{kind}-{kernel}", "drivers", "kvnet")
        self.clean = os.path.join(clean, f"{kind}-{kernel}")
        self.base = os.path.join(tree, "build", kernel)
        self.commands, self.reads = {}, {}

    def build(self):
        """Without a mutant. Whether it builds."""
        words = [os.path.join(self.tree, "scripts", "build-module.sh")]
        words += ["--failing"] if self.kind == "failing" else []
        if run_logged(words + [self.kernel], self.log):
            return False
        shutil.rmtree(self.clean, ignore_errors=True)
        for path in glob.glob(os.path.join(self.place, "**", "*.o"), recursive=True):
            kept = os.path.join(self.clean, os.path.relpath(path, self.place))
            os.makedirs(os.path.dirname(kept), exist_ok=True)
            shutil.copy2(path, kept)
        shutil.copy2(os.path.join(self.place, "kvnet.ko"), self.clean)
        paths = glob.glob(os.path.join(self.place, "**", ".*.cmd"), recursive=True)
        for path in paths + glob.glob(os.path.join(self.place, ".*.cmd")):
            self.learn(path)
        return True

    def learn(self, path):
        """From what the kernel's build system has noted for an object."""
        with open(path, encoding="utf-8") as file:
            text = file.read()
        command = re.match(r"savedcmd_(\S+) := (.*)", text)
        if not command:
            return
        name = os.path.basename(path)[1:-len(".cmd")]
        made = os.path.normpath(os.path.join(os.path.dirname(path), name))
        # from Linux 6.13 on the build system runs in the module's directory
        if not os.path.isabs(command[1]):
            self.base = os.path.normpath(os.path.join(self.place, "..", ".."))
        # nothing debugs it
        self.commands[made] = command[2].replace("$$", "$").replace("\\#", "#") \
            .replace(" -g ", " ")
        self.reads[made] = {os.path.normpath(os.path.join(self.base, word)) for word in
                            text.split() if
                            word.endswith((".c", ".h")) and "drivers/kvnet/" in word}

    def run(self, made):
        return run_logged(["bash", "-c", self.commands[made]], self.log, cwd=self.base)

    def make_mutant(self, file, module):
        """From the tree's file below drivers/kvnet; warnings do not matter."""
        path = os.path.join(self.place, file)
        objects = [made for made, reads in self.reads.items() if path in reads and
                   made.endswith(".o") and not made.endswith("kvnet.mod.o")]
        shutil.copyfile(os.path.join(self.tree, "drivers", "kvnet", file), path)
        try:
            for made in objects + [os.path.join(self.place, name) for name in
                                   ("kvnet.o", "kvnet.ko")]:
                if self.run(made):
                    raise NotBuilt
            shutil.move(os.path.join(self.place, "kvnet.ko"), module)
        finally:
            for made in objects + [os.path.join(self.place, "kvnet.o")]:
                shutil.copy2(os.path.join(self.clean, os.path.relpath(made, self.place)), made)

    def restore(self, file, original):
        """With its time, so that the build system finds nothing to do."""
        shutil.copy2(original, os.path.join(self.place, file))


### running

class Uml:
    def __init__(self, lane, uapi):
        self.lane, self.uapi = lane, uapi
        self.batch = os.path.join(lane.work, "batch")
        self.modules = {}

    def module(self, stage):
        """Built when it is first wanted; None if it does not build."""
        key = stage.module, stage.kernel
        if key not in self.modules:
            if stage.module == "failing" and not self.module(STAGES[STAGES.index(stage) - 1]):
                return None
            module = Module(self.lane.tree, *key, os.path.join(self.lane.work, "clean"),
                            self.lane.log)
            self.modules[key] = module if module.build() else None
        return self.modules[key]

    def boot(self, stage, entries, last_begins=None):
        """entries: (path of a module, tests) in their order; after so many seconds no other one
        begins. What is said of each that has begun, and the output as timed lines."""
        tree = self.lane.tree
        shutil.rmtree(self.batch, ignore_errors=True)
        os.makedirs(self.batch)
        programs = os.path.join(tree, "build", "uapi")
        shutil.rmtree(programs, ignore_errors=True)
        os.makedirs(programs)
        for number, (module, tests) in enumerate(entries, FIRST):
            os.link(module, os.path.join(self.batch, f"{number}.ko"))
            with open(os.path.join(self.batch, f"{number}.tests"), "w", encoding="utf-8") as out:
                out.write(test_lines(tests))
            for name in map(program, tests):
                if not os.path.exists(os.path.join(programs, name)):
                    os.link(os.path.join(self.uapi, name), os.path.join(programs, name))
        # the modules are bound over this one
        place = os.path.join(tree, "build", f"mod-{stage.kernel}", "drivers", "kvnet")
        if not os.path.exists(os.path.join(place, "kvnet.ko")):
            shutil.copy2(entries[0][0], os.path.join(place, "kvnet.ko"))
        log = os.path.join(tree, "build", "log", "mutant")
        os.makedirs(log, exist_ok=True)
        # a process of the last kernel, if that was killed, may still have the log
        run_logged(["flock", "-w", "120", os.path.join(log, "lock"), "true"], self.lane.log)
        lines = timed_lines(self.command(stage, entries, last_begins))
        text = "".join(line for _, line in lines)
        with open(self.lane.log, "a", encoding="utf-8") as out:
            out.write(text)
        return {number - FIRST: said for number, said in said_of(text).items()}, lines

    def command(self, stage, entries, last_begins):
        tests = sum(len(tests) for _, tests in entries)
        here = os.path.join(self.lane.tree, "scripts")
        settings = {"KSFT_STOP": "1", "KSFT_SLOW": os.environ.get("KSFT_SLOW") or "2",
                    "KSFT_LONG": "1/3" if os.environ.get("TIER") else "",
                    "KSFT_SEED": os.environ.get("KSFT_SEED") or "1", "BACKEND": "kvnet",
                    "UAPI_TIMEOUT": str(SECONDS),
                    "LAST_BEGINS": "" if last_begins is None else str(max(5, int(last_begins)))}
        words = [os.path.join(here, "uml.sh"), "--name", "mutant", *stage.option,
                 "--timeout", str(SECONDS + 60 * len(entries) + 20 * min(tests, 60)),
                 "--append", f"{BOOT_WORDS} {stage.words}".strip()]
        for name, value in settings.items():
            words += ["--env", f"{name}={value}"]
        bad = os.path.join(self.lane.tree, "selftests", "lib", "bad_messages.h")
        return words + ["--add", f"{self.batch}:mutants",
                        "--add", f"{bad}:selftests/lib/bad_messages.h",
                        "--", os.path.join(here, "mutation", "inside.sh")]
