# SPDX-License-Identifier: GPL-2.0
"""What is known of the mutants, and in which order their tests run.

mutants/tests has for each file the tests that should notice a defect of it. A test is unit:NAME,
uml:NAME or uml:NAME@VARIANT (packed, kthread, calls; smp: with two CPUs; failing: of the module
whose calls fail; smp_failing: both), or nospec:FUNCTION, a function of nospec.list.

mutants/verdicts has what is known of the mutants that are judged (lists.py), a line each, its name
and: the test that failed, "unit:TEST case", "uml:VARIANT TEST.case", "nospec:FUNCTION"; "-" if no
test failed; "not built"; or, written by hand, "equivalent: " and why no test can notice. What is
equivalent is there even if it is not judged: nobody has to find out again.
"""
import functools
import glob
import os
import re
import subprocess

from .source import TESTS, TOP, VERDICTS, read_table

# of the judged mutants that have been tried, in per cent, that tier one has to kill
LEAST = 95
# of the judged mutants that may have no verdict
WITHOUT = 0
VARIANTS = {"packed", "kthread", "calls", "smp", "failing", "smp_failing"}
HEAD = """\
# SPDX-License-Identifier: GPL-2.0
# by "make mutate": each judged mutant, and the test that kills it; see mutation/verdicts.py
"""


@functools.cache
def test_problem(test):
    kind, _, name = test.partition(":")
    name, _, variant = name.partition("@")
    if kind == "nospec":
        known = read_nospec()
        return None if name in known else f"nospec.list has no '{name}'"
    if kind not in ("unit", "uml") or (variant and (kind != "uml" or variant not in VARIANTS)):
        return f"'{test}' is no kind of test"
    return None if test_source(kind, name) else f"there is no test '{test}'"


def missing_case(verdict):
    """The case that a verdict names, if its test has none of that name."""
    match = (re.match(r"(uml):\S+ (\w+?)_test\.(\w+_\w+)", verdict) or
             re.fullmatch(r"(unit):(\w+) (\w+_\w+)", verdict))
    if not match:
        return None
    path = test_source(match[1], match[2])
    if path:
        with open(path, encoding="utf-8") as source:
            if re.search(rf"\b{match[3]}\b", source.read()):
                return None
    return f"{match[2]}_test.{match[3]}"


def read_nospec():
    with open(os.path.join(TOP, "scripts", "nospec.list"), encoding="utf-8") as lines:
        return [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]


def test_source(kind, name):
    """The C file of a unit or uapi test."""
    base = os.path.join(TOP, "selftests", "unit" if kind == "unit" else "uapi", "**", name)
    ends = ("_test.c", ".c")[:1 + (kind == "unit")]
    return next((path for end in ends for path in glob.glob(base + end, recursive=True)), None)


def file_tests():
    return {file: tests.split() for file, tests in read_table(TESTS).items()}


def tests_of_file(file, table):
    """A header without a line of its own has that of its C file."""
    return table.get(file) or table.get(os.path.splitext(file)[0] + ".c", [])


@functools.cache
def tier_one():
    """What tier one runs in User-Mode Linux, as "VARIANT TEST"; all unit tests and masks belong
    to it."""
    text = subprocess.run([os.path.join(TOP, "scripts", "test.sh"), "list-first"],
                          check=True, capture_output=True, text=True).stdout
    return set(text.splitlines())


def test_of(verdict):
    """The test that a killer names, as lists name it."""
    match = re.match(r"uml:(\S+) (\w+?)_test\.", verdict)
    if match:
        return f"uml:{match[2]}" + ("" if match[1] == "split" else f"@{match[1]}")
    return verdict.split()[0] if verdict.startswith(("unit:", "nospec:")) else None


def in_tier_one(test, first):
    if not test or test.startswith(("unit:", "nospec:")):
        return bool(test)
    name, _, variant = test[len("uml:"):].partition("@")
    return f"{variant or 'split'} {name}_test" in first


class Order:
    """Which tests a mutant meets, the likeliest killer for its seconds first.

    A test that killed other mutants of the function is likelier to kill this one, and so, but
    less, is one that killed mutants of the file."""
    def __init__(self, mutants, verdicts, first=None):
        self.verdicts, self.table, self.first = verdicts, file_tests(), first
        self.kills, self.seconds = {}, {}
        for m in mutants:
            self.note(m, test_of(verdicts.get(m.name, "-")))

    def note(self, mutant, test):
        for key in (("file", mutant.file, test), ("function", mutant.function, test)):
            self.kills[key] = self.kills.get(key, 0) + 1

    def worth(self, mutant, test):
        of_function = self.kills.get(("function", mutant.function, test), 0)
        of_file = self.kills.get(("file", mutant.file, test), 0)
        if not mutant.function:
            of_function = 0
        return (0.3 + of_file + 5 * of_function) / (0.5 + self.seconds.get(test, 3))

    def of(self, mutant):
        tests = tests_of_file(mutant.file, self.table)
        # only a change of a mask changes what the masks are looked at for
        if not mutant.changes_mask():
            tests = [test for test in tests if not test.startswith("nospec:")]
        tests = sorted(tests, key=lambda test: -self.worth(mutant, test))
        killer = test_of(self.verdicts.get(mutant.name, "-"))
        if killer and not test_problem(killer):
            tests = [killer] + [test for test in tests if test != killer]
        return [test for test in tests if self.first is None or in_tier_one(test, self.first)]


### the file

LINE = re.compile(r"(killed|survived|not built) +(\S+) \(\d+ s\)(?:: (.*?))?(?: \[[^\]]*\])?$")


def updated(verdicts, lines, tier=None, first=frozenset()):
    """The verdicts with what a run has said. What is said to be equivalent stays so; a survivor of
    tier one alone says nothing against a killer in another tier."""
    verdicts = dict(verdicts)
    for line in lines:
        match = LINE.match(line)
        known = verdicts.get(match[2], "-") if match else ""
        if not match or known.startswith("equivalent"):
            continue
        if match[1] == "killed":
            verdicts[match[2]] = match[3].strip()
        elif match[1] == "not built":
            verdicts[match[2]] = "not built"
        elif tier != "1" or known in ("-", "not built") or in_tier_one(test_of(known), first):
            verdicts[match[2]] = "-"
    return verdicts


def kept(verdicts, judged, names):
    """Those of judged mutants, and of any that are equivalent."""
    return {name: verdict for name, verdict in verdicts.items()
            if name in judged or (name in names and verdict.startswith("equivalent"))}


def record(lines, judged, names):
    tier = os.environ.get("TIER")
    verdicts = updated(read_table(VERDICTS), lines, tier,
                       tier_one() if tier == "1" else frozenset())
    with open(VERDICTS, "w", encoding="utf-8") as out:
        out.write(HEAD)
        for name, verdict in sorted(kept(verdicts, judged, names).items()):
            print(f"{name}\t{verdict}", file=out)


def show_killers(judged, names):
    """Fails if tier one kills too few of the judged ones, if too many of them have no verdict, and
    for a verdict on a mutant by hand that is none any more."""
    verdicts, first = read_table(VERDICTS), tier_one()
    stale = sorted(name for name in verdicts.keys() - names if ":" not in name)
    for name in stale:
        print(f"{name}: has a verdict and is no mutant "
              "('mutants.py record < /dev/null' drops it)")
    known = judged & verdicts.keys()
    equivalent = {name for name in known if verdicts[name].startswith("equivalent")}
    tried = {name for name in known - equivalent if verdicts[name] != "not built"}
    killed = {name for name in tried if in_tier_one(test_of(verdicts[name]), first)}
    for name in sorted(tried - killed):
        print(f"# not in tier one: {name}: {verdicts[name]}")
    share = 100 * len(killed) / len(tried) if tried else 0
    print(f"{len(judged)} of {len(names)} mutants are judged, {len(tried)} have been tried: tier one "
          f"kills {len(killed)} ({share:.1f} %); {len(equivalent)} are equivalent, "
          f"{len(known - equivalent - tried)} do not compile, {len(judged - known)} have no verdict")
    if len(judged - known) > WITHOUT:
        print(f"no more than {WITHOUT} may have no verdict: 'make mutate SET=1' tries them")
    return 1 if stale or share < LEAST or len(judged - known) > WITHOUT else 0
