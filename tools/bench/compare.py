# SPDX-License-Identifier: GPL-2.0
"""What changed between two runs.

A machine's speed wanders from one run to the next, so samples of two runs are
not compared as they are where a peer was measured beside them: the ratio to it
in the same repetition is, slice by slice. Rows without a peer (the peer's own, too) are compared
as they are: what changes there may be the machine.
"""

from rows import better
import stats
import units

PEER = "vhost_net"


class Change:
    def __init__(self, key, old, new, by_ratio):
        self.key, self.old, self.new, self.by_ratio = key, old, new, by_ratio
        self.p = stats.mann_whitney(old, new)
        self.before, self.after = stats.median(old), stats.median(new)
        self.relative = self.after / self.before - 1 if self.before else (0.0 if not self.after else float("inf"))
        self.few = min(len(old), len(new)) < 5

    def verdict(self):
        if self.p > stats.ALPHA:
            if self.few and self.old != self.new:
                return "too few samples"
            return "no difference"
        return "better" if self.relative * better(self.key.fixed["unit"]) > 0 else "worse"


def peers(results):
    """{identity without backend: {rep: value}} of the peer."""
    return {key.without("backend"): pairs for key, pairs in results.slices(backend=PEER).items()}


def ratios(slices, against):
    return [stats.median(group) for group in stats.paired(slices, against)]


def samples(results, use):
    """{Key: (values, by_ratio)}; 'use': keys that have a peer in both runs."""
    found = {}
    against, slices = peers(results), results.slices()
    for key, pairs in results.pairs().items():
        values = None
        if key in use:
            values = ratios(slices[key], against[key.without("backend")])
        found[key] = (values, True) if values else ([pairs[rep] for rep in sorted(pairs)], False)
    return found


def with_peer(results):
    against = peers(results)
    return {key for key, slices in results.slices().items() if key.fixed["backend"] != PEER
            and ratios(slices, against.get(key.without("backend"), {}))}


def compare(old, new):
    """Changes of the rows that both have, and the keys that only one has."""
    use = with_peer(old) & with_peer(new)
    before, after = samples(old, use), samples(new, use)
    changes = [Change(key, before[key][0], after[key][0], before[key][1]) for key in before if key in after]
    return changes, [k for k in before if k not in after], [k for k in after if k not in before]


def show(change, values):
    """Median and spread, of ratios or of the values themselves."""
    if change.by_ratio:
        return f"x{stats.median(values):.3f} ({min(values):.3f}..{max(values):.3f})"
    divisor, name = units.scale_for(values, change.key.fixed["unit"])
    middle, low, high = (units.digits(v / divisor) for v in (stats.median(values), min(values), max(values)))
    return f"{middle} ({low}..{high}) {name}".strip()
