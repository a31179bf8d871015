# SPDX-License-Identifier: GPL-2.0
"""
What a test needs: lines "@key: value" in the first comment of selftests/uapi/*/*_test.c and
selftests/net/test_*.sh. Documentation/writing-a-test.rst says what each key means.
"""
import dataclasses
import glob
import os
import re

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

WORDS = {
    "tier": {"first", "all", "named"},
    "hosts": {"6.1", "6.12", "newest", "uml"},
    "first-host": {"6.12"},
    "debug": {"kasan", "kcsan", "kmsan"},
    "again": {"packed", "kthread", "slow"},
    "module": {"failing", "failing-smp"},
    "clock": {"travels"},
    "waits": {"yes"},
    "apart": {"yes"},
}
LISTS = {"hosts", "debug", "again"}
# which kind of test has it, where not both have
ONLY_UAPI = {"debug", "again", "module", "clock", "waits", "apart", "seconds"}
ONLY_NET = {("tier", "named"), ("hosts", "uml")}


class Bad(Exception):
    """A test whose first comment is wrong."""


@dataclasses.dataclass(frozen=True)
class Skip:
    where: str
    what: str
    why: str

    def allows(self, where, test, reason):
        return bool(re.fullmatch(self.where, where)
                    and re.fullmatch(self.what, f"{test}: {reason}"))


@dataclasses.dataclass
class Test:
    kind: str               # uapi or net
    name: str               # without "_test" or "test_"
    folder: str = ""        # of a uapi test
    tier: str = "first"
    hosts: frozenset = frozenset()
    first_host: str = ""
    debug: frozenset = frozenset()
    again: frozenset = frozenset()
    module: str = ""
    clock: str = ""
    waits: str = ""
    apart: str = ""
    seconds: int = 1
    skips: list = dataclasses.field(default_factory=list)

    @property
    def alone(self):
        """Not among those that run where no test is named."""
        return bool(self.apart or self.clock or self.module == "failing" or self.tier == "named")


def first_comment(text):
    """Its lines, without what marks them as a comment."""
    if text.startswith("#!"):
        for line in text.splitlines()[1:]:
            if not line.startswith("#"):
                return
            yield line[1:].strip()
    else:
        comment = re.search(r"^/\*(.*?)\*/", text, re.S | re.M)
        for line in comment[1].splitlines() if comment else []:
            yield line.strip().removeprefix("*").strip()


def set_key(test, key, value):
    words = value.split()
    if key == "skip":
        parts = [part.strip() for part in re.split(r"\s+\|\s+", value)]
        if len(parts) != 3 or not all(parts):
            raise Bad("skip has three parts: ENVIRONMENT | CASE: REASON | why")
        try:
            for part in parts[:2]:
                re.compile(part)
        except re.error as error:
            raise Bad(f"skip: {error}") from error
        prefix = rf"{test.name}_test\." if test.kind == "uapi" else f"{test.name}: "
        test.skips.append(Skip(parts[0], f"{prefix}(?:{parts[1]})", parts[2]))
    elif key == "seconds":
        if not value.isdecimal() or not int(value):
            raise Bad(f"seconds is a number, not '{value}'")
        test.seconds = int(value)
    elif key not in WORDS:
        raise Bad(f"no key '{key}'; there are: {' '.join([*WORDS, 'seconds', 'skip'])}")
    else:
        for word in words:
            if word not in WORDS[key] or (test.kind == "uapi" and (key, word) in ONLY_NET):
                raise Bad(f"{key} cannot be '{word}'; it can be: {' '.join(sorted(WORDS[key]))}")
        if not words or (len(words) > 1 and key not in LISTS):
            raise Bad(f"{key} takes {'some words' if key in LISTS else 'one word'}, not '{value}'")
        setattr(test, key.replace("-", "_"), frozenset(words) if key in LISTS else value)


def parse(kind, name, text, folder=""):
    test, seen = Test(kind, name, folder), set()
    for line in first_comment(text):
        if not line.startswith("@"):
            continue
        match = re.fullmatch(r"@([\w-]+): (.*)", line)
        if not match:
            raise Bad(f"'{line}' is not '@key: value'")
        key, value = match[1], match[2].strip()
        if kind == "net" and key in ONLY_UAPI:
            raise Bad(f"{key} is for uapi tests")
        if key in seen and key != "skip":
            raise Bad(f"{key} is there twice")
        seen.add(key)
        set_key(test, key, value)
    if kind == "net" and not test.hosts and test.tier != "named":
        test.hosts = frozenset({"6.12"})
    return test


def read(top=TOP):
    """All tests of both kinds, and what is wrong with some."""
    tests, bad = [], []
    tree = f"{top}/selftests"
    for path in glob.glob(f"{tree}/uapi/*/*_test.c") + glob.glob(f"{tree}/net/test_*.sh"):
        folder, name = os.path.basename(os.path.dirname(path)), os.path.basename(path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        try:
            if name.endswith(".c"):
                tests.append(parse("uapi", name.removesuffix("_test.c"), text, folder))
            else:
                tests.append(parse("net", name.removeprefix("test_").removesuffix(".sh"), text))
        except Bad as error:
            bad.append(f"{os.path.relpath(path, top)}: {error}")
    return tests, sorted(bad)
