# SPDX-License-Identifier: GPL-2.0
"""The machine that measures: where things are, what it is, and the programs that run on it."""

import importlib
import os
import re
import signal
import subprocess
import sys
import time

TOP = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
BUILD = os.path.realpath(os.environ.get("KVNET_BUILD") or os.path.join(TOP, "build"))
CACHE = os.path.realpath(os.environ.get("KVNET_CACHE") or os.path.expanduser("~/.cache/kvnet"))
SERIES = "6.12"
# an instruction of the test host's takes so long where they are counted: scripts/vm.sh
NS_PER_INSTRUCTION = 2
# scripts called from here go on counting
START = int(os.environ.setdefault("KVNET_START", str(int(time.time()))))


class Failed(Exception):
    """A lane or a build; what it said is in its log."""


def elapsed():
    return int(time.time()) - START


def info(text):
    print(f"[{elapsed():4}s] {text}", flush=True)


def script(name):
    return os.path.join(TOP, "scripts", name)


def inside(name):
    """What runs in the machine that is measured."""
    return os.path.join(TOP, "tools/bench/inside", name)


def built(*parts):
    return os.path.join(BUILD, *parts)


def setting(name, otherwise=""):
    """A variable; empty is the same as none."""
    return os.environ.get(name) or otherwise


def names(name):
    return setting(name).split()


def number(name, otherwise):
    text = setting(name, str(otherwise))
    if not re.fullmatch("[1-9][0-9]*", text):
        raise Failed(f"{name} must be a number above 0, not '{text}'")
    return int(text)


def output_of(*words):
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def text_of(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def commit():
    return output_of("git", "-C", TOP, "describe", "--always", "--dirty", "--exclude", "*")


def cpu():
    model = re.search(r"^model name[^:]*: (.*)", text_of("/proc/cpuinfo"), re.M)
    return f"{len(os.sched_getaffinity(0))} x {model[1] if model else 'unknown'}"


def cpu_has(*flags):
    found = re.search(r"^flags.*", text_of("/proc/cpuinfo"), re.M)
    return bool(found and set(flags) & set(found[0].split()))


def load():
    return " ".join(text_of("/proc/loadavg").split()[:3])


def has_virtualization():
    """That a test host boots on it is for vm.sh to find out: as in scripts/machine/vm.py."""
    return (cpu_has("vmx", "svm") and os.access("/dev/kvm", os.W_OK) and
            text_of(os.path.join(CACHE, "accel")).strip() != "tcg")


def why_no_virtualization():
    """As words for the reader; empty if there is some."""
    if not cpu_has("vmx", "svm"):
        return "the CPU has no vmx or svm"
    if not os.access("/dev/kvm", os.W_OK):
        return "/dev/kvm is missing, or may not be written"
    if not has_virtualization():
        return f"no test host has booted on it; to try again: rm {os.path.join(CACHE, 'accel')}"
    return ""


def call(*words):
    """A script whose words are for the reader; Failed if it fails."""
    sys.stdout.flush()
    if subprocess.call(words, close_fds=False):
        raise Failed(f"{os.path.basename(words[0])} failed")


def prepare_report():
    """What draws and judges comes from Debian's packages; they may just have been installed."""
    call(script("setup.sh"), "--report")
    importlib.invalidate_caches()


def child(words):
    """A program with the lines that it says; it inherits what a shell's would: locks, test.sh's log."""
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            errors="replace", close_fds=False)


class Progress:
    """One line that changes, on a terminal; else what is new, twice a minute."""

    EVERY = 30

    def __init__(self):
        self.shown = -self.EVERY
        self.first = None  # step of the boot, and when it was

    def left(self, text):
        """Of "step 3 of 12: ...", a guess, from the steps since the boot's first."""
        found = re.match(r"step (\d+) of (\d+):", text)
        if not found:
            return ""
        step, steps = map(int, found.groups())
        self.first = self.first or (step, time.time())
        done = step - self.first[0]
        if done < 2:
            return ""
        seconds = (time.time() - self.first[1]) * (steps - step + 1) / done
        return f" (about {int(seconds + 59) // 60} min left)"

    def show(self, text, at_once=False):
        if sys.stdout.isatty():
            print(f"\r\033[K[{elapsed():4}s] {text[:100]}", end="", flush=True)
        elif at_once or elapsed() - self.shown >= self.EVERY:
            self.shown = elapsed()
            info(text)

    def end(self):
        if sys.stdout.isatty():
            print("\r\033[K", end="", flush=True)


class Run:
    """A directory of results: rows.txt, a log of each lane, and in the end the report."""

    def __init__(self, where="bench/%F-%H%M%S"):
        self.out = setting("OUT", built(time.strftime(where)))
        self.stopped = False
        os.makedirs(self.out, exist_ok=True)
        for old in os.listdir(self.out):
            if old.endswith(".log"):
                os.remove(self.path(old))
        with open(self.path("rows.txt"), "w", encoding="utf-8"):
            pass

    def path(self, name):
        return os.path.join(self.out, name)

    def add(self, *lines):
        with open(self.path("rows.txt"), "a", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)

    def fact(self, lane, key, text):
        self.add(f"@fact lane={lane} key={key} value={word(text)}")

    def note(self, lane, text):
        self.add(f"@note lane={lane} text={word(text)}")

    def stop_by_signals(self):
        """What has been measured when it is interrupted is kept, and reported."""
        def stop(_number, _frame):
            self.stopped = True
            print()
            info("stopped: reporting what there is")

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop)

    def command(self, lane, *words, held=None):
        """
        Runs it; its rows go to rows.txt or, as long as it is not known whether they count, into
        the list 'held', all else to the lane's log. An attempt that the rig has spoilt leaves none.
        """
        progress = Progress()
        with open(self.path(f"{lane}.log"), "a", encoding="utf-8") as log, child(words) as program:
            for line in map(str.rstrip, program.stdout):
                if line.startswith(("@bench ", "@fact ", "@note ")):
                    if held is None:
                        self.add(line)
                    else:
                        held.append(line)
                elif line.startswith("@progress "):
                    text = line.partition(" ")[2]
                    progress.show(text + progress.left(text))
                elif re.match(r"\[ *\d+s\] ", line):
                    # what is built or fetched first says so, as all scripts do
                    progress.show(line.partition("s] ")[2], at_once=True)
                elif line.startswith("vm.sh: fault of the rig") and held is not None:
                    held.clear()
                print(line, file=log, flush=True)
        progress.end()
        return program.returncode

    def build(self, lane, *words):
        if self.command(lane, *words):
            raise Failed(f"{os.path.basename(words[0])} failed")

    def show_failure(self, lane):
        info(f"lane {lane} failed; the end of {self.path(lane)}.log:")
        said = [line for line in text_of(self.path(f"{lane}.log")).splitlines()
                if not re.match("@(bench|fact|note|progress) ", line)]
        print("\n".join(said[-15:]), flush=True)


def word(text):
    """What may stand in a value."""
    return re.sub(r"[ \t_]+", "_", str(text))
