#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0
"""Static checks: what sources and documentation show without being run. Each check prints what it finds and is
counted as a test; the last line is "N passed, N failed". A tool that is missing is a failure.

    scripts/check.py            builds (the module for each kernel of the test host with W=1 and sparse, and the
                                test programs), unit tests, models, and then the static checks
    scripts/check.py static     these alone, after a build of the module for 6.12
    scripts/check.py NAME       this check alone, and all that it prints
"""
import concurrent.futures
import glob
import os
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "runner"))

from machines import library, option  # noqa: E402  pylint: disable=wrong-import-position
from needs import TOP  # noqa: E402  pylint: disable=wrong-import-position
from tiers import SERIES as ALL_SERIES, make, script  # noqa: E402  pylint: disable=wrong-import-position

BUILD = os.path.realpath(option("KVNET_BUILD", f"{TOP}/build"))
SERIES = "6.12"
OBJECTS = f"{BUILD}/mod-{SERIES}/drivers/kvnet"
STATIC = ("nospec checkpatch shell kernel_doc spdx versions layers python needs mutants killers spec counters docs"
          " codespell words").split()
CHECKS = ["module", "programs", "unit", "models", "tools", *STATIC]


def python(name, *words):
    return ["python3", "-B", *script(name, *words)]


# Checks that are commands; the others are functions.
COMMANDS = {
    # "floor" is of the laboratory, which has one kernel
    "module": [*(script("build-module.sh", "--sparse", series) for series in ALL_SERIES),
               script("build-module.sh", "--sparse", "--floor", SERIES), script("build-module.sh", "--uncounted", SERIES)],
    "programs": [make("selftests/uapi", f"OUTPUT={BUILD}/uapi"), make("selftests/net", f"OUTPUT={BUILD}/net-tools"),
                 make("selftests/perf", f"OUTPUT={BUILD}/perf")],
    "unit": [make("selftests/unit", "run")],
    "models": [[f"{TOP}/selftests/models/run.sh"]],     # of the run state of a queue, and of the barriers
    # the laboratory's arithmetic and reports; kvnetctl; QEMU's own device
    "tools": [script("bench.sh", "test"), make("selftests/kvnetctl", "run"), make("selftests/qemu", "run")],
    # looks first at code that lacks masks; after "module", as "layers"
    "nospec": [python("check-nospec.py", "--self-check"), python("check-nospec.py", OBJECTS)],
    # asking for a kernel version is for include/compat alone
    "versions": [["bash", "-c", "! grep -rnE 'LINUX_VERSION_CODE|KERNEL_VERSION' drivers --include='*.[ch]'"]],
    "layers": [python("layers.py", f"{TOP}/drivers/kvnet", OBJECTS)],
    "needs": [script("test.sh", "check")],              # what each test says of them
    "mutants": [python("mutants.py", "check")],         # those by hand that do not apply any more prove nothing
    "killers": [python("mutants.py", "killers")],       # how many of those that have been tried tier one kills
    "spec": [script("netlink-gen.py", "--check")],
}


def succeed(*commands):
    """Do all of them? Each is run; a lane of test.sh has 3 open for their progress."""
    return all([not subprocess.run(words, cwd=TOP, close_fds=False, check=False).returncode for words in commands])


def output(*words):
    return subprocess.run(words, cwd=TOP, stdout=subprocess.PIPE, text=True, check=True).stdout


def in_parallel(number, files, *words):
    """A tool, for so many files at a time: does it always succeed, and what does it say?"""
    def run(some):
        return subprocess.run([*words, *some], cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", check=False)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        done = list(pool.map(run, [files[at:at + number] for at in range(0, len(files), number)]))
    return not any(one.returncode for one in done), "".join(one.stdout for one in done)


def source_files(*paths):
    names = output("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *paths).split("\0")
    return [name for name in names[:-1] if os.path.exists(f"{TOP}/{name}")]


def read(*names):
    return "".join(pathlib.Path(TOP, name).read_text(encoding="utf-8", errors="replace") for name in names)


def files_that_begin_with(words, files):
    """Those that have them in their first three lines."""
    return [name for name in files if re.search(words, "\n".join(read(name).split("\n", 3)[:3]), re.M)]


def nothing(*lines):
    """Is nothing found?"""
    print("".join(f"{line}\n" for line in lines), end="")
    return not lines


def once(name, version, files, is_clean):
    """Is it clean, or has it been on exactly this? lib.sh knows, for all checkouts."""
    known = version + output("sha256sum", "scripts/check.py", *files)

    def ask(function):
        return not subprocess.run(library(function, name), input=known, text=True, check=False).returncode
    return ask('has_passed "$1"') or (is_clean() and ask('has_passed "$1" || passes_now'))


def check_shell():
    files = files_that_begin_with("^#!.*(bash|/sh)|shellcheck shell=", source_files("scripts", "selftests", "tools", ".ci"))

    def is_clean():
        good, said = in_parallel(12, files, "shellcheck", "-x", "-S", "warning", "-e", "SC1091")
        return nothing(*said.splitlines()) and good
    return once("shellcheck", output("shellcheck", "--version"), files, is_clean)


def check_kernel_doc():
    headers = output(*library('kernel_headers "$1"', SERIES)).strip()
    good, said = in_parallel(1000, source_files("drivers/*.[ch]"), f"{headers}/scripts/kernel-doc", "-none")
    return nothing(*re.findall(".*(?:warning|error).*", said)) and good


def not_known(said, known):
    """Messages of checkpatch that are not in checkpatch.known: a file, and the kind of message."""
    may = {tuple(line.split()) for line in known.splitlines()}
    for line in said.splitlines():
        kind = re.search("(?:ERROR|WARNING|CHECK):([A-Z_]+)", line)
        if kind and (os.path.basename(line.split(":")[0]), kind[1]) not in may:
            yield line
    if not re.search("^total: ", said, re.M):
        yield "checkpatch has said nothing"


def check_checkpatch():
    """By the checkpatch of the source that User-Mode Linux is built from; include/compat is about versions."""
    tool, known = f"{BUILD}/uml-src/scripts/checkpatch.pl", "scripts/checkpatch.known"
    files = source_files("drivers/*.[ch]", "include/*.h")

    def is_clean():
        said = in_parallel(25, files, "perl", tool, "--no-tree", "--strict", "--terse", "--show-types",
                           "--ignore", "LINUX_VERSION_CODE,CONSTANT_COMPARISON", "--file")[1]
        return nothing(*not_known(said, read(known)))
    if not os.path.exists(tool):
        succeed(script("setup.sh", "--source"))
    return once("checkpatch", "", [tool, known, *files], is_clean)


def check_codespell():
    return succeed(["codespell", "-I", "scripts/codespell.ignore", *source_files("*", ":!selftests/*/corpus/*", ":!LICENSE")])


def check_words():
    return succeed(python("words.py", *source_files("drivers", "include", "tools", "Documentation", "README.md")))


def check_spdx():
    files = source_files(*"drivers scripts selftests tools include .ci Makefile Kbuild :!selftests/*/corpus/*".split())
    without = sorted({*files} - {*files_that_begin_with("SPDX-License-Identifier", files)})
    return nothing(*(f"no SPDX line: {name}" for name in without))


def check_python():
    """Tests of scripts, by folder: a package has those of its own found from outside."""
    folders = sorted({f"{TOP}/{os.path.dirname(name)}" for name in source_files("scripts/*test_*.py")})
    return succeed(*(["python3", "-B", "-m", "unittest", "discover", "-q", "-s", folder] for folder in folders
                     if not os.path.exists(f"{folder}/__init__.py")))


def not_explained(stats, trace, doc, scripts):
    """Counters and histograms without an explanation; what recipes and scripts want of the tracepoints, and is not there."""
    for name in re.findall(r"^\tX\(([a-z_]*)\)", stats, re.M):
        if not re.search(rf"^([a-z_]+, )*{name}[, ]", doc, re.M):
            yield f"debugging.rst does not explain {name}"
    for name in sorted(set(re.findall("kvnet:(kvnet_[a-z_]+)", doc + scripts))):
        if not re.search(rf"(TRACE_EVENT\(|DEFINE_EVENT\(kvnet_work_class, ){name},", trace):
            yield f"there is no tracepoint kvnet:{name}"
    # comm is of sched_waking
    for name in sorted(set(re.findall("args->([a-z_]+)", doc + scripts)) - {"comm"}):
        if not re.search(rf"__field\([a-z0-9_ ]+, {name}\)", trace):
            yield f"no tracepoint has args->{name}"


def check_counters():
    """That the tracepoints work: make net TESTS=trace."""
    stats, trace = (read(*source_files(f"drivers/kvnet/*/{name}.h")) for name in ("stats", "trace"))
    return nothing(*not_explained(stats, trace, read("Documentation/debugging.rst"), read(*source_files("tools/trace/*.bt"))))


def pages_in(text):
    """Pages that it names, alone or with their folder."""
    return sorted(set(re.findall(r"(?<![-/\w])[A-Za-z-]+\.rst\b|(?<=Documentation/)[A-Za-z-]+\.rst\b", text)))


def check_docs():
    """Each page is in the table of contents, and each that a file names is there. Sphinx makes web pages of them."""
    pages = {os.path.basename(path) for path in glob.glob(f"{TOP}/Documentation/*.rst")}
    listed = {f"{page}.rst" for page in re.findall("^   (.*)", read("Documentation/index.rst"), re.M)}
    wrong = [f"{page} is not in the toctree of index.rst" for page in sorted(pages - listed - {"index.rst"})]
    wrong += [f"{name} names {page}, which is not in Documentation" for name in source_files("*", ":!Documentation/conf.py")
              for page in pages_in(read(name)) if page not in pages]
    return all([nothing(*wrong), succeed(script("html.sh"))])


def passes(name):
    """One that fails shows its output, without the tests that have passed."""
    path, start = f"{BUILD}/log/check-{name}.log", time.monotonic()
    with open(path, "wb") as log:
        good = not subprocess.run(script("check.py", name), stdout=log, stderr=log, close_fds=False, check=False).returncode
    if good:
        print(f"ok - check: {name} # {time.monotonic() - start:.0f} s")
    else:
        nothing(*(f"# {line}" for line in read(path).splitlines() if not line.startswith("ok ")), f"not ok - check: {name}")
    return good


def main(verb=""):
    sys.stdout.reconfigure(line_buffering=True)
    if verb in CHECKS:
        return not (succeed(*COMMANDS[verb]) if verb in COMMANDS else globals()[f"check_{verb}"]())
    if verb not in ("", "static"):
        sys.exit("check.py: usage: check.py [static | NAME]")
    # lib.sh says whether this is a place to work in
    place = subprocess.run(["bash", f"{TOP}/scripts/lib.sh"] if verb else script("setup.sh"), close_fds=False, check=False)
    if place.returncode:
        return place.returncode
    if verb and not os.path.exists(f"{OBJECTS}/kvnet.ko"):
        print(f"# no module for {SERIES}, which some look into: scripts/build-module.sh {SERIES} builds it")
    os.makedirs(f"{BUILD}/log", exist_ok=True)
    good = [passes(name) for name in (STATIC if verb else CHECKS)]
    print(f"{sum(good)} passed, {len(good) - sum(good)} failed")
    return not all(good)


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:2]))
    except FileNotFoundError as error:
        sys.exit(f"no {error.filename}")
    except KeyboardInterrupt:
        sys.exit(130)
