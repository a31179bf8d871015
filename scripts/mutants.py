#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The mutants of drivers/kvnet: what there is, and how to make one.

    mutants.py check                does each that is made by hand apply, in exactly one place?
    mutants.py generate FILE...|all     the mechanical ones: name, line, what becomes what
    mutants.py list [NAME]...       in this order, one line each: its name, file below drivers/kvnet,
                                    tests, bug, and why it is equivalent, between tabs
    mutants.py apply NAME TREE      changes that one file below TREE
    mutants.py record < OUTPUT      notes the verdicts in what mutate.sh has said
    mutants.py killers              how many does tier one kill? Fails below 95 %

A NAME is a file (with or without a folder or ".c": then with its header), a function, a mutant, a
list of those made by hand, a BUG, or "bugs". For list, SAMPLE=N takes N by chance, of each file its
share (SEED, or the date), CHANGED=REF those of functions that REF has not like that; TIER=1
leaves tests of tier one alone.

Most mutants are made from the source (mutants/mechanical.py). Those that it cannot make are
written by hand: historic bugs, and what is about order, barriers, locks, who wakes whom, tables, or
another meaning. A list of them, mutants/ROOM.list, is made of blocks:

    file NAME           in whatever folder below drivers/kvnet; ROOM.c if nothing is said

    mutant NAME
    bug WORDS           the historic bug that it brings back
    file NAME           of this one alone
    tests WORD...       what should notice, if it is not the file's tests
    - what stands there; spaces and line ends do not matter
    + what stands there instead; nothing if there is no such line

mutants/tests has for each file the tests that should notice. A test is unit:NAME, uml:NAME or
uml:NAME@VARIANT (packed, kthread, calls; smp: with two CPUs; failing: of the module whose calls
fail; smp_failing: both), or nospec:FUNCTION, one of nospec.list.

mutants/verdicts has what is known of a mutant, a line each, its name and: the test that failed, as
mutate.sh has seen it, "unit:TEST case", "uml:VARIANT TEST.case", "nospec:FUNCTION"; "-" if none
did; "not built"; or, by hand, "equivalent: " and why no test can notice.
"""
import datetime
import functools
import glob
import os
import random
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(TOP, "scripts", "mutants")
VERDICTS = os.path.join(FOLDER, "verdicts")
TESTS = os.path.join(FOLDER, "tests")
sys.path.insert(0, FOLDER)
import mechanical  # noqa: E402  pylint: disable=wrong-import-position
# of the mutants that have been tried, in per cent, that tier one has to kill
LEAST = 95
VARIANTS = {"packed", "kthread", "calls", "smp", "failing", "smp_failing"}


class Source:
    """The files of drivers/kvnet in a tree, by their names without folders."""
    def __init__(self, tree):
        self.driver = os.path.join(tree, "drivers", "kvnet")
        self.paths, self.texts = {}, {}
        for path in sorted(glob.glob(os.path.join(self.driver, "**", "*.[ch]"), recursive=True)):
            self.paths.setdefault(os.path.basename(path), []).append(path)

    def path(self, file):
        found = self.paths.get(file, [])
        if len(found) != 1:
            raise ValueError(f"needs one {file} below {self.driver}, there are {len(found)}")
        return found[0]

    def text(self, file):
        if file not in self.texts:
            with open(self.path(file), encoding="utf-8") as lines:
                self.texts[file] = lines.read()
        return self.texts[file]


class Mutant:
    """One that is made by hand."""
    def __init__(self, room, name, file):
        self.room, self.file, self.tests = room, file, []
        self.name, self.bug = f"{room}/{name}", ""
        self.old, self.new = [], []

    def change(self, text):
        """Start, end and what is there instead."""
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
        return found[0].start(), found[0].end(), new


class Generated:
    """One that is made from the source."""
    room, bug, tests = "", "", []

    def __init__(self, file, made, function, text):
        self.file, self.made, self.name, self.function = file, made, made.name, function
        self.line = text.count("\n", 0, made.start) + 1
        self.old = text[made.start:made.end]

    def change(self, _):
        return self.made.start, self.made.end, self.made.new


def parse(path):
    room = os.path.basename(path)[:-len(".list")]
    common, current, mutants = f"{room}.c", None, []
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        key, _, rest = line.partition(" ")
        where = f"{path}:{number}"
        if not line.strip():
            current = None
        elif key == "#":
            continue
        elif key == "mutant":
            current = Mutant(room, rest, common)
            current.where = where
            mutants.append(current)
        elif key == "file" and current:
            current.file = rest
        elif key == "file":
            common = rest
        elif current and key == "tests":
            current.tests = rest.split()
        elif current and key == "bug":
            current.bug = (current.bug + " " + rest).strip()
        elif current and key == "-":
            current.old.append(rest)
        elif current and key == "+":
            current.new.append(rest)
        else:
            sys.exit(f"{where}: what is '{line}'?")
    return mutants


def by_hand():
    mutants = []
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.list"))):
        mutants += parse(path)
    return mutants


def generated(source):
    """A function whose name several files have is called by its file, too."""
    files = [file for file in source.paths if file not in mechanical.NO_CODE]
    made = {file: mechanical.functions(source.text(file)) for file in files}
    seen, mutants = {}, []
    for file in files:
        for function in made[file]:
            seen.setdefault(function.name, set()).add(file)
    for file in files:
        for function in made[file]:
            if len(seen[function.name]) > 1:
                function.name = f"{os.path.splitext(file)[0]}.{function.name}"
        text = source.text(file)
        for m in mechanical.generate(text, made[file]):
            mutants.append(Generated(file, m, m.function, text))
    return mutants


def read_table(path):
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as lines:
        return dict(line.rstrip("\n").split("\t", 1) for line in lines if line.strip() and not line.startswith("#"))


def file_tests():
    return {file: tests.split() for file, tests in read_table(TESTS).items()}


def tests_of_file(file, table):
    """A header that has no line has its C file's."""
    return table.get(file) or table.get(os.path.splitext(file)[0] + ".c", [])


@functools.cache
def test_problem(test):
    kind, _, name = test.partition(":")
    name, _, variant = name.partition("@")
    if kind == "nospec":
        with open(os.path.join(TOP, "scripts", "nospec.list"), encoding="utf-8") as lines:
            known = [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]
        return None if name in known else f"nospec.list has no '{name}'"
    if kind not in ("unit", "uml") or (variant and (kind != "uml" or variant not in VARIANTS)):
        return f"'{test}' is no kind of test"
    base = os.path.join(TOP, "selftests", "unit" if kind == "unit" else "uapi", "**", name)
    found = [end for end in ("_test.c", ".c")[:1 + (kind == "unit")] if glob.glob(base + end, recursive=True)]
    return None if found else f"there is no test '{test}'"


def check():
    source, table = Source(TOP), file_tests()
    hand, made, bad, names = by_hand(), generated(source), [], set()
    for m in hand:
        problems = [p for p in map(test_problem, m.tests) if p]
        if m.name in names:
            problems.append("is there twice")
        names.add(m.name)
        try:
            m.change(source.text(m.file))
        except (OSError, ValueError) as error:
            problems.append(str(error))
        bad += [f"{os.path.relpath(m.where, TOP)}: {m.name} {p}" for p in problems]
    for file, tests in table.items():
        problems = [p for p in map(test_problem, tests) if p]
        if file not in source.paths:
            problems.append("there is no such file")
        bad += [f"scripts/mutants/tests: {file}: {p}" for p in problems]
    for file in sorted({m.file for m in hand + made if not m.tests}):
        if not tests_of_file(file, table):
            bad.append(f"scripts/mutants/tests: which tests are those of {file}?")
    print("\n".join(bad + [f"{len(hand)} mutants by hand, {len(made)} generated, {len(bad)} problems"]))
    return 1 if bad or not hand or not made else 0


def generate(names):
    source = Source(TOP)
    files = {os.path.basename(name) for name in names}
    for m in generated(source):
        if names == ["all"] or m.file in files:
            old, new = (" ".join(words.split()) for words in (m.old, m.made.new))
            print(f"{m.name}\t{m.file}:{m.line}\t{old}\t=> {new}")
    return 0


### which of them

def chosen(mutants, names, source):
    """In the order of the names."""
    def wanted(m):
        path = os.path.relpath(source.path(m.file), source.driver)
        mine = {m.name, m.file, path, f"drivers/kvnet/{path}", os.path.splitext(m.file)[0], m.room, getattr(m, "function", "")}
        if m.bug:
            mine |= {"bugs", m.bug.split(":")[0]}
        return next((i for i, name in enumerate(names) if name in mine), None)

    if not names:
        return mutants
    found = [(wanted(m), m) for m in mutants]
    return [m for i, m in sorted((pair for pair in found if pair[0] is not None), key=lambda pair: pair[0])]


def contents(function):
    return function.name, mechanical.normal(t.text for t in function.toks[function.first:function.last + 1])


def changed(mutants, source, ref):
    """Those in functions that the other commit has not; outside of any, those of a file that it has not."""
    def git(*args):
        return subprocess.run(["git", "-C", TOP, *args], check=True, capture_output=True, text=True).stdout

    texts = [git("show", f"{ref}:{path}") for path in git("ls-tree", "-r", "--name-only", ref, "drivers/kvnet").split()
             if path.endswith((".c", ".h"))]
    before = {contents(f) for text in texts for f in mechanical.functions(text)}
    functions = {}
    for m in mutants:
        text = source.text(m.file)
        if m.file not in functions:
            functions[m.file] = mechanical.functions(text)
        start = m.change(text)[0]
        inside = next((f for f in functions[m.file] if f.start <= start < f.end), None)
        if contents(inside) not in before if inside else text not in texts:
            yield m


def sample(mutants, number, seed):
    """Of each file its share, every so many-th of what is shuffled."""
    chance, files, keyed = random.Random(seed), {}, []
    for m in mutants:
        files.setdefault(m.file, []).append(m)
    for file in sorted(files):
        chance.shuffle(files[file])
        begin = chance.random()
        keyed += [((i + begin) / len(files[file]), m.name, m) for i, m in enumerate(files[file])]
    return [m for _, _, m in sorted(keyed, key=lambda key: key[:2])[:number]]


### their tests

def tier_one():
    """What tier one runs in User-Mode Linux, as "VARIANT TEST"; all of unit and nospec is in it."""
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


class Tests:
    """Those of a mutant: first the one that has killed it before, then those of its file (or its
    own), in the order of how many mutants of its function, and of its file, each has killed. Where
    no "&" changes, no mask does."""
    def __init__(self, mutants, verdicts):
        self.verdicts, self.table, self.kills = verdicts, file_tests(), {}
        self.first = tier_one() if os.environ.get("TIER") == "1" else None
        for m in mutants:
            for key in (m.file, getattr(m, "function", None)):
                where = (key, test_of(verdicts.get(m.name, "-")))
                self.kills[where] = self.kills.get(where, 0) + 1

    def of(self, m):
        killer = test_of(self.verdicts.get(m.name, "-"))
        tests = m.tests or tests_of_file(m.file, self.table)
        function = getattr(m, "function", "")
        tests = sorted(tests, key=lambda test: (-self.kills.get((function, test), 0), -self.kills.get((m.file, test), 0)))
        if not m.tests and "&" not in "".join(m.old):
            tests = [test for test in tests if not test.startswith("nospec:")]
        if killer and not test_problem(killer):
            tests = [killer] + [test for test in tests if test != killer]
        return [test for test in tests if self.first is None or in_tier_one(test, self.first)]


def show(names):
    source, verdicts, env = Source(TOP), read_table(VERDICTS), os.environ
    everything = by_hand() + generated(source)
    tests = Tests(everything, verdicts)
    mutants = chosen(everything, names, source)
    if env.get("CHANGED"):
        mutants = list(changed(mutants, source, env["CHANGED"]))
    if env.get("SAMPLE"):
        seed = env.get("SEED") or datetime.date.today().isoformat()
        print(f"mutants.py: SEED={seed}", file=sys.stderr)
        known = ("equivalent", "not built")
        mutants = sample([m for m in mutants if not verdicts.get(m.name, "").startswith(known)], int(env["SAMPLE"]), seed)
    for m in mutants:
        why = verdicts.get(m.name, "").removeprefix("equivalent: ") if verdicts.get(m.name, "").startswith("equivalent: ") else ""
        print("\t".join((m.name, os.path.relpath(source.path(m.file), source.driver), " ".join(tests.of(m)) or "-", m.bug or "-", why or "-")))
    if not mutants:
        print(f"mutants.py: there is no such mutant: {' '.join(names)} {env.get('CHANGED', '')}", file=sys.stderr)
    return 0 if mutants else 1


def make(name, tree):
    source = Source(tree)
    for m in by_hand() if "/" in name and ":" not in name else generated(source):
        if m.name == name:
            text = source.text(m.file)
            start, end, new = m.change(text)
            with open(source.path(m.file), "w", encoding="utf-8") as out:
                out.write(text[:start] + new + text[end:])
            return 0
    print(f"mutants.py: no mutant is called {name}", file=sys.stderr)
    return 1


### what is known of them

def record(lines):
    """What is not a mutant any more goes."""
    verdicts, first = read_table(VERDICTS), tier_one()
    for line in lines:
        match = re.match(r"(killed|survived|not built) +(\S+) \(\d+ s\)(?:: (.*?))?(?: \[[^\]]*\])?$", line)
        known = verdicts.get(match[2], "-") if match else ""
        if not match or known.startswith("equivalent"):
            continue
        if match[1] == "killed":
            verdicts[match[2]] = match[3].strip()
        elif match[1] == "not built":
            verdicts[match[2]] = "not built"
        elif os.environ.get("TIER") != "1" or known in ("-", "not built") or in_tier_one(test_of(known), first):
            verdicts[match[2]] = "-"
    names = {m.name for m in by_hand() + generated(Source(TOP))}
    with open(VERDICTS, "w", encoding="utf-8") as out:
        print("# SPDX-License-Identifier: GPL-2.0", file=out)
        print("# by scripts/mutate.sh: each mutant that was tried, and the test that kills it; see mutants.py", file=out)
        for name in sorted(verdicts.keys() & names):
            print(f"{name}\t{verdicts[name]}", file=out)
    return 0


def show_killers():
    """That of one made by hand something is known, and it is not there, is an error."""
    hand, verdicts, first = {m.name for m in by_hand()}, read_table(VERDICTS), tier_one()
    names = hand | {m.name for m in generated(Source(TOP))}
    stale = sorted(name for name in verdicts.keys() - names if ":" not in name)
    for name in stale:
        print(f"{name}: has a verdict and is no mutant ('mutants.py record < /dev/null' drops it)")
    known = {name: verdicts[name] for name in names & verdicts.keys() if verdicts[name] != "not built"}
    tried = {name for name in known if not known[name].startswith("equivalent")}
    killed = {name for name in tried if in_tier_one(test_of(known[name]), first)}
    for name in sorted(tried - killed):
        print(f"# not in tier one: {name}: {known[name]}")
    share = 100 * len(killed) / len(tried) if tried else 0
    print(f"{len(names)} mutants ({len(hand)} by hand), of which {len(tried)} have been tried: tier one kills {len(killed)} "
          f"({share:.1f} %); {len(known) - len(tried)} more are equivalent")
    return 1 if stale or share < LEAST else 0


def main(argv):
    verb, rest = argv[1] if argv[1:] else "", argv[2:]
    if verb == "check" and not rest:
        return check()
    if verb == "killers" and not rest:
        return show_killers()
    if verb == "record" and not rest:
        return record(sys.stdin)
    if verb == "generate" and rest:
        return generate(rest)
    if verb == "list":
        return show(rest)
    if verb == "apply" and len(rest) == 2:
        try:
            return make(*rest)
        except (OSError, ValueError) as error:
            print(f"mutants.py: {rest[0]} {error}", file=sys.stderr)
            return 1
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv))
