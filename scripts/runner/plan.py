# SPDX-License-Identifier: GPL-2.0
"""
Which test runs where. An entry is what scripts/vm/uapi.sh and selftests/net/run.sh take: "NAME", or
"NAME:VARIANT".
"""
import glob
import os

import needs

# in which a uapi test may run again
VARIANTS = {"packed": "packed,in_order", "kthread": "kthread", "slow": "slow"}
# these leave a guest running for the ones behind them
NET_BEFORE_OTHERS = ("traffic", "exits", "offload", "live", "reboot")
HOSTS = ("6.12", "6.1", "newest", "newest-net")


class Unknown(Exception):
    """A name that is not there."""


def known(what, words, there):
    for word in words:
        if word not in there:
            raise Unknown(f"{what} '{word}'; there are: {' '.join(there)}")


class Plan:
    def __init__(self, tests):
        # as "ls" sorts the programs
        tests = sorted(tests, key=lambda test: test.name + "_test")
        self.uapi = {test.name: test for test in tests if test.kind == "uapi"}
        self.net = {test.name: test for test in tests if test.kind == "net"}

    def uapi_where(self, wanted):
        return [test.name for test in self.uapi.values() if wanted(test)]

    def net_where(self, wanted):
        def place(name):
            first = name in NET_BEFORE_OTHERS
            return (0, NET_BEFORE_OTHERS.index(name)) if first else (1, name)
        return sorted((test.name for test in self.net.values() if wanted(test)), key=place)

    # where no test is named

    def usual_uapi(self):
        return self.uapi_where(lambda test: not test.alone)

    def idle(self):
        return self.uapi_where(lambda test: test.clock == "travels")

    def failing(self):
        return self.uapi_where(lambda test: test.module == "failing")

    def failing_smp(self):
        return self.uapi_where(lambda test: test.module == "failing-smp")

    def debug(self, kernel):
        return self.uapi_where(lambda test: kernel in test.debug)

    def net_uml(self):
        return self.net_where(lambda test: "uml" in test.hosts)

    def again(self, names):
        """These, and then the variants of those to which one makes a difference."""
        return list(names) + [f"{name}:{variant}" for key, variant in VARIANTS.items()
                              for name in names if key in self.uapi[name].again]

    # tier one

    def first_uapi(self):
        return self.uapi_where(lambda test: test.tier == "first" and not test.alone)

    def first_failing(self):
        return self.uapi_where(lambda test: test.tier == "first" and test.module == "failing")

    def first_waiting(self):
        return [name for name in self.first_uapi() if self.uapi[name].waits]

    def shards(self):
        """Two, with as many seconds to do: the longest first, each to the one that has less."""
        names = [name for name in self.first_uapi() if not self.uapi[name].waits]
        load, halves = [0, 0], ([], [])
        for name in sorted(names, key=lambda name: (-self.uapi[name].seconds, name + "_test")):
            half = 1 if load[1] < load[0] else 0
            load[half] += self.uapi[name].seconds
            halves[half].append(name)
        return halves

    def list_first(self):
        """What of User-Mode Linux is in tier one, as "VARIANT TEST": for mutants.py."""
        # a module whose calls fail runs what runs without
        lines = [f"split {name}_test" for name in self.first_uapi() + self.first_failing()]
        return lines + [f"failing {name}_test" for name in self.first_failing()]

    def first(self):
        one, two = self.shards()

        def first_host(test):
            return test.first_host == "6.12"

        return {"uapi-uml-1": one, "uapi-uml-2": two, "uapi-uml-waiting": self.first_waiting(),
                "uapi-uml-failing": self.first_failing(),
                "test-6.12": (self.uapi_where(first_host), self.net_where(first_host))}

    # all of it

    def host(self, host, newest):
        """The uapi and the net tests of a test host; newest: is there that kernel? What only that
        one runs 6.12 runs without it."""
        if host.startswith("newest") and not newest:
            return [], []
        if host == "newest-net":
            return [], self.net_where(lambda test: "newest" in test.hosts)

        def here(test):
            in_its_place = host == "6.12" and not newest and test.hosts == {"newest"}
            return host in test.hosts or in_its_place

        return self.uapi_where(here), [] if host == "newest" else self.net_where(here)

    def all(self, newest=True):
        plan = {"uapi-uml": self.again(self.usual_uapi()), "uapi-uml-idle": self.idle(),
                "uapi-uml-failing": self.failing(), "net-uml": self.net_uml(),
                "uapi-smp-kasan": self.usual_uapi(),
                "uapi-uml-failing-smp-kasan": self.failing_smp()}
        for host in HOSTS:
            plan[f"test-{host}"] = self.host(host, newest)
        return plan

    # TESTS=

    def choose(self, kinds, words):
        """The names of the tests that these words mean, each once: a name with or without "_test"
        (or "test_"), FOLDER/NAME, or a folder; "worker" is the test and "worker/" the folder. A
        net test may have ":packed" behind it."""
        names = []
        for word in words:
            found = None
            for kind in kinds:
                found = found or getattr(self, f"named_{kind}")(word)
            if not found:
                raise Unknown(f"no test '{word}'; there are: {' '.join(self.there(kinds))}")
            names += [name for name in found if name not in names]
        return names

    def named_uapi(self, word):
        folder, slash, name = word.rpartition("/")
        name = name.removesuffix("_test")
        if name in self.uapi and (not slash or folder == self.uapi[name].folder):
            return [name]
        folder = word.removesuffix("/")
        return self.uapi_where(lambda test: test.folder == folder)

    def named_net(self, word):
        name, colon, variant = word.partition(":")
        name = name.removeprefix("test_").removesuffix(".sh")
        return [name + colon + variant] if name in self.net else []

    def named_uml(self, word):
        """Net tests that run in User-Mode Linux."""
        return [name for name in self.named_net(word) if name in self.net_uml()]

    def named_unit(self, word):
        name = word.removesuffix("_test")
        return [word] if name in unit_names() or word in unit_names() else []

    def there(self, kinds):
        for kind in kinds:
            if kind == "uapi":
                yield from sorted(f"{test.folder}/{test.name}" for test in self.uapi.values())
            elif kind == "unit":
                yield from sorted(unit_names())
            else:
                yield from (self.net_uml() if kind == "uml" else sorted(self.net))


def unit_names():
    folder = f"{needs.TOP}/selftests/unit"
    paths = glob.glob(f"{folder}/*_test.c") + glob.glob(f"{folder}/*_fuzz.c")
    return {os.path.basename(path).removesuffix(".c").removesuffix("_test") for path in paths}
