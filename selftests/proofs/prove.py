#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Proves the harnesses of this directory with CBMC, and refutes their mutants.

    prove.py [--quick] [--no-mutants] [--trace] [HARNESS...]

A harness is a C file with a main(). Its first comment has lines "@key: value", which may go on
in lines that are indented by a tab:

    shows    the property
    bounds   what the proof is limited to
    sources  files of drivers/kvnet that are proved, beside the headers that they include
    unwind   iterations of each loop; unwinding assertions show that there are no more
    options  others of CBMC's
    quick    "yes": among those of --quick
    mutant   FILE: TEXT => OTHER: with OTHER in place of TEXT, which FILE has once, the proof
             must fail; each harness has at least one; "\\n" is the end of a line

build/proofs has a directory for each, with what CBMC read and said.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("KVNET_BUILD") or TOP / "build").resolve()
MODULE = TOP / "drivers" / "kvnet"
SECONDS = 120  # of CPU time, for one run
MEMORY = 3 << 30  # bytes
CHECKS = [
    "--bounds-check",
    "--pointer-check",
    "--signed-overflow-check",
    "--undefined-shift-check",
    "--div-by-zero-check",
    "--unwinding-assertions",
    "--malloc-may-fail",
    "--malloc-fail-null",
    "--drop-unused-functions",
    "--slice-formula",
]
KEYS = {"shows", "bounds", "sources", "unwind", "options", "quick", "mutant"}


class Mutant:
    """One change of one file."""

    def __init__(self, text):
        self.file, change = text.split(": ", 1)
        self.old, self.new = change.replace("\\n", "\n").split(" => ")

    def __str__(self):
        return f"{self.file}: {self.old!r} => {self.new!r}"

    def applies(self):
        return (MODULE / self.file).read_text().count(self.old) == 1

    def apply(self, module):
        path = module / self.file
        path.write_text(path.read_text().replace(self.old, self.new))


class Harness:
    """A C file and what its first comment says."""

    def __init__(self, path):
        self.path = path
        self.name = path.stem
        keys = parse_comment(path.read_text())
        unknown = keys.keys() - KEYS
        if unknown:
            raise ValueError(f"{path.name}: unknown keys {sorted(unknown)}")
        for key in ("shows", "bounds", "unwind", "mutant"):
            if key not in keys:
                raise ValueError(f"{path.name}: lacks @{key}")
        self.shows = keys["shows"][0]
        self.bounds = keys["bounds"][0]
        self.sources = " ".join(keys.get("sources", [])).split()
        self.unwind = keys["unwind"][0]
        self.options = " ".join(keys.get("options", [])).split()
        self.quick = keys.get("quick") == ["yes"]
        self.mutants = [Mutant(text) for text in keys["mutant"]]
        for mutant in self.mutants:
            if not mutant.applies():
                raise ValueError(f"{path.name}: its file has this not at all, or twice: {mutant}")


def parse_comment(text):
    """The lines "@key: value" of a file's first block comment, as lists of values."""
    comment = re.search(r"/\*\n(.*?)\*/", text, re.S)
    keys = {}
    values = None
    for line in comment.group(1).splitlines() if comment else []:
        line = re.sub(r"^ \*", "", line)
        found = re.match(r" @(\w+): *(.*)", line)
        if found:
            values = keys.setdefault(found.group(1), [])
            values.append(found.group(2).strip())
        elif values and line.startswith("\t"):
            values[-1] += " " + line.strip()
        else:
            values = None
    return keys


def preprocess(harness, module, folder):
    """What CBMC reads: the harness and the sources, each with its headers."""
    folders = [module, *sorted(path for path in module.rglob("*") if path.is_dir())]
    command = ["gcc", "-E", "-std=gnu11", "-D__CPROVER__", f"-I{HERE}/shim"]
    command += [f"-I{TOP}/include/compat", f"-I{TOP}/selftests/unit/shim"]
    for path in [HERE, *folders, TOP / "selftests/unit/shim"]:
        command += ["-iquote", str(path)]
    inputs = []
    for source in [harness.path, *(module / name for name in harness.sources)]:
        inputs.append(folder / f"{source.parent.name}-{source.stem}.i")
        subprocess.run([*command, str(source), "-o", str(inputs[-1])], check=True)
    return inputs


def cbmc():
    """The command of CBMC, with the libraries of its own release."""
    root = BUILD / "cbmc"
    if not (root / "usr/bin/cbmc").exists():
        subprocess.run([TOP / "scripts/setup.sh", "--proofs"], check=True)
    libraries = root / "usr/lib/x86_64-linux-gnu"
    return [
        str(libraries / "ld-linux-x86-64.so.2"),
        "--library-path",
        f"{libraries}:{root}/usr/lib",
        str(root / "usr/bin/cbmc"),
    ]


def set_limits():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def run(harness, nr, trace):
    """Proves the harness, or, unless @nr is 0, that mutant of it. Returns the verdict, "proved",
    "refuted" or what went wrong, and the seconds of CPU time."""
    folder = folder_of(harness, nr)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    module = MODULE
    if nr:
        module = folder / "kvnet"
        shutil.copytree(MODULE, module, ignore=shutil.ignore_patterns("*.o", "*.ko", ".*"))
        harness.mutants[nr - 1].apply(module)
    command = cbmc() + CHECKS + ["--verbosity", "8", "--unwind", harness.unwind, *harness.options]
    if nr or trace:
        command.append("--stop-on-fail")
    command += [str(path) for path in preprocess(harness, module, folder)]
    log = folder / "log"
    with log.open("w") as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT,
                                 preexec_fn=set_limits)
        _, status, usage = os.wait4(child.pid, 0)
    status = child.returncode = os.waitstatus_to_exitcode(status)
    seconds = usage.ru_utime + usage.ru_stime
    if status == -signal.SIGKILL or status == -signal.SIGXCPU:
        return f"not decided in {SECONDS} s", seconds
    text = log.read_text()
    if "no body for" in text:
        return "a function has no body, see the log", seconds
    if status == 0 and "VERIFICATION SUCCESSFUL" in text:
        return "proved", seconds
    if status == 10 and "VERIFICATION FAILED" in text:
        return "refuted", seconds
    return f"CBMC failed ({status})", seconds


def failures(folder):
    """The properties that CBMC refuted."""
    text = (folder / "log").read_text()
    found = re.findall(r"^\[.*: FAILURE$", text, re.M)
    return found or re.findall(r"^Violated property:\n(?:.*\n){3}", text, re.M)


def report(harness, nr, verdict, seconds):
    """One line for a run, and what went wrong; returns whether the verdict is right."""
    right = verdict == ("refuted" if nr else "proved")
    name = f"{harness.name}, mutant {nr}" if nr else harness.name
    print(f"{'ok' if right else 'not ok'} {name}: {verdict}, {seconds:.1f} s", flush=True)
    if not right:
        folder = folder_of(harness, nr)
        lines = [str(harness.mutants[nr - 1])] if nr else failures(folder)
        for line in [*lines, f"see {folder}/log"]:
            print(f"# {line}")
    return right


def folder_of(harness, nr):
    return BUILD / "proofs" / (f"{harness.name}-mutant{nr}" if nr else harness.name)


def harness_paths():
    return sorted(HERE.glob("*.c"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the quick ones, without mutants")
    parser.add_argument("--no-mutants", dest="mutants", action="store_false")
    parser.add_argument("--trace", action="store_true",
                        help="stop at the first failure, whose trace is in the log")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time (2)")
    parser.add_argument("harness", nargs="*")
    args = parser.parse_args()
    harnesses = {path.stem: Harness(path) for path in harness_paths()}
    unknown = set(args.harness) - harnesses.keys()
    if unknown:
        parser.error(f"no such harness: {' '.join(sorted(unknown))}; there are: "
                     f"{' '.join(harnesses)}")
    chosen = [harnesses[name] for name in args.harness] or list(harnesses.values())
    if args.quick:
        args.mutants = False
        chosen = [harness for harness in chosen if harness.quick]
    cbmc()
    runs = [
        (harness, nr)
        for harness in chosen
        for nr in range(1 + (len(harness.mutants) if args.mutants else 0))
    ]
    good = bad = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for (harness, nr), (verdict, seconds) in zip(
            runs, pool.map(lambda one: run(one[0], one[1], args.trace), runs)
        ):
            if report(harness, nr, verdict, seconds):
                good += 1
            else:
                bad += 1
    print(f"{good} passed, {bad} failed")
    return 1 if bad or not good else 0


if __name__ == "__main__":
    sys.exit(main())
