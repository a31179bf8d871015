#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Does object code mask each index that a driver has a say in before it uses it?

A check that is a branch holds back no speculative load (Spectre v1). This follows
the registers of a function of x86-64 code over all its paths: what is read with 16
bits, from memory that a loaded pointer leads to, from an array on the stack, or comes
back from a call, may be the driver's. "and" with something that is not, or with a small
number, makes it harmless; so does a conditional move of an unsigned minimum, which is no
branch. If it becomes part of an address before, that is a finding.

    check-nospec.py FOLDER [FUNCTION...]    of nospec.list, all or these, in the module built there
    check-nospec.py --self-check            does it find what check-nospec.c leaves open?

Prints the findings; status 1 with any, 2 if it could not look.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# as the kernel is compiled
CFLAGS = ["-O2", "-fno-strict-aliasing", "-fno-pie", "-mcmodel=kernel", "-mno-red-zone", "-mgeneral-regs-only",
          "-fno-stack-protector", "-fcf-protection=none", "-fno-asynchronous-unwind-tables"]

# what a register holds, as bits that are joined where paths meet
DRIVER = 1      # may be the driver's
LOADED = 2      # was loaded: where it points to, the driver may write
STACK = 4       # an address of the stack

NAMES = {}
for name in ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp"):
    NAMES.update({"r" + name: name, "e" + name: name, name: name})
for name in "abcd":
    NAMES.update({name + "l": name + "x", name + "h": name + "x"})
for name in ("si", "di", "bp", "sp"):
    NAMES[name + "l"] = name
for number in range(8, 16):
    for suffix in ("", "d", "w", "b"):
        NAMES[f"r{number}{suffix}"] = f"r{number}"

CALLER_SAVED = ("cx", "dx", "si", "di", "r8", "r9", "r10", "r11")
READ_ONLY = re.compile(r"(cmp|test|bt)[bwlq]?$|j|nop|push|endbr|lfence|mfence|sfence|ud2|int3|prefetch")
SMALL = 0x1000
WIDTH = {"b": 1, "w": 2, "l": 4, "q": 8}


def die(words):
    print(f"check-nospec.py: {words}", file=sys.stderr)
    sys.exit(2)


def output(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        die(done.stderr.strip())
    return done.stdout


def register(operand):
    return NAMES.get(operand[1:]) if operand.startswith("%") else None


def width_of(operand):
    name = operand[1:]
    if name.startswith("r") and name[-1] not in "dwb":
        return 8
    if name.startswith("e") or name.endswith("d"):
        return 4
    return 1 if name.endswith(("l", "h", "b")) else 2


class Function:
    def __init__(self, path, name, given):
        self.given = given
        text = output("objdump", "-dr", "--no-show-raw-insn", f"--disassemble={name}", path)
        line = re.compile(r"^\s*([0-9a-f]+):\s+(.*?)\s*(?:#.*)?$")
        self.code = [(int(m[1], 16), m[2]) for m in map(line.match, text.splitlines())
                     if m and not m[2].startswith("R_X86_64")]
        # a call's relocation is a byte behind its beginning
        calls = {int(m[1], 16) - 1: m[2] for m in re.finditer(r"([0-9a-f]+): R_X86_64_\w+\s+(\w+)", text)}
        self.gets = {at for at, to in calls.items() if to.startswith("__get_user_")}
        # the tracer's, which keeps all registers
        self.nothing = {at for at, to in calls.items() if to == "__fentry__"}
        if not self.code:
            die(f"no {name} in {path}")
        self.after = {a: b for (a, _), (b, _) in zip(self.code, self.code[1:])}
        self.text = dict(self.code)
        self.found = {}
        self.indexed = 0

    def run(self):
        start = self.code[0][0]
        states = {start: {"sp": STACK, **dict.fromkeys(self.given, DRIVER)}}
        work = [start]
        while work:
            at = work.pop()
            state = dict(states[at])
            for to in self.step(at, state):
                if to not in self.text:
                    continue
                old = states.get(to)
                new = state if old is None else self.join(old, state)
                if new != old:
                    states[to] = dict(new)
                    work.append(to)

    @staticmethod
    def join(a, b):
        # a place of the stack that only one path has written is not known
        both = {}
        for key in a.keys() | b.keys():
            missing = DRIVER if isinstance(key, tuple) else 0
            both[key] = a.get(key, missing) | b.get(key, missing)
        return both

    def address(self, at, state, operand):
        """What its registers hold, and the place if that is one of the stack's."""
        m = re.match(r"(?:%(\w+):)?(-?0x[0-9a-f]+)?\(?(?:%(\w+))?(?:,%(\w+)(?:,\d)?)?\)?$", operand)
        if not m or m[1] in ("gs", "fs"):
            return 0, None
        parts = [NAMES[r] for r in (m[3], m[4]) if r in NAMES]
        held = 0
        for part in parts:
            held |= state.get(part, 0)
        if held & DRIVER:
            self.found[at] = self.text[at]
        if m[4]:
            self.indexed += 1
        own = parts == ["sp"] or (parts == ["bp"] and held & STACK)
        return held, (parts[0], int(m[2] or "0", 16)) if own else None

    def load(self, at, state, operand, width):
        held, place = self.address(at, state, operand)
        if width <= 2:
            return DRIVER
        if place:
            return max((state.get((place[0], place[1] + i), DRIVER) for i in range(width)))
        if held & (LOADED | STACK):
            return DRIVER
        return LOADED if width == 8 else 0

    def store(self, at, state, operand, width, value):
        _, place = self.address(at, state, operand)
        if place:
            for i in range(width):
                state[(place[0], place[1] + i)] = value

    def step(self, at, state):
        """Changes the state by the instruction; returns where it may go on."""
        words = self.text[at].split(None, 1)
        while words[0] in ("rep", "repz", "repnz", "lock", "notrack", "bnd") and len(words) > 1:
            words = words[1].split(None, 1)
        op = words[0]
        rest = words[1] if len(words) > 1 else ""
        operands = [o.strip() for o in re.findall(r"(?:[^,(]|\([^)]*\))+", rest)]
        following = [self.after[at]] if at in self.after else []

        if op.startswith(("ret", "ud2")):
            return []
        if at in self.nothing:
            return following
        if op.startswith("call"):
            state.update(dict.fromkeys(CALLER_SAVED, 0), ax=DRIVER)
            # get_user() has its value in dx
            if at in self.gets:
                state["dx"] = DRIVER
            return following
        if op.startswith("jmp"):
            return self.target(rest)
        if op.startswith(("j", "loop")):
            return following + self.target(rest)
        self.data(at, state, op, operands)
        return following

    @staticmethod
    def target(rest):
        m = re.match(r"([0-9a-f]+) <", rest)
        return [int(m[1], 16)] if m else []

    def value(self, at, state, operand, width):
        if operand.startswith("$"):
            return 0
        name = register(operand)
        if name:
            return state.get(name, 0)
        return self.load(at, state, operand, width)

    def data(self, at, state, op, operands):
        if not operands or op.startswith(("nop", "endbr")):
            return
        last = operands[-1]
        to = register(last)
        width = next((width_of(o) for o in reversed(operands) if register(o)), WIDTH.get(op[-1], 8))
        if op.startswith("lea"):
            held = 0
            for part in re.findall(r"%(\w+)", operands[0]):
                held |= state.get(NAMES.get(part), 0)
            state[to] = held
            return
        if op.startswith(("movz", "movs")) and len(operands) == 2 and register(last):
            narrow = WIDTH.get(op[4:5], width)
            state[to] = self.value(at, state, operands[0], narrow)
            return
        # clear_user(), whose address is a user's
        if op.startswith("stos"):
            return
        if re.match(r"(movs|cmps)", op):
            for operand in operands:
                if "(" in operand:
                    self.address(at, state, operand.split(":")[-1])
            return
        if READ_ONLY.match(op) or op.startswith("pop"):
            for operand in operands:
                if "(" in operand:
                    self.address(at, state, operand)
            if op.startswith("pop") and to:
                state[to] = 0
            return

        values = [self.value(at, state, o, width) for o in operands[:-1]]
        if op.startswith("mov") or op.startswith("set"):
            new = values[0] if values else 0
        else:
            old = self.value(at, state, last, width)
            new = old
            for value in values:
                new |= value
            same = len(operands) == 2 and operands[0] == last
            if same and op.startswith(("xor", "sub", "sbb")):
                new = 0
            elif op.startswith("and"):
                new = self.masked(operands[0], values, old)
            elif op.startswith(("cmova", "cmovb")) and not values[0] & old & DRIVER:
                new &= ~DRIVER
        if to:
            state[to] = new
        elif "(" in last:
            # a constant may be the start of what a call will fill in
            if len(operands) > 1 and operands[0].startswith("$"):
                new = DRIVER
            self.store(at, state, last, width, new)

    @staticmethod
    def masked(mask, values, old):
        if mask.startswith("$"):
            return 0 if int(mask[1:], 16) < SMALL else old
        if not values[0] & DRIVER or not old & DRIVER:
            return (values[0] | old) & ~DRIVER
        return values[0] | old


def findings(path, name, given):
    function = Function(path, name, given)
    function.run()
    if not function.indexed:
        die(f"{name} has no indexed access: nothing to look at")
    return [f"{path}: {name}: {at:x}: {text}: an index of the driver's, not masked"
            for at, text in sorted(function.found.items())]


def wanted():
    """Of each function in the list its object and its registers."""
    with open(os.path.join(HERE, "nospec.list"), encoding="utf-8") as lines:
        rows = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    return {row[0]: (row[1], row[2:]) for row in rows}


def object_of(folder, name):
    """Beside its source: another may be left from where that was before."""
    found = glob.glob(os.path.join(folder, "**", f"{name}.c"), recursive=True)
    if len(found) != 1:
        die(f"needs one {name}.c below {folder}, there are {len(found)}")
    return found[0][:-len("c")] + "o"


def check(folder, names):
    functions, found = wanted(), []
    for name in names or functions:
        if name not in functions:
            die(f"{name} is not in nospec.list")
        room, given = functions[name]
        found += findings(object_of(folder, room), name, given)
    return found


def self_check():
    wrong = []
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "check-nospec.o")
        for options in [], ["-DMASKED"]:
            output("gcc", *CFLAGS, *options, "-c", "-o", path, os.path.join(HERE, "check-nospec.c"))
            names = re.findall(r" T (\w+)", output("nm", path))
            if not names:
                die("check-nospec.c has no functions")
            for name in names:
                found = findings(path, name, ["si"] if "argument" in name else [])
                if bool(found) == bool(options):
                    wrong += found or [f"{name}: nothing is found"]
    return wrong


def main(argv):
    if len(argv) < 2:
        die(__doc__)
    found = self_check() if argv[1:] == ["--self-check"] else check(argv[1], argv[2:])
    for line in found:
        print(line)
    return 1 if found else 0


sys.exit(main(sys.argv))
