#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The mutants of scripts/mutants: what there is, and how to make one.

    mutants.py check                does each apply, in exactly one place?
    mutants.py list [ROOM|ROOM/NAME|BUG|bugs]...    in this order, one line each: its name,
                                    file below drivers/kvnet, tests, bug, and why it is
                                    equivalent, between tabs
    mutants.py apply ROOM/NAME TREE     changes that one file below TREE
    mutants.py record < VERDICTS    notes the killers in what mutate.sh has said
    mutants.py killers              how many does tier one kill? Fails below 95 %

Killers are in scripts/mutants/killers, a line for each mutant that has been tried: its name, and
the test that failed, as mutate.sh has seen it: "unit:TEST case", "uml:VARIANT TEST.case",
"nospec:FUNCTION"; or "-" if none of tier one did.

A list, ROOM.list, is made of blocks:

    file NAME           in whatever folder below drivers/kvnet; ROOM.c if nothing is said
    tests WORD...       what should notice those that follow

    mutant NAME
    bug WORDS           the historic bug that it brings back
    file, tests         of this one alone
    equivalent WORDS    why no test can notice
    - what stands there; spaces and line ends do not matter
    + what stands there instead; nothing if there is no such line

A test is unit:NAME, uml:NAME or uml:NAME@VARIANT (packed, kthread, calls; smp:
with two CPUs; failing: of the module whose calls fail; smp_failing: both), or
nospec:FUNCTION, one of nospec.list.
"""
import glob
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KILLERS = os.path.join(TOP, "scripts", "mutants", "killers")
# of the mutants, in per cent, that tier one has to kill
LEAST = 95
VARIANTS = {"packed", "kthread", "calls", "smp", "failing", "smp_failing"}


class Mutant:
    def __init__(self, room, name, file, tests):
        self.room, self.name, self.file, self.tests = room, name, file, tests
        self.bug, self.equivalent = "", ""
        self.old, self.new = [], []

    @property
    def full(self):
        return f"{self.room}/{self.name}"

    def source(self, tree):
        driver = os.path.join(tree, "drivers", "kvnet")
        found = glob.glob(os.path.join(driver, "**", self.file), recursive=True)
        if len(found) != 1:
            raise ValueError(f"needs one {self.file} below {driver}, there are {len(found)}")
        return found[0]

    def apply(self, text):
        words = [re.escape(word) for word in " ".join(self.old).split()]
        found = list(re.finditer(r"\s+".join(words), text)) if words else []
        if len(found) != 1:
            raise ValueError(f"is in {self.file} {len(found)} times, not once")
        new = "\n".join(self.new)
        # what was the body of an if or a loop leaves an empty one
        if not self.new and self.old[-1].endswith(";") and not self.old[0].startswith(("else", "case")):
            new = ";"
        if found[0].group() == new:
            raise ValueError("changes nothing")
        return text[:found[0].start()] + new + text[found[0].end():]

    def wanted(self, names):
        """The first of the names that means it, or None; 0 if there are none."""
        mine = {self.room, self.full} | ({"bugs", self.bug.split(":")[0]} if self.bug else set())
        return next((i for i, name in enumerate(names) if name in mine), None) if names else 0


def parse(path):
    room = os.path.basename(path)[:-len(".list")]
    common = {"file": f"{room}.c", "tests": []}
    current, mutants = None, []
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        key, _, rest = line.partition(" ")
        where = f"{path}:{number}"
        if not line.strip():
            current = None
        elif key == "#":
            continue
        elif key == "mutant":
            current = Mutant(room, rest, common["file"], common["tests"])
            current.where = where
            mutants.append(current)
        elif key == "file" and current:
            current.file = rest
        elif key == "tests" and current:
            current.tests = rest.split()
        elif key == "file":
            common["file"] = rest
        elif key == "tests":
            common["tests"] = rest.split()
        elif current and key in ("bug", "equivalent"):
            setattr(current, key, (getattr(current, key) + " " + rest).strip())
        elif current and key == "-":
            current.old.append(rest)
        elif current and key == "+":
            current.new.append(rest)
        else:
            sys.exit(f"{where}: what is '{line}'?")
    return mutants


def load():
    mutants = []
    for path in sorted(glob.glob(os.path.join(TOP, "scripts", "mutants", "*.list"))):
        mutants += parse(path)
    return mutants


def test_problem(test):
    kind, _, name = test.partition(":")
    name, _, variant = name.partition("@")
    if kind == "nospec":
        with open(os.path.join(TOP, "scripts", "nospec.list"), encoding="utf-8") as lines:
            known = [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]
        return None if name in known else f"nospec.list has no '{name}'"
    if kind not in ("unit", "uml") or (variant and (kind != "uml" or variant not in VARIANTS)):
        return f"'{test}' is no kind of test"
    folder = "unit" if kind == "unit" else "uapi"
    base = os.path.join(TOP, "selftests", folder, name)
    if not os.path.exists(base + "_test.c") and not (kind == "unit" and os.path.exists(base + ".c")):
        return f"there is no test '{test}'"
    return None


def check():
    bad, names, texts = 0, set(), {}
    mutants = load()
    for m in mutants:
        problems = [p for p in map(test_problem, m.tests) if p]
        if not m.tests:
            problems.append("has no tests")
        if m.full in names:
            problems.append("is there twice")
        names.add(m.full)
        try:
            path = m.source(TOP)
            if path not in texts:
                texts[path] = open(path, encoding="utf-8").read()
            m.apply(texts[path])
        except (OSError, ValueError) as error:
            problems.append(str(error))
        for problem in problems:
            print(f"{os.path.relpath(m.where, TOP)}: {m.full} {problem}")
        bad += bool(problems)
    rooms = len({m.room for m in mutants})
    print(f"{len(mutants)} mutants of {rooms} rooms, {bad} bad")
    return 1 if bad or not mutants else 0


def show(names):
    mutants = sorted((m for m in load() if m.wanted(names) is not None), key=lambda m: m.wanted(names))
    driver = os.path.join(TOP, "drivers", "kvnet")
    for m in mutants:
        print("\t".join((m.full, os.path.relpath(m.source(TOP), driver), " ".join(m.tests), m.bug or "-", m.equivalent or "-")))
    if not mutants:
        print(f"mutants.py: no mutant is called {' '.join(names)}", file=sys.stderr)
    return 0 if mutants else 1


def make(name, tree):
    for m in load():
        if m.full == name:
            path = m.source(tree)
            text = m.apply(open(path, encoding="utf-8").read())
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
            return 0
    print(f"mutants.py: no mutant is called {name}", file=sys.stderr)
    return 1


def tier_one():
    """What tier one runs in User-Mode Linux, as "VARIANT TEST"; all of unit and nospec is in it."""
    text = subprocess.run([os.path.join(TOP, "scripts", "test.sh"), "list-first"],
                          check=True, capture_output=True, text=True).stdout
    return set(text.splitlines())


def in_tier_one(killer, tests):
    if killer.startswith(("unit:", "nospec:")):
        return True
    match = re.match(r"uml:(\S+) (\w+)\.", killer)
    return bool(match) and f"{match[1]} {match[2]}" in tests


def read_killers():
    if not os.path.exists(KILLERS):
        return {}
    with open(KILLERS, encoding="utf-8") as lines:
        return dict(line.rstrip("\n").split("\t", 1) for line in lines if not line.startswith("#"))


def record(lines):
    """What is not a mutant any more goes."""
    killers = read_killers()
    for line in lines:
        match = re.match(r"(killed|survived) +(\S+) \(\d+ s\)(?:: (.*?))?(?: \[[^\]]*\])?$", line)
        if match and match[1] == "killed":
            killers[match[2]] = match[3].strip()
        elif match and os.environ.get("TIER") == "1" and killers.get(match[2], "-").startswith(("-", "uml:split")):
            killers[match[2]] = "-"
    names = {m.full for m in load()}
    with open(KILLERS, "w", encoding="utf-8") as out:
        print("# SPDX-License-Identifier: GPL-2.0", file=out)
        print("# written by scripts/mutate.sh: each mutant and the test that kills it", file=out)
        for name in sorted(killers.keys() & names):
            print(f"{name}\t{killers[name]}", file=out)
    return 0


def show_killers():
    mutants, killers, tests = load(), read_killers(), tier_one()
    equivalent = {m.full for m in mutants if m.equivalent}
    names = {m.full for m in mutants} - equivalent
    stale = sorted(killers.keys() - names - equivalent)
    for name in stale:
        print(f"{name}: has a killer and is no mutant")
    tried = names & killers.keys()
    first = {name for name in tried if in_tier_one(killers[name], tests)}
    for name in sorted(tried - first):
        print(f"# not in tier one: {name}: {killers[name]}")
    share = 100 * len(first) / len(tried) if tried else 0
    print(f"{len(names)} mutants, of which {len(tried)} have been tried: tier one kills {len(first)} ({share:.1f} %); "
          f"{len(equivalent)} more are equivalent")
    return 1 if stale or share < LEAST else 0


def main(argv):
    if argv[1:] == ["check"]:
        return check()
    if argv[1:] == ["killers"]:
        return show_killers()
    if argv[1:] == ["record"]:
        return record(sys.stdin)
    if argv[1:2] == ["list"]:
        return show(argv[2:])
    if argv[1:2] == ["apply"] and len(argv) == 4:
        try:
            return make(argv[2], argv[3])
        except (OSError, ValueError) as error:
            print(f"mutants.py: {argv[2]} {error}", file=sys.stderr)
            return 1
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv))
