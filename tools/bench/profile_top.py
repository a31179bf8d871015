# SPDX-License-Identifier: GPL-2.0
"""
Names what perf saw, or what a plugin of QEMU counted: main().

TASK is "worker", or "sender", the task that puts frames into the tap.

DIR holds <backend>.samples (lines of perf script -F ip,sym,uregs), symbols (lines of
address, name, [module]), and rows.txt: a share of TASK's samples is as large
a share of its time for a packet. Addresses of the kernel are looked up in its own file.

Where instructions were counted there is "counts" instead: lines of a run (from 1, in the
order of the backends), task, address and instructions; symbols has the kernel's, too.
"""

import bisect
import collections
import os
import subprocess
import sys

import columns
import rows
import units


MODULES = {"kvnet": ("kvnet",), "vhost_net": ("vhost_net", "vhost")}	# by what a backend's name begins with
STACK_BITS = 16		# of a task, by CONFIG_KERNEL_STACK_ORDER=4
SENDS = ("tun_net_xmit",)
# what workers alone run, of a device with one for each queue, too
WORKS = ("worker_run", "worker_has_work", "vhost_run_work_list")


class Symbols:
    def __init__(self, triples):
        self.entries = sorted(triples)
        self.starts = [entry[0] for entry in self.entries]

    def find(self, address):
        """(function, module), or None when none is near."""
        at = bisect.bisect_right(self.starts, address) - 1
        if at < 0 or address - self.starts[at] > 1 << 16:
            return None
        return self.entries[at][1:]


def is_counted(directory):
    return os.path.exists(os.path.join(directory, "counts"))


def read_symbols(directory, kernel):
    found = []
    with open(os.path.join(directory, "symbols"), encoding="utf-8") as file:
        for line in file:
            address, name, module = line.split()
            found.append((int(address, 16), name, module.strip("[]")))
    if is_counted(directory):
        return Symbols(found)
    said = subprocess.run(["nm", kernel], capture_output=True, text=True, check=True).stdout
    for line in said.splitlines():
        words = line.split()
        if len(words) == 3 and words[1] in "tTwW":
            found.append((int(words[0], 16), words[2], "kernel"))
    return Symbols(found)


def read_samples(path, symbols):
    """[(stack, (function, module))]"""
    found = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            stack = next((int(w[3:], 16) >> STACK_BITS for w in words if w.startswith("SP:")), None)
            if stack is None:
                continue
            name = words[1] if not words[1].startswith("ABI:") else "?"
            found.append((stack, symbols.find(int(words[0], 16)) or (name, "host")))
    return found


def known_by(role, backend):
    """Is a function the mark of the task that is looked for?"""
    if role == "sender":
        return lambda function, module: function in SENDS
    return lambda function, module: module in modules_of(backend)


def count(samples, mark, role):
    """As of_tasks(), of samples."""
    tasks = {}
    for stack, name in samples:
        tasks.setdefault(stack, collections.Counter())[name] += 1
    return of_tasks(tasks, mark, role)


def read_counts(directory, symbols):
    """{run: {task: {(function, module): instructions}}}"""
    found = {}
    with open(os.path.join(directory, "counts"), encoding="utf-8") as file:
        for line in file:
            run, task, address, instructions = line.split()
            counts = found.setdefault(int(run), {}).setdefault(task, collections.Counter())
            counts[symbols.find(int(address, 16)) or ("?", "kernel")] += int(instructions)
    return found


def of_tasks(tasks, mark, role):
    """The counts of all workers; or of the task that ran most of the code that is marked."""
    workers = [counts for counts in tasks.values() if role == "worker" and any(name in WORKS for name, _ in counts)]
    if workers:
        return sum(workers, collections.Counter())
    own = {task: sum(n for name, n in counts.items() if mark(*name)) for task, counts in tasks.items()}
    return tasks[max(own, key=own.get)] if own and max(own.values()) else {}


def top(counts, number, whole=None):
    """[[function, module, share, ns of a packet]], the costliest first; without its time for one less the last."""
    total = sum(counts.values())
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [[name, module, units.percent(n / total)] + ([f"{whole * n / total:.1f}"] if whole else [])
            for (name, module), n in ordered[:number]]


def by_module(counts):
    total = sum(counts.values())
    sums = {}
    for (_, module), n in counts.items():
        sums[module] = sums.get(module, 0) + n
    return ", ".join(f"{module} {units.percent(n / total)}" for module, n in sorted(sums.items(), key=lambda i: -i[1]))


def rows_of(directory, metric):
    """{backend: value}, where the run said so: ns for a packet, or packets that were counted."""
    path = os.path.join(directory, "rows.txt")
    if not os.path.exists(path):
        return {}
    return {row.get("backend"): row.value for row in rows.Results.load(directory).select(metric=metric)}


def side_by_side(tables):
    """Each backend's functions beside the other's: [(heading, lines of cells)] -> lines of text."""
    blocks = [[title] + columns.columns_text(head, lines) for title, head, lines in tables]
    width = [max(len(line) for line in block) for block in blocks]
    return ["   ".join((block[i] if i < len(block) else "").ljust(width[b]) for b, block in enumerate(blocks)).rstrip()
            for i in range(max(len(block) for block in blocks))]


def modules_of(backend):
    return MODULES[next(name for name in MODULES if backend.startswith(name))]


def counts_of(directory, backend, symbols, number, role):
    mark = known_by(role, backend)
    if is_counted(directory):
        counts = of_tasks(read_counts(directory, symbols).get(number, {}), mark, role)
        if not counts:
            sys.exit(f"no instructions of {backend}'s {role} were counted")
        print(f"{backend}: {by_module(counts)}")
        return counts
    samples = read_samples(os.path.join(directory, f"{backend}.samples"), symbols)
    counts = count(samples, mark, role)
    if not counts:
        sys.exit(f"no samples of {backend}'s {role} among {len(samples)}")
    print(f"{backend}: the {role} had {sum(counts.values())} of {len(samples)} samples; {by_module(counts)}")
    return counts


def main(directory, kernel, number, role, backends):
    symbols = read_symbols(directory, kernel)
    counted = is_counted(directory)
    unit, said = ("instructions", "counted") if counted else ("ns", role)
    values = rows_of(directory, said)
    tables = []
    print()
    for run, backend in enumerate(backends, 1):
        counts = counts_of(directory, backend, symbols, run, role)
        whole = values.get(backend)
        if counted:
            whole = sum(counts.values()) / whole
        head = ["function", "of", "share"] + ([unit] if whole else [])
        title = backend + (f" ({whole:.1f} {unit} of the {role} for a packet)" if whole else "")
        tables.append((title, head, top(counts, number, whole)))
    print()
    print("\n".join(side_by_side(tables)))

