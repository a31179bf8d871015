# SPDX-License-Identifier: GPL-2.0
"""
The laboratory: measures kvnet beside vhost_net and others, in every lane that this machine can run,
and writes a report. See Documentation/laboratory.rst.

  scripts/bench.sh              measures; results in build/bench/<date-time>/
  scripts/bench.sh compare A B  what changed between two results
  scripts/bench.sh profile      where the worker's time goes
  scripts/bench.sh paper        the evaluation of the paper (Documentation/paper.rst)
  scripts/bench.sh demo         one guest on kvnet, vhost_net and QEMU itself: a table; SAMPLES=6

  LANE="native vtime"   lanes (native, native2, icount, smp, vtime, kvm, emul; default: native,
                        icount, smp, and kvm where the CPU has virtualization, else vtime)
                        paper: vtime, kvm or emul; profile: native, native2 or icount
  ONLY="pps rr"         tests, by name or glob (default all)
  REPEAT=9              repetitions, in virtual time seeds (default: icount 2, smp 15, paper 3, 5)
  BACKENDS="kvnet ..."  these only, such as kvnet-packed
  QUICK=1               one small row of each test: does the laboratory work?
  MOST=20               native, native2: repetitions of a test that cannot tell 5 % yet (4 * REPEAT)
  BENCH_MS=40           milliseconds of a sample where a process is the guest (smp: 100); native and
                        native2 have three of them in a repetition
  UML=debug             lane native on the kernel that looks for bugs: no figures worth having
  OUT=dir               where to put results
  PARTS="exits"         paper: some of hypercall exits windows question irqchip
  WORK="test=pps dir=rx size=64"
                        profile: what to do; TASK=sender: not the worker, but the task that fills
                        the tap; PROFILE_MS=8000 for how long, TOP_N=10 functions, SEED=1 of
                        lane icount

What has been measured when it is interrupted is kept, and reported. Other programs ask it, too:

  python3 tools/bench check DIR [TEST...]   is there what a run must leave?
  python3 tools/bench test                  its own tests
"""

import json
import os
import signal
import sys
import xml.dom.minidom

import cases
import machine
import rows


# pylint: disable=import-outside-toplevel  # a verb needs no packages but its own


def run():
    import lanes

    lanes.Bench().measure()
    return 0


def paper():
    import paper as command

    return command.main()


def demo():
    import demo as command

    return command.Demo().main()


def profile():
    import profiling

    return profiling.main()


def compare_two(a, b):
    old, new = rows.Results.load(a), rows.Results.load(b)
    machine.prepare_report()
    return write_compare(old, new)


def show_side(name, results):
    meta = results.meta
    print(f"{name}: {meta.get('date', '?')}, {meta.get('commit', '?')}")


def write_compare(old, new):
    import compare
    import stats
    import units
    from columns import columns_text

    show_side("A", old)
    show_side("B", new)
    changes, gone, fresh = compare.compare(old, new)
    if not changes:
        sys.exit(f"bench: nothing to compare: A has {len(gone)} rows, B {len(fresh)}, and none is in both")
    lines = []
    for change in sorted(changes, key=lambda c: (c.key.get("lane"), c.key.get("test"), c.p)):
        verdict = change.verdict()
        if verdict == "no difference":
            continue
        lines.append([str(change.key), change.key.get("backend"), compare.show(change, change.old), compare.show(change, change.new),
                      units.percent(change.relative, True), f"{change.p:.4f}", verdict])
    if lines:
        print("\n".join(columns_text(["row", "backend", "A", "B", "change", "p", ""], lines)))
    same = sum(change.verdict() == "no difference" for change in changes)
    print(f"{same} of {len(changes)} rows: no difference (two-sided Mann-Whitney test at {stats.ALPHA:.0%}).")
    print(f"Rows of a backend that ran beside {compare.PEER} are compared by their ratio to it (shown as x1.00), others as they are.")
    if gone or fresh:
        print(f"Only in A: {len(gone)} rows; only in B: {len(fresh)}.")
    return 0


def check(directory, *tests):
    """Is there what a run of the laboratory must leave?"""
    with open(os.path.join(directory, "results.json"), encoding="utf-8") as file:
        results = rows.Results.from_json(json.load(file))
    if not results.rows:
        sys.exit("bench: no rows")
    for test in tests:
        for backend in ("kvnet", "vhost_net"):
            if not results.select(test=test, backend=backend):
                sys.exit(f"bench: no row of test={test} backend={backend}")
    with open(os.path.join(directory, "report.html"), encoding="utf-8") as file:
        page = file.read()
    if not page.rstrip().endswith("</html>") or "<svg" not in page or "<script" in page:
        sys.exit("bench: report.html is not whole")
    pictures = os.listdir(os.path.join(directory, "plots"))
    for name in pictures:
        xml.dom.minidom.parse(os.path.join(directory, "plots", name))
    if not pictures:
        sys.exit("bench: no plots")
    print(f"{len(results.rows)} samples, {len(pictures)} plots, report.html of {len(page) // 1024} KiB")
    return 0


def test():
    machine.prepare_report()
    import test_bench

    return test_bench.main()


VERBS = {"run": (run, 0, 0), "paper": (paper, 0, 0), "demo": (demo, 0, 0), "profile": (profile, 0, 0),
         "compare": (compare_two, 2, 2), "check": (check, 1, 99), "test": (test, 0, 0)}


def main(words):
    verb, *words = words or ["run"]
    if verb in ("help", "--help", "-h"):
        # the reader may have enough: "bench.sh --help | head"
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        print(__doc__.strip())
        return 0
    command, least, most = VERBS.get(verb, (None, 0, 0))
    if not command or not least <= len(words) <= most or not all(words):
        sys.exit(f"bench: usage: bench.sh {' | '.join(VERBS)}; make bench-compare A=<results> "
                 "B=<results>; see bench.sh --help")
    return command(*words)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (cases.Refused, machine.Failed) as error:
        sys.exit(f"bench: {error}")
    except FileNotFoundError as error:
        sys.exit(f"bench: {error.filename}: {error.strerror}")
    except KeyboardInterrupt:
        sys.exit(130)
