# SPDX-License-Identifier: GPL-2.0
"""
The laboratory's half in Python; scripts/bench.sh is the other.

    python3 tools/bench collect DIR [--meta KEY=VALUE]...
    python3 tools/bench report DIR [--plan bench]
    python3 tools/bench compare A B
    python3 tools/bench check DIR [TEST...]
"""

import importlib
import json
import os
import sys
import xml.dom.minidom

import rows


def collect(directory, meta):
    with open(os.path.join(directory, "rows.txt"), encoding="utf-8") as file:
        results = rows.Results.parse(file)
    for bad in results.bad:
        print(f"bench: cannot read a row: {bad}", file=sys.stderr)
    results.meta = meta
    results.save(os.path.join(directory, "results.json"))
    return 0 if results.rows else 1


def write_report(directory, plan):
    import report	# with matplotlib and SciPy, which rows can be collected without

    results = rows.Results.load(directory)
    module = importlib.import_module(f"plan_{plan}")
    report.write(directory, module.TITLE, module.sections(results), results)
    return 0


def show_side(name, results):
    meta = results.meta
    print(f"{name}: {meta.get('date', '?')}, {meta.get('commit', '?')}")


def write_compare(a, b):
    import compare
    import stats
    import units
    from columns import columns_text

    old, new = rows.Results.load(a), rows.Results.load(b)
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


def check(directory, tests):
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


def options(words, name):
    """Takes "--name value" pairs out of the words."""
    values = []
    while name in words:
        at = words.index(name)
        values.append(words[at + 1])
        del words[at:at + 2]
    return values


def main(words):
    plan = options(words, "--plan") or ["bench"]
    meta = dict(pair.split("=", 1) for pair in options(words, "--meta"))
    verb = words[0] if words else ""
    if verb == "collect" and len(words) == 2:
        return collect(words[1], meta)
    if verb == "report" and len(words) == 2:
        return write_report(words[1], plan[-1])
    if verb == "compare" and len(words) == 3:
        return write_compare(words[1], words[2])
    if verb == "check" and len(words) >= 2:
        return check(words[1], words[2:])
    sys.exit(__doc__.strip())


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ModuleNotFoundError as error:
        sys.exit(f"bench: {error}: apt-get install python3-matplotlib python3-scipy, and run it by Debian's /usr/bin/python3")
    except FileNotFoundError as error:
        sys.exit(f"bench: {error.filename}: {error.strerror}")
