# SPDX-License-Identifier: GPL-2.0
"""
The tests: scripts/test.sh VERB

    first       tier one, which each change has to pass: static checks, unit tests, User-Mode
                Linux in two shards, one test host, with fixed seeds
    all         other kernels, layouts, guests and VMMs, fuzzing and the laboratory as well, with
                random seeds
    unit | uml | uapi | net | debug    one kind of them
    build-matrix    builds for each kernel, architecture and compiler (matrix.py); of KERNELS="6.1
                    6.12 newest" ARCHES="amd64 arm64" COMPILERS="gcc clang" those that are named
    packages    the Debian packages on bare systems (packages.py); SYSTEMS="deb12 deb13"
    sysfuzz     random system calls, SYSFUZZ_SECONDS=600 long. SEED=1f3a20c7: that program again and
                again, OPS=0-17,30: parts of it. One that fails is made smaller, unless SMALLER=0;
                AGAIN=10 seconds until a part counts as one that works
    soak        GUESTS=8 for SOAK_MINUTES=60, on KERNEL=uml, smp-kasan, 6.1, 6.12 or newest
    list-first  what of User-Mode Linux is in tier one
    plan first | all    which test runs where, as "ENVIRONMENT VARIANT TEST"
    names unit | uml | uapi | net    what TESTS may name
    check       is what the tests say of their needs right? (needs.py)

    TESTS="name..."   tests to run (not of "first" and "all"): close, lifecycle/close, or a folder
                      of uapi tests; with "net" also traffic:packed
    KERNEL=6.1        kernel of "uapi" and "net" (default 6.12); for "uml" and "sysfuzz" smp-kasan
                      or smp-kcsan; for "debug" some of these, kasan, kcsan and kmsan, by default
                      all
    PACKED=           "uml", "uapi": not once more with packed rings
    KVNET_LAYOUT=     "uml", "uapi": in this layout only, such as packed,in_order
    KSFT_SEED=N UNIT_SEED=N   other random inputs (default 1; "all": by chance, and says which)
    KSFT_LONG=3       "uml", "uapi": rounds of races and the like, times that
    LIFE_CYCLES=N     "uml", "uapi": of each death in life_test
    RUN_SECONDS=N     "uml", "uapi": for all of it (default 3600)
    STREAM_BYTES=N    "net": what traffic sends each way
    HOST_APPEND=      "uapi", "net": more words for the kernel of the test host
    KVNET_PARAMS=     parameters of the module, for "uml", "uapi" and "net"

Goes on after a failure. The last lines say what was skipped and what failed, the very last is
"N passed, N failed, N skipped". A skip that its test does not allow is a failure. All results
are in build/log/results.tap and results.json.
"""
import os
import signal
import sys

import forms
import lanes
import long_runs
import machines
import matrix
import needs
import packages
import plan
import results
import tiers

SMP_FLAVOURS = ("smp-kasan", "smp-kcsan")
HOSTS = ("6.12", "6.1", "newest") + machines.DEBUG_HOSTS
BACKENDS = ("kvnet", "vhost", "off")
# which tests TESTS may name
KINDS = {"unit": ("unit",), "net": ("net",), "uml": ("uapi", "uml"), "uapi": ("uapi",),
         "debug": ("uapi",)}
# verbs that know their options themselves
OTHERS = {"build-matrix": matrix.Matrix, "packages": packages.Packages,
          "sysfuzz": long_runs.Sysfuzz, "soak": long_runs.Soak}


class Usage(Exception):
    """What the caller has asked for is not there."""


class Run:
    """One call of this program."""
    def __init__(self, verb, tests):
        self.verb = verb
        self.build = os.path.realpath(machines.option("KVNET_BUILD", f"{needs.TOP}/build"))
        self.log = os.path.join(self.build, "log")
        self.programs = lanes.Programs()
        rules = [skip for test in tests for skip in test.skips]
        # other backends are not what this is about
        other = machines.option("BACKEND", "kvnet") != "kvnet"
        self.results = results.Results(self.log, rules, other)
        self.main = lanes.Lane(self)

    def default(self, **values):
        for name, value in values.items():
            if not os.environ.get(name):
                os.environ[name] = str(value)

    def finish(self):
        self.main.steps = 0
        self.main.say("done")
        skipped = self.results.finish(self.main)
        passed, failed = self.main.passed, self.main.failed
        print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
        return 1 if failed else 0


def check_kernel(verb, kernels):
    if verb == "uml":
        plan.known("no such User-Mode Linux:", kernels, SMP_FLAVOURS)
    elif verb in ("uapi", "net"):
        plan.known("unknown kernel series", kernels, HOSTS)
    elif verb == "debug":
        plan.known("this kernel does not look for bugs on two CPUs:", kernels,
                   SMP_FLAVOURS + machines.DEBUG_HOSTS)
    if verb in ("uml", "uapi", "net") and len(kernels) > 1:
        raise Usage(f"one KERNEL at a time, not '{' '.join(kernels)}'")
    if verb == "net" and set(kernels) & set(machines.DEBUG_HOSTS):
        raise Usage(f"no guests run on kernel {kernels[0]}")


def dispatch(run, tests):
    """What is wrong is said at once, and not when all has been built."""
    verb, where = run.verb, plan.Plan(tests)
    forms.check(verb)
    names = where.choose(KINDS[verb], machines.option("TESTS").split()) if verb in KINDS else []
    kernels = machines.option("KERNEL").split()
    check_kernel(verb, kernels)
    plan.known("unknown backend", [machines.option("BACKEND", "kvnet")], BACKENDS)
    tier = tiers.Tier(run, where, verb == "first")
    other = OTHERS[verb](tier) if verb in OTHERS else None
    os.makedirs(run.log, exist_ok=True)
    if other:
        other.run_all()
    elif verb == "first":
        tier.run_first()
    elif verb == "all":
        tier.run_all()
    elif verb == "unit":
        tier.run_unit(names)
    elif verb == "uml":
        uapi = [name for name in names if name in where.uapi]
        tier.run_uml(uapi, [name for name in names if name not in uapi], *kernels or [""])
    elif verb == "debug":
        tier.run_debug(names, kernels or SMP_FLAVOURS + machines.DEBUG_HOSTS)
    else:
        tier.run_host(verb, names, *kernels or ["6.12"])


def show_plan(where, tier):
    if tier not in ("first", "all"):
        raise Usage("plan is that of 'first' or 'all'")
    for environment, entries in (where.first() if tier == "first" else where.all()).items():
        for entry in entries if isinstance(entries, list) else entries[0] + entries[1]:
            name, _, variant = entry.partition(":")
            print(environment, variant or "-", name)


def interrupted(number, _frame):
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt()


def answer(verb, words, tests):
    """Verbs that only say something: the status, or None for the others."""
    where = plan.Plan(tests)
    # the reader may have enough: "test.sh names uapi | head"
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if verb == "list-first" and not words:
        print("\n".join(where.list_first()))
    elif verb == "plan" and len(words) == 1:
        show_plan(where, words[0])
    elif verb == "names" and len(words) == 1 and words[0] in KINDS:
        print("\n".join(where.there(KINDS[words[0]])))
    elif verb == "check" and not words:
        print(f"{len(tests)} tests")
    elif words or verb not in ("first", "all", *KINDS, *OTHERS):
        raise Usage(__doc__.strip())
    else:
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        return None
    return 0


def main(argv):
    tests, bad = needs.read()
    if bad:
        print("\n".join(bad), file=sys.stderr)
        return 1
    try:
        status = answer(argv[1] if argv[1:] else "first", argv[2:], tests)
        if status is not None:
            return status
        # what make was told is in TESTS, and shall not be told to other makes
        for name in ("MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES"):
            os.environ.pop(name, None)
        # for programs in lanes, see Programs
        os.dup2(1, 3)
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            # of nohup
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, interrupted)
        run = Run(argv[1] if argv[1:] else "first", tests)
        try:
            dispatch(run, tests)
            return run.finish()
        finally:
            run.programs.end()
    except KeyboardInterrupt:
        return 130
    except (plan.Unknown, Usage, lanes.Died) as error:
        print(f"test.sh: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
