# SPDX-License-Identifier: GPL-2.0
"""
What the logs of test programs say, as one stream of results: build/log/results.tap (KTAP, nested by
environment) and results.json, and the last lines of a run: what was skipped, what failed.
"""
import dataclasses
import json
import os
import re
import textwrap
import threading

import kernel_log
import needs

# Skips that belong to no test
SKIPS = [needs.Skip("test-newest", "the newest kernel: cannot be had here",
                    "no network to backports"),
         needs.Skip("proofs", "CBMC: cannot be had here", "no network to the next release"),
         needs.Skip("qemu", "qemu_hostile_test: QEMU 10.0: .*", "a backport: no network, or not yet"),
         needs.Skip("qemu", ".*_with_a_tap_.*: (needs root|/dev/net/tun: .*)", "a container"),
         needs.Skip("qemu", r".*_in_order_.*: .*'virtio-net-device\.in_order' not found", "QEMU 7.2")]
# lines before a failure that are shown with it; bad kernel messages of a run
BEFORE, BAD_LINES = 8, 8

SUMS = re.compile(r"(\d+) passed, (\d+) failed(?:, \d+ skipped)?")
PROGRAM = re.compile(r"## ([\w-]+?)(?:_test)?(?::(\S+))?(?: \((.*)\))?")
LINE = re.compile(r"(ok|not ok) (?:\d+ )?(?:- )?(.*)")
TIME = re.compile(r" (?:# (\d+) ms|# (\d+) s|\((\d+\.\d) s\))$")
# why a case failed, behind its name (selftests/lib/ksft.c)
END = re.compile(r" \((deadline|deadline; cannot be killed|kernel log)\)$")
TOOK = re.compile(r"^# (.*): all of it took ([0-9.]+) s$", re.M)


@dataclasses.dataclass
class Result:
    case: str
    environment: str
    variant: str
    milliseconds: int | None
    verdict: str                # ok, not ok, skipped
    reason: str = ""            # of a skip or a failure


@dataclasses.dataclass
class Log:
    """What one says: cases, its own sums, and failures with the last lines before them."""
    results: list = dataclasses.field(default_factory=list)
    passed: int = 0
    failed: int = 0
    ended: bool = False
    failures: list = dataclasses.field(default_factory=list)


def parse_case(verdict, text):
    """Name, milliseconds, verdict and reason."""
    time, milliseconds = TIME.search(text), None
    if time:
        milliseconds = round(int(time[1] or 0) + 1000 * float(time[2] or time[3] or 0))
        text = text[:time.start()]
    name, skip, reason = text.partition(" # SKIP")
    if skip:
        return name, milliseconds, "skipped", reason.strip()
    end = END.search(name) if verdict == "not ok" else None
    if end:
        return name[:end.start()], milliseconds, verdict, end[1]
    return name, milliseconds, verdict, ""


def parse(lines, environment, only_last_sums=False):
    log, variant, before = Log(), "", []
    for line in map(str.rstrip, lines):
        sums, program, case = SUMS.fullmatch(line), PROGRAM.fullmatch(line), LINE.fullmatch(line)
        skip = re.fullmatch("# SKIP ([^:]+): (.*)", line)
        if sums:
            if only_last_sums:
                log.passed = log.failed = 0
            log.passed += int(sums[1])
            log.failed += int(sums[2])
            log.ended = True
        elif program:
            ways = program[3] or ""
            variant = program[2] or ("" if ways.startswith("backend ") else ways)
        elif case:
            name, time, verdict, reason = parse_case(case[1], case[2])
            if verdict == "not ok" and not reason and before:
                reason = before[-1].lstrip("# ")
            log.results.append(Result(name, environment, variant, time, verdict, reason))
            if case[1] == "not ok":
                log.failures += before[-BEFORE:] + [f"# failed: {environment}: {line}"]
        elif skip:
            log.results.append(Result(skip[1], environment, variant, None, "skipped", skip[2]))
        elif "# SKIP" in line:
            log.results.append(Result("unknown", environment, variant, None, "skipped", line))
        if line.startswith("#") and not skip:
            before.append(line)
        elif not skip:
            before.clear()
    return log


class Results:
    """Of the whole run; lanes add to it at the same time."""
    def __init__(self, folder, rules, allow_all=False):
        self.folder, self.rules, self.allow_all = folder, rules + SKIPS, allow_all
        self.all, self.failures, self.lock = [], [], threading.Lock()

    def note(self, environment, case, verdict, reason=""):
        with self.lock:
            self.all.append(Result(case, environment, "", None, verdict, reason))

    def fail(self, name, environment):
        self.note(environment, name, "not ok")
        with self.lock:
            self.failures.append(f"# failed: {name}")

    def skip(self, lane, environment, test, reason):
        lane.print(f"# SKIP {test}: {reason}")
        self.note(environment, test, "skipped", reason)

    def count(self, lane, path, environment, name, status, only_last_sums=False):
        """Adds up a log. One without sums has failed, and so has a run whose status says so while
        no test line does: a bad kernel message, a timeout."""
        text = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
        log, before = parse(text.splitlines(), environment, only_last_sums), lane.failed
        with self.lock:
            self.all += log.results
            self.failures += log.failures
        lane.passed += log.passed
        lane.failed += log.failed
        if not log.ended:
            lane.fail(f"{name} did not come to its end", environment)
        if status:
            with self.lock:
                self.failures += self.bad_lines(name)
            if lane.failed == before:
                lane.fail(f"{name} (status {status})", environment)
        return text

    def bad_lines(self, name):
        console = os.path.join(self.folder, name, "console.log")
        if not os.path.exists(console) or not os.path.getsize(console):
            return []
        return [f"# {line}" for line in kernel_log.judge(console)[0][:BAD_LINES]]

    def show_times(self, lane, name, text):
        """Where the time went, the most first."""
        took = [(float(seconds), what) for what, seconds in TOOK.findall(text)]
        took.sort(reverse=True)
        line = f"{name}: " + ", ".join(f"{what} {seconds:.1f}" for seconds, what in took)
        for part in textwrap.wrap(line, 110) if took else []:
            lane.print(part)

    ### at the end

    def reason_allowed(self, result):
        """Why this one may be skipped, or nothing."""
        for rule in self.rules:
            if rule.allows(result.environment, result.case, result.reason):
                return rule.why
        return "allowed" if self.allow_all else ""

    def judge_skips(self):
        """What is skipped, a line for each file and reason; and those that may not be."""
        groups, bad = {}, []
        for result in self.all:
            if result.verdict != "skipped":
                continue
            why = self.reason_allowed(result)
            if why:
                key = result.environment, result.case.partition(".")[0], result.reason, why
                groups.setdefault(key, []).append(result.case)
            else:
                bad.append(result)
        lines = []
        for (environment, file, reason, why), names in groups.items():
            what = names[0] if len(names) == 1 else f"{len(names)} of {file}"
            lines.append(f"# skipped: {environment}: {what}: {reason} ({why})")
        return lines, bad

    def finish(self, lane):
        """The last lines but one, and the number of skipped ones."""
        lines, bad = self.judge_skips()
        for line in lines:
            lane.print(line)
        for result in bad:
            text = f"skipped: {result.environment}: {result.case}: {result.reason}"
            lane.print(f"not ok - {text}")
            self.failures.append(f"# failed: {text}")
            result.verdict, result.reason = "not ok", f"skipped: {result.reason}"
        lane.failed += len(bad)
        for line in self.failures:
            lane.print(line)
        self.write()
        return sum(result.verdict == "skipped" for result in self.all)

    def write(self):
        os.makedirs(self.folder, exist_ok=True)
        replace(os.path.join(self.folder, "results.tap"), "\n".join(self.ktap()) + "\n")
        lines = ",\n".join(json.dumps(dataclasses.asdict(result)) for result in self.all)
        replace(os.path.join(self.folder, "results.json"), f"[\n{lines}\n]\n")

    def ktap(self):
        environments = {}
        for result in self.all:
            environments.setdefault(result.environment, []).append(result)
        yield "KTAP version 1"
        yield f"1..{len(environments)}"
        for number, (name, some) in enumerate(environments.items(), 1):
            yield f"  # Subtest: {name}"
            yield "  KTAP version 1"
            yield f"  1..{len(some)}"
            for index, result in enumerate(some, 1):
                yield "  " + ktap_line(index, result)
            bad = any(result.verdict == "not ok" for result in some)
            yield f"{'not ok' if bad else 'ok'} {number} {name}"


def ktap_line(number, result):
    name = result.case.replace("#", "") + (f":{result.variant}" if result.variant else "")
    line = f"{'not ok' if result.verdict == 'not ok' else 'ok'} {number} {name}"
    if result.verdict == "skipped":
        return f"{line} # SKIP {result.reason}"
    notes = [result.reason] if result.reason else []
    if result.milliseconds is not None:
        notes.append(f"{result.milliseconds} ms")
    return f"{line} # {', '.join(notes)}" if notes else line


def replace(path, text):
    """In one step, whatever another run writes there."""
    with open(f"{path}.{os.getpid()}", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(file.name, path)
