# SPDX-License-Identifier: GPL-2.0
"""Which mutants there are, and which of them a run tries.

Most mutants are made from the source (mechanical.py). What mechanical.py cannot make is written
by hand: historic bugs, and defects of order, barriers, locks, wake-ups and tables. The lists of
those, mutants/FOLDER.list, consist of blocks:

    mutant ROOM/NAME    of ROOM.c, in whatever folder below drivers/kvnet
    bug WORDS           the historic bug that it brings back
    file NAME           of this file instead
    - what stands there; spaces and line ends do not matter
    + what stands there instead; nothing without this line

mutants/bugs names the mechanical mutants that bring a historic bug back, and the bug.

Those by hand, those that bring a bug back and a sample of the others, which their names decide,
are the set that is judged (verdicts.py): a change asks for verdicts on the few that it makes.
"""
import glob
import os
import re
import subprocess
import sys
import zlib

from . import mechanical
from .source import BUGS, FOLDER, TOP, read_table

# one in so many mechanical mutants is judged
SAMPLED = 32


class Unknown(Exception):
    """What the caller has named is not there."""


class HandMade:
    """A mutant that is written by hand."""
    def __init__(self, name):
        self.room = name.partition("/")[0]
        self.file = f"{self.room}.c"
        self.name, self.function, self.bug = name, "", ""
        self.old, self.new, self.where = [], [], ""

    def changes_mask(self):
        return "&" in "".join(self.old)

    def change(self, text):
        """Start, end and the new text."""
        words = [re.escape(word) for word in " ".join(self.old).split()]
        found = list(re.finditer(r"\s+".join(words), text)) if words else []
        if len(found) != 1:
            raise ValueError(f"is in {self.file} {len(found)} times, not once")
        new = "\n".join(self.new)
        # an empty statement stays where the body of an if or a loop was
        if not self.new and self.old[-1].endswith(";") and \
                not self.old[0].startswith(("else", "case")):
            new = ";"
        if found[0].group() == new:
            raise ValueError("changes nothing")
        return found[0].start(), found[0].end(), new


class Generated:
    """A mutant that is made from the source."""
    room = ""

    def __init__(self, file, made, text, bug=""):
        self.bug = bug
        self.file, self.name, self.function = file, made.name, made.function
        self.start, self.end, self.new = made.start, made.end, made.new
        self.line = text.count("\n", 0, made.start) + 1
        self.old = text[made.start:made.end]

    def changes_mask(self):
        return "&" in self.old

    def change(self, _):
        return self.start, self.end, self.new


def parse(path):
    current, mutants = None, []
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    for number, line in enumerate(lines, 1):
        key, _, rest = line.partition(" ")
        where = f"{path}:{number}"
        if not line.strip():
            current = None
        elif key == "#":
            continue
        elif key == "mutant" and "/" in rest:
            current = HandMade(rest)
            current.where = where
            mutants.append(current)
        elif key == "file" and current:
            current.file = rest
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
    """A function whose name stands in several files is called by its file, too."""
    files = [file for file in source.paths if file not in mechanical.NO_CODE]
    made = {file: mechanical.functions(source.text(file)) for file in files}
    seen, mutants, bugs = {}, [], read_table(BUGS)
    for file in files:
        for function in made[file]:
            seen.setdefault(function.name, set()).add(file)
    for file in files:
        for function in made[file]:
            if len(seen[function.name]) > 1:
                function.name = f"{os.path.splitext(file)[0]}.{function.name}"
        text = source.text(file)
        mutants += [Generated(file, m, text, bugs.get(m.name, ""))
                    for m in mechanical.generate(text, made[file])]
    return mutants


def everything(source):
    return by_hand() + generated(source)


### which of them

def judged(mutants):
    return [m for m in mutants
            if m.room or m.bug or zlib.crc32(m.name.encode()) % SAMPLED == 0]


def judged_and_all(mutants):
    """Their names."""
    return {m.name for m in judged(mutants)}, {m.name for m in mutants}


def chosen(mutants, names, source):
    """In the order of the names; all without a name. Unknown if a name chooses none."""
    if not names:
        return mutants
    found, missing = [], set(names)
    for m in mutants:
        path = source.relative(m.file)
        mine = {m.name, m.file, path, f"drivers/kvnet/{path}", os.path.splitext(m.file)[0],
                m.room, m.function}
        if m.bug:
            mine |= {"bugs", m.bug.split(":")[0]}
        missing -= mine
        first = next((i for i, name in enumerate(names) if name in mine), None)
        if first is not None:
            found.append((first, m))
    if missing:
        raise Unknown(f"no file, function, bug or mutant is called '{sorted(missing)[0]}'; "
                      '"scripts/mutants.py list" names the mutants')
    return [m for _, m in sorted(found, key=lambda pair: pair[0])]


def contents(function):
    words = (t.text for t in function.toks[function.first:function.last + 1])
    return function.name, mechanical.normal(words)


def changed(mutants, source, ref):
    """The mutants of functions that the other commit does not have like that; outside of any
    function, those of a file that it does not have like that."""
    def git(*args):
        done = subprocess.run(["git", "-C", TOP, *args], check=False, capture_output=True, text=True)
        if done.returncode:
            raise Unknown(f"CHANGED={ref}: git says: {done.stderr.strip()}")
        return done.stdout

    paths = git("ls-tree", "-r", "--name-only", ref, "drivers/kvnet").split()
    texts = [git("show", f"{ref}:{path}") for path in paths if path.endswith((".c", ".h"))]
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
