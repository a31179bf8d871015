# SPDX-License-Identifier: GPL-2.0
"""
Which lines of a kernel's log a healthy kernel does not print: kernel_log.py LOG, or for scripts
dmesg-verdict.sh. selftests/lib/bad_messages.h lists them, for the tests' harness in C as well. Of
data races those count that kvnet has a part in.

Each such line is shown with the test that was running (tests write the marks
"kvnet-test: begin NAME" and "kvnet-test: end NAME").
"""
import os
import re
import sys

SCRIPTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BAD_MESSAGES = os.path.join(SCRIPTS, "..", "selftests", "lib", "bad_messages.h")
RACES = os.path.join(SCRIPTS, "debug", "races.list")

FUNCTION = re.compile(r"\+0x[0-9a-f]+/0x[0-9a-f]+")
# User-Mode Linux's stack begins in the function that takes it
TAKES_STACK = re.compile(r"(^|\]) +(save_stack_trace|stack_trace_save|print_report|kcsan_|__tsan_)")


def bad_messages(path=BAD_MESSAGES):
    with open(path, encoding="utf-8") as file:
        found = re.findall(r'^"(.*)",$', file.read(), re.M)
    if not found:
        raise ValueError(f"{path} names nothing")
    return re.compile("|".join(found))


def known_races(path=RACES):
    with open(path, encoding="utf-8") as file:
        parts = [re.split(r"\s+\|\s+", line.strip()) for line in file if not line.startswith("#")]
    return [re.compile(part[0]) for part in parts if len(part) == 2]


def without_module(text):
    return re.sub(r" \[[a-z_]+\]", "", text).strip()


class Report:
    """One of KCSAN's. It is ours if a function of kvnet, or one that it called itself, made one of
    the two accesses: what the kernel does further down, in a wake-up or a page fault, is its
    own."""
    def __init__(self, title):
        self.lines, self.tops, self.depth = [title], [], 0
        self.pair = without_module(re.sub(r".*BUG: KCSAN: [a-z-]+ in ", "", title))
        self.ours = "BUG: KCSAN: assert" in title or "[kvnet]" in title
        self.below_kcsan = False

    def add(self, line):
        self.lines.append(line)
        if " by task" in line or " by interrupt" in line:
            self.depth = 0
        elif FUNCTION.search(line):
            if not self.depth and TAKES_STACK.search(line):
                self.below_kcsan = True
                self.lines.pop()
                return
            if not self.depth:
                self.tops.append(FUNCTION.sub("", re.sub(r".*\] +", "", line)).strip())
            self.depth += 1
            self.ours = self.ours or (self.depth <= 2 and "[kvnet]" in line)

    def end(self):
        """As in KCSAN's titles the lesser one comes first."""
        if self.below_kcsan and self.tops:
            tops = " / ".join(sorted(self.tops[:2]))
            self.lines[0] = re.sub(r" in .*", lambda _: f" in {tops}", self.lines[0])
            self.pair = without_module(tops)


def judge_races(lines, races):
    """The lines without the reports that are not ours or that the list knows, and how many reports:
    ours, known, others'."""
    kept, held, report, counts = [], [], None, [0, 0, 0]

    def end():
        report.end()
        known = any(race.fullmatch(report.pair) for race in races)
        counts[2 if not report.ours else 1 if known else 0] += 1
        if report.ours and not known:
            kept.extend(report.lines)
        kept.extend(held)
        held.clear()

    for line in lines:
        if report and re.search("kvnet-test: |selftest: ", line):
            held.append(line)       # what tests write meanwhile
        elif "BUG: KCSAN: " in line:
            if report:
                end()
            report = Report(line)
        elif report and "==========" in line:
            end()
            report = None
        elif report:
            report.add(line)
        else:
            kept.append(line)
    if report:
        end()
    return kept, counts


def verdict(lines, bad, races=()):
    """What is wrong, a line each, and what there is to say of data races."""
    lines, counts = judge_races(lines, races)
    found, test = [], ""
    for line in lines:
        mark = re.search(r"kvnet-test: (begin|end) (.*)", line)
        if mark:
            test = mark[2].strip() if mark[1] == "begin" else ""
        elif bad.search(line):
            found.append(f"bad kernel message (test: {test or 'none running'}): {line}")
    note = (f"# data races: {counts[0]} of kvnet, {counts[1]} of those that races.list knows, "
            f"{counts[2]} of the kernel")
    return found, note if any(counts) else ""


def judge(path):
    with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
        text = file.read()
    if not text:
        return [f"bad kernel message: none at all in {path}"], ""
    return verdict([line.rstrip("\r") for line in text.split("\n")], bad_messages(), known_races())


def main(argv):
    if len(argv) != 2 or not os.access(argv[1], os.R_OK):
        print("usage: dmesg-verdict.sh <kernel log>", file=sys.stderr)
        return 2
    found, note = judge(argv[1])
    if note:
        print(note, file=sys.stderr)
    if found:
        print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
