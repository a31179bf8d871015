# SPDX-License-Identifier: GPL-2.0
"""The verbs of scripts/mutants.py."""
import os
import re
import signal
import sys

from . import lists, mechanical, verdicts
from .run import try_all
from .source import BUGS, TOP, VERDICTS, Source, read_table

USAGE = """\
The mutants of drivers/kvnet: which there are, how to make one, and which tests notice.

    mutants.py try [NAME]...            tries them ("make mutate"; see mutation/run.py)
    mutants.py check                    does each made by hand apply, in exactly one place?
    mutants.py generate FILE...|all     the mechanical ones: name, line, what becomes what
    mutants.py list [NAME]...           in this order, one line each: its name, file below
                                        drivers/kvnet, tests, bug, and why it is equivalent,
                                        between tabs
    mutants.py apply NAME TREE          changes that one file below TREE
    mutants.py record < OUTPUT          notes the verdicts in what "try" has said, of judged ones
    mutants.py killers                  how many of the judged ones does tier one kill? Fails below
                                        95 %, and if too many have no verdict

A NAME is a file (with or without a folder or ".c": then with its header), a function, a mutant, the
ROOM of those made by hand, a BUG, or "bugs". "list" and "try" take CHANGED=REF, SET=1 and TIER=1
from the environment.
"""


def check():
    source, table = Source(TOP), verdicts.file_tests()
    hand, made, bad, names = lists.by_hand(), lists.generated(source), [], set()
    for m in hand:
        problems = []
        if m.name in names:
            problems.append("is there twice")
        names.add(m.name)
        try:
            m.change(source.text(m.file))
        except (OSError, ValueError) as error:
            problems.append(str(error))
        bad += [f"{os.path.relpath(m.where, TOP)}: {m.name} {p}" for p in problems]
    for file, tests in table.items():
        problems = [p for p in map(verdicts.test_problem, tests) if p]
        if file not in source.paths:
            problems.append("there is no such file")
        bad += [f"scripts/mutants/tests: {file}: {p}" for p in problems]
    for file in sorted({m.file for m in hand + made}):
        if not verdicts.tests_of_file(file, table):
            bad.append(f"scripts/mutants/tests: which tests are those of {file}?")
    bad += [f"scripts/mutants/bugs: {name}: there is no such mutant"
            for name in read_table(BUGS).keys() - {m.name for m in made}]
    missing = {name: verdicts.missing_case(said) for name, said in read_table(VERDICTS).items()}
    bad += [f"scripts/mutants/verdicts: {name}: there is no {case}"
            for name, case in missing.items() if case]
    print("\n".join(bad + [f"{len(hand)} mutants by hand, {len(made)} generated, "
                           f"{len(bad)} problems"]))
    return 1 if bad or not hand or not made else 0


def generate(names):
    files = {os.path.basename(name) for name in names}
    for m in lists.generated(Source(TOP)):
        if names == ["all"] or m.file in files:
            old, new = (" ".join(words.split()) for words in (m.old, m.new))
            print(f"{m.name}\t{m.file}:{m.line}\t{old}\t=> {new}")
    return 0


def check_options():
    for name, form in ("LANES", "[1-9][0-9]*"), ("MINUTES", r"[0-9]*\.?[0-9]+"):
        value = os.environ.get(name)
        if value and not re.fullmatch(form, value):
            raise lists.Unknown(f"{name} is a number above 0, not '{value}'")


def selected(everything, names, source, known):
    """Which mutants these names and the environment choose."""
    env = os.environ
    check_options()
    mutants = lists.chosen(everything, names, source)
    if env.get("CHANGED"):
        mutants = list(lists.changed(mutants, source, env["CHANGED"]))
    if env.get("SET"):
        mutants = [m for m in lists.judged(mutants) if m.name not in known]
    if not mutants:
        print("mutants.py: there is none: all have a verdict, or no function has changed",
              file=sys.stderr)
    return mutants


def show(names):
    source, known = Source(TOP), read_table(VERDICTS)
    everything = lists.everything(source)
    first = verdicts.tier_one() if os.environ.get("TIER") == "1" else None
    order = verdicts.Order(everything, known, first)
    mutants = selected(everything, names, source, known)
    for m in mutants:
        verdict = known.get(m.name, "")
        why = verdict.removeprefix("equivalent: ") if verdict.startswith("equivalent: ") else ""
        print("\t".join((m.name, source.relative(m.file), " ".join(order.of(m)) or "-",
                         m.bug or "-", why or "-")))
    return 0 if mutants else 1


def make(name, tree):
    source = Source(tree)
    for m in lists.by_hand() if "/" in name and ":" not in name else lists.generated(source):
        if m.name == name:
            text = source.text(m.file)
            start, end, new = m.change(text)
            with open(source.path(m.file), "w", encoding="utf-8") as out:
                out.write(text[:start] + new + text[end:])
            return 0
    print(f"mutants.py: no mutant is called {name}", file=sys.stderr)
    return 1


def record(lines):
    verdicts.record(lines, *lists.judged_and_all(lists.everything(Source(TOP))))
    return 0


def killers():
    return verdicts.show_killers(*lists.judged_and_all(lists.everything(Source(TOP))))


def main(argv):
    try:
        return run(argv)
    except lists.Unknown as error:
        print(f"mutants.py: {error}", file=sys.stderr)
        return 1


def run(argv):
    verb, rest = argv[1] if argv[1:] else "", argv[2:]
    alone = {"check": check, "killers": killers, "record": lambda: record(sys.stdin)}
    if verb in alone and not rest:
        return alone[verb]()
    if verb in ("generate", "list"):
        # the reader may have enough: "mutants.py list | head"
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if verb == "generate" and rest:
        return generate(rest)
    if verb == "list":
        return show(rest)
    if verb == "try":
        return check() or try_all(rest, selected)
    if verb == "apply" and len(rest) == 2:
        try:
            return make(*rest)
        except (OSError, ValueError) as error:
            print(f"mutants.py: {rest[0]} {error}", file=sys.stderr)
            return 1
    print(USAGE, file=sys.stderr)
    return 2
