# SPDX-License-Identifier: GPL-2.0
"""Tries mutants one by one, until a test fails: would the tests notice?

    make mutate ROOM="NAME..."      all of a file (ring_split.c), of a function, of a room made by
                                    hand (ring_split: and of that file), one mutant, a BUG, or bugs
    make mutate                     all (days)
    make mutate CHANGED=REF         of the functions that have changed since that commit
    make mutate SET=1               those of the set that is judged that have no verdict

    killed          a test failed, hung, or the kernel complained; the line says which one
    survived        none did: a test is missing, or the mutant is equivalent
    equivalent      none did, and none can, for the reason that is given
    not built       it does not compile, and says nothing

Each test must pass without a mutant first. Status 0 if all were killed but those that are
equivalent. The verdicts on judged ones go to scripts/mutants/verdicts. More settings:

    TIER=1              the tests of tier one only ("survived" then means: these)
    AGAIN=1             leaves out what build/mutate/killed says was killed by an earlier run
    LANES=2             two at a time, each in a copy of its own
    MINUTES=3           begins no other one after that time; what is under way ends
    UNIT_SEED, KSFT_SEED    other random inputs (default 1: a result can be repeated)

build/mutate/verdicts has what was said of each, from all runs. The first ^C ends a run as MINUTES
does.
"""
import fcntl
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time

from . import lists, uml, verdicts
from .lane import Lane
from .process import environment, run_logged
from .source import BUILD, CACHE, TOP, Source, VERDICTS, read_table
from .unit import NotBuilt

ALL = os.path.join(BUILD, "mutate")
# tests without a mutant in one kernel
TOGETHER = 10


class Entry:
    """A mutant that waits for a kernel."""
    def __init__(self, mutant, tests, start):
        self.mutant, self.start, self.module = mutant, start, ""
        uml_tests = [test for test in tests if test.startswith("uml:")]
        self.tests = {stage.name: [test for test in uml_tests if uml.stage_of(test) is stage]
                      for stage in uml.STAGES}
        self.stages = [stage for stage in uml.STAGES if self.tests[stage.name]]


class Run:
    """What all lanes share."""
    def __init__(self, mutants, order, known):
        self.waiting, self.order, self.known = list(mutants), order, known
        self.lock, self.stopped, self.lines = threading.Lock(), False, []
        minutes = os.environ.get("MINUTES")
        self.end = time.monotonic() + 60 * float(minutes) if minutes else None
        self.error = None

    def stop(self, *_):
        if self.stopped:
            os._exit(130)
        self.stopped = True
        print("mutate: ending; ^C again ends at once", file=sys.stderr)

    def over(self):
        late = self.end is not None and time.monotonic() > self.end
        return self.stopped or late or self.error is not None

    def seconds_left(self):
        return None if self.end is None else self.end - time.monotonic()

    def next(self):
        """A mutant and its tests, in the order that the killers up to now suggest."""
        with self.lock:
            if not self.waiting or self.over():
                return None
            mutant = self.waiting.pop(0)
            return mutant, self.order.of(mutant)

    def say(self, word, mutant, start, why=""):
        seconds = time.monotonic() - start
        bug = f" [{mutant.bug}]" if mutant.bug else ""
        line = f"{word:<10} {mutant.name} ({seconds:.0f} s){': ' + why if why else ''}{bug}"
        with self.lock:
            self.lines.append(line)
            if word == "killed":
                self.order.note(mutant, verdicts.test_of(why))
                with open(os.path.join(ALL, "killed"), "a", encoding="utf-8") as out:
                    print(mutant.name, file=out)
            with open(os.path.join(ALL, "verdicts"), "a", encoding="utf-8") as out:
                print(line, file=out)
            print(line, flush=True)

    def reason(self, mutant):
        """Why it is equivalent, or None."""
        known = self.known.get(mutant.name, "")
        prefix = "equivalent: "
        return known[len(prefix):] if known.startswith(prefix) else None

    def killed(self, mutant, start, killer):
        if self.reason(mutant) is None:
            self.say("killed", mutant, start, killer)
        else:
            self.say("survived", mutant, start, f"said to be equivalent, but {killer} fails")

    def survived(self, mutant, start):
        reason = self.reason(mutant)
        self.say("survived" if reason is None else "equivalent", mutant, start, reason or "")


class Worker:
    """Tries mutants in one lane."""
    def __init__(self, run, lane):
        self.run, self.lane = run, lane
        self.pending = {stage.name: [] for stage in uml.STAGES}
        self.count = 0

    def work(self):
        try:
            while (job := self.run.next()) is not None:
                self.begin(*job)
                self.boot_full()
            for stage in uml.STAGES:
                while self.pending[stage.name] and not self.run.over():
                    self.boot(stage)
        except Exception as error:
            self.run.error = error
            raise

    def begin(self, mutant, tests):
        start = time.monotonic()
        self.lane.note(f"=== {mutant.name}")
        try:
            killer = self.lane.quick(mutant, tests)
        except NotBuilt:
            self.run.say("not built", mutant, start)
            return
        except ValueError as error:
            self.run.say("in error", mutant, start, str(error))
            return
        if killer:
            self.run.killed(mutant, start, killer)
        else:
            self.enter(Entry(mutant, tests, start))

    def enter(self, entry):
        """Its next stage, or its verdict."""
        if not entry.stages:
            self.run.survived(entry.mutant, entry.start)
            return
        self.count += 1
        entry.module = os.path.join(self.lane.modules, f"{self.count}.ko")
        try:
            self.lane.build_module(entry.mutant, entry.stages[0], entry.module)
        except NotBuilt:
            self.run.say("not built", entry.mutant, entry.start)
            return
        self.pending[entry.stages.pop(0).name].append(entry)

    def boot_full(self):
        for stage in uml.STAGES:
            while len(self.pending[stage.name]) >= uml.SEVERAL and not self.run.over():
                self.boot(stage)

    def boot(self, stage):
        """One kernel, and the verdicts on those that have begun there."""
        entries = self.pending[stage.name][:uml.SEVERAL]
        begin = time.monotonic()
        jobs = [(entry.module, entry.tests[stage.name]) for entry in entries]
        said, _ = self.lane.uml.boot(stage, jobs, self.run.seconds_left())
        if not said:
            raise RuntimeError(f"no mutant has begun; see {self.lane.log}")
        self.pending[stage.name] = self.pending[stage.name][len(entries):]
        left = [entry for i, entry in enumerate(entries) if i not in said]
        each = (time.monotonic() - begin) / len(said)
        dirty, again = False, []
        for i, one in sorted(said.items()):
            entry = entries[i]
            # its share of the kernel's time
            entry.start = time.monotonic() - each
            # may have leaked from one before, which was not looked at
            if one.word == "leaked" and dirty:
                again.append(entry)
                continue
            os.remove(entry.module)
            if one.word == "passed":
                self.enter(entry)
            else:
                dirty = True
                self.run.killed(entry.mutant, entry.start, one.killer())
        self.pending[stage.name][:0] = again + left


### without a mutant

def hash_of(words, paths):
    total = hashlib.sha256(repr(words).encode())
    for path in sorted(paths):
        # wherever the checkout is
        total.update(os.path.basename(path).encode())
        with open(path, "rb") as file:
            total.update(hashlib.sha256(file.read()).digest())
    return total.hexdigest()[:32]


class Passed:
    """The cache of tests that have passed on exactly these inputs, with their seconds. All
    checkouts of the machine share it; what is two weeks old, other scripts remove."""
    def __init__(self):
        self.folder = os.path.join(CACHE, "passed")

    def path(self, key):
        return os.path.join(self.folder, f"mutate-{key}")

    def get(self, key):
        try:
            os.utime(self.path(key))
            with open(self.path(key), encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError):
            return None

    def put(self, key, seconds):
        os.makedirs(self.folder, exist_ok=True)
        part = f"{self.path(key)}.{os.getpid()}"
        with open(part, "w", encoding="utf-8") as out:
            json.dump(seconds, out)
        os.replace(part, self.path(key))


def all_files(*folders):
    return [os.path.join(at, name) for folder in folders
            for at, _, names in os.walk(os.path.join(TOP, folder)) for name in names
            if name.endswith((".c", ".h", ".S", ".sh", "Kbuild"))]


def uml_key(stage, test):
    name, _ = uml.split(test)
    paths = all_files("drivers", "include", "selftests/lib", "selftests/uapi/lib",
                      "selftests/uapi/failing", "scripts/uml")
    paths += [os.path.join(TOP, path) for path in ("scripts/vm/uapi.sh", "selftests/net/lib.sh")]
    kernel = os.readlink(os.path.join(BUILD, stage.kernel))
    settings = [os.environ.get(name) for name in ("TIER", "KSFT_SEED", "KSFT_SLOW")]
    return hash_of([stage.name, stage.words, test, os.path.basename(kernel), settings],
                   paths + [verdicts.test_source("uml", name)])


def unit_baseline(lane, tests, passed):
    """Each of these unit tests passes. Programs that are there with their seconds are known."""
    for test in tests:
        key = hash_of([test, os.environ.get("UNIT_SEED")], lane.units.inputs(test))
        seconds = passed.get(key)
        if seconds is None:
            what = lane.units.without_mutant(test)
            if what is not None:
                sys.exit(f"mutate: unit:{test} {what}: fails without a mutant; see {lane.log}")
            seconds = {name: lane.units.took[name] for name in
                       map(lane.units.name, lane.units.programs_of(test))}
            passed.put(key, seconds)
        lane.units.took.update(seconds)


def uml_baseline(lane, stage, tests, passed, order):
    unknown = []
    for test in tests:
        seconds = passed.get(uml_key(stage, test))
        if seconds is None:
            unknown.append(test)
        else:
            order.seconds[test] = seconds
    if unknown:
        print("without a mutant:", *unknown, flush=True)
    for first in range(0, len(unknown), TOGETHER):
        some = unknown[first:first + TOGETHER]
        module = lane.uml.module(stage)
        if module is None:
            sys.exit(f"mutate: it does not build without a mutant; see {lane.log}")
        said, lines = lane.uml.boot(stage, [(os.path.join(module.clean, "kvnet.ko"), some)])
        if 0 not in said or said[0].word != "passed":
            what = said[0].killer() if 0 in said else "User-Mode Linux"
            sys.exit(f"mutate: {what} fails without a mutant; see {lane.log}")
        seconds = uml.seconds_of(lines)
        for test in some:
            name, variant = uml.split(test)
            plain = name + (f"@{variant}" if variant in ("packed", "kthread", "calls") else "")
            order.seconds[test] = seconds.get(plain, 1)
            passed.put(uml_key(stage, test), order.seconds[test])


def script(*words):
    """One of the others, whose output is shown; it works on the checkout itself."""
    kept = {name: value for name, value in environment().items() if name != "UML_AS_BUILT"}
    if "KVNET_BUILD" in os.environ:
        kept["KVNET_BUILD"] = os.environ["KVNET_BUILD"]
    if subprocess.run([os.path.join(TOP, "scripts", words[0]), *words[1:]], env=kept,
                      check=False).returncode:
        sys.exit(f"mutate: {words[0]} failed")


def baseline(lanes, mutants, order):
    """Builds what the tests of these mutants need, and sees that each passes."""
    tests = sorted({test for m in mutants for test in order.of(m)})
    units = [test[len("unit:"):] for test in tests if test.startswith("unit:")]
    umls = [test for test in tests if test.startswith("uml:")]
    passed = Passed()
    if any(test.startswith("nospec:") for test in tests) and \
            not os.path.islink(os.path.join(BUILD, "kernel-6.12")):
        script("setup.sh", "6.12")
    for kernel in sorted({uml.stage_of(test).kernel for test in umls}):
        script("uml/build.sh", kernel)
    for lane in lanes:
        lane.share_entries()
        if units and not lane.units.build(units):
            sys.exit(f"mutate: the unit tests do not build without a mutant; see {lane.log}")
    first = lanes[0]
    unit_baseline(first, units, passed)
    order.seconds.update({f"unit:{test}": first.units.seconds(test) for test in units})
    if umls and run_logged(["make", "-s", "-C", os.path.join(first.tree, "selftests", "uapi"),
                            f"-j{os.cpu_count()}", f"OUTPUT={first.uml.uapi}"], first.log):
        sys.exit(f"mutate: the uapi tests do not build; see {first.log}")
    for stage in uml.STAGES:
        uml_baseline(first, stage, [test for test in umls if uml.stage_of(test) is stage],
                     passed, order)


### all of it

def summary(total, earlier, lines):
    """The last line, and whether all were killed but those that are equivalent."""
    count = {word: sum(line.startswith(word) for line in lines)
             for word in ("killed", "survived", "equivalent", "not built", "in error")}
    count["killed"] += earlier
    print(f"{total} mutants: " + ", ".join(f"{number} {word}" for word, number in count.items()))
    return count["killed"] + count["equivalent"] == total


def hold_lock():
    """One run at a time in a checkout."""
    path = os.path.join(BUILD, "locks", "mutate")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    lock = open(path, "w", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        print("mutate: waiting for another run", file=sys.stderr)
        fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def try_all(names, selected):
    """selected: which mutants these names and the environment choose, of all."""
    env, source = os.environ, Source(TOP)
    everything, known = lists.everything(source), read_table(VERDICTS)
    first = verdicts.tier_one() if env.get("TIER") == "1" else None
    order = verdicts.Order(everything, known, first)
    mutants = selected(everything, names, source, known)
    if not mutants:
        return 0 if env.get("CHANGED") or env.get("SET") else 1
    os.makedirs(ALL, exist_ok=True)
    lock = hold_lock()
    killed = os.path.join(ALL, "killed")
    with open(killed, "a+" if env.get("AGAIN") else "w+", encoding="utf-8") as file:
        file.seek(0)
        earlier = set(file.read().splitlines())
    total = len(mutants)
    mutants = [m for m in mutants if m.name not in earlier]
    took = {}
    lanes = [Lane(number + 1, took) for number in range(int(env.get("LANES") or 1))]
    baseline(lanes, mutants, order)
    run = Run(mutants, order, known)
    signal.signal(signal.SIGINT, run.stop)
    signal.signal(signal.SIGTERM, run.stop)
    threads = [threading.Thread(target=Worker(run, lane).work, daemon=True) for lane in lanes]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(1)
    verdicts.record(run.lines, *lists.judged_and_all(everything))
    if run.error is not None:
        sys.exit(f"mutate: a lane has ended early: {run.error}")
    lock.close()
    return 0 if summary(total, total - len(mutants), run.lines) else 1
