# SPDX-License-Identifier: GPL-2.0
"""Builds and runs unit tests on a mutant.

The Makefile of the unit tests is asked once how it compiles and links (make -n), and gcc which
headers an object has read. For a mutant only the objects that read its file are compiled, and
only tests that have such an object are linked and run. What was built without a mutant stays.
"""
import os
import re
import shlex
import subprocess
import time

from .process import output_of, run_logged

# A test that hangs: so many seconds of a CPU, and so many times what it takes without a mutant.
# One that sleeps forever ends after PATIENCE.
CPU_SECONDS, CPU_TIMES, PATIENCE = 3, 4, 60
FOLDERS = ("asan", "tsan", "fast")
REPORT = re.compile(r"(?:Address|Thread|Leak)Sanitizer: [a-zA-Z-]*|runtime error: .*")
FAILED = re.compile(r"^not ok [0-9]* - [^:\n]*: (.*)", re.M)


class NotBuilt(Exception):
    """A mutant that does not compile says nothing."""


def commands(text):
    """From the output of make -n: object -> its command, program -> its command; as words."""
    objects, programs = {}, {}
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line) if "-o" in line else []
        if "-o" not in words:
            continue
        made = words[words.index("-o") + 1]
        if "-c" in words:
            objects[made] = words
        elif any(word.endswith(".o") for word in words):
            programs[made] = words
    return objects, programs


def dependencies(text):
    """The files that a .d file names: "object: file file \\ file"."""
    return set(text.replace("\\\n", " ").partition(":")[2].split())


def killer(output, status):
    """Which case has failed, or how the test has ended."""
    case = FAILED.search(output)
    if status == "hangs":
        return "hangs"
    if case:
        return case[1]
    report = REPORT.search(output)
    return report[0] if report else "died"


class Units:
    """took has the seconds of each program without a mutant, by its path below out."""
    def __init__(self, tree, out, log, took):
        self.tree, self.out, self.log, self.took = tree, out, log, took
        self.place = os.path.join(tree, "selftests", "unit")
        self.mutant = os.path.join(out, "mutant")
        self.objects, self.programs, self.reads = {}, {}, {}
        self.made = {}

    def make(self, *words):
        return ["make", "-s", "-C", self.place, "programs",
                f"OUTPUT={self.out}", "CFLAGS=-Wno-error -MD", *words]

    def build(self, tests):
        """These tests without a mutant. Whether they build."""
        wanted = "TESTS=" + " ".join(tests)
        if run_logged(self.make(wanted, f"-j{os.cpu_count()}"), self.log):
            return False
        objects, programs = commands(output_of(self.make(wanted, "-n", "-B")))
        self.objects.update(objects)
        self.programs.update(programs)
        for made in objects:
            with open(made[:-len(".o")] + ".d", encoding="utf-8") as file:
                self.reads[made] = {os.path.realpath(os.path.join(self.place, path))
                                    for path in dependencies(file.read())}
        os.makedirs(self.mutant, exist_ok=True)
        return True

    def programs_of(self, test):
        """A test in each of its variants, without the one over another device side."""
        paths = (os.path.join(self.out, folder, test + end)
                 for folder in FOLDERS for end in ("_test", ""))
        return [path for path in paths if path in self.programs]

    def name(self, program):
        return os.path.relpath(program, self.out)

    def seconds(self, test):
        return sum(self.took.get(self.name(program), 0) for program in self.programs_of(test))

    def inputs(self, test):
        """All that its programs are made from."""
        return {path for program in self.programs_of(test) for made in self.programs[program]
                for path in self.reads.get(made, ())}

    def begin(self):
        """Another mutant."""
        self.made = {}

    def object_of(self, made):
        """Compiles it, once for a mutant."""
        if made not in self.made:
            new = os.path.join(self.mutant, made[len(self.out) + 1:].replace("/", "-"))
            words = [new if word == made else word for word in self.objects[made]
                     if word != "-MD"]
            if run_logged(words, self.log, cwd=self.place):
                raise NotBuilt
            self.made[made] = new
        return self.made[made]

    def execute(self, program, took=None):
        """Its output, and "passed", "failed" or "hangs"."""
        path = os.path.join(self.mutant, "output")
        seconds = int(CPU_SECONDS + CPU_TIMES * (took if took is not None else 30))
        words = ["prlimit", "--core=0", f"--cpu={seconds}", "--fsize=100000000", program]
        with open(path, "wb") as out:
            process = subprocess.Popen(words, stdout=out, stderr=subprocess.STDOUT,
                                       stdin=subprocess.DEVNULL, env=environment())
            try:
                status = process.wait(PATIENCE + 10 * (took or 30))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                status = -9
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(1000000)
        word = "passed" if status == 0 else "hangs" if status in (-9, -24) else "failed"
        return text, word

    def without_mutant(self, test):
        """None, or what fails."""
        for program in self.programs_of(test):
            start = time.monotonic()
            text, word = self.execute(program)
            if word != "passed":
                return killer(text, word)
            self.took[self.name(program)] = time.monotonic() - start
        return None

    def run(self, test, path):
        """On the mutant in the file of this path. None, or what fails."""
        path = os.path.realpath(path)
        for program in self.programs_of(test):
            words = self.programs[program]
            touched = [word for word in words if path in self.reads.get(word, ())]
            if not touched:
                continue
            new = {word: self.object_of(word) for word in touched}
            folder = os.path.join(self.mutant, os.path.basename(os.path.dirname(program)))
            os.makedirs(folder, exist_ok=True)
            new[program] = os.path.join(folder, os.path.basename(program))
            if run_logged([new.get(word, word) for word in words], self.log):
                raise NotBuilt
            text, word = self.execute(new[program], self.took.get(self.name(program)))
            if word != "passed":
                return killer(text, word)
        return None


def environment():
    return {**os.environ, "UNIT_SEED": os.environ.get("UNIT_SEED") or "1",
            "ASAN_OPTIONS": "hard_rss_limit_mb=2000"}
