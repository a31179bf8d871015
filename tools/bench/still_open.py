# SPDX-License-Identifier: GPL-2.0
"""
Which tests cannot tell differences of some per cent yet? How far a backend is from its twin says.

inside/native.py asks between two repetitions, inside User-Mode Linux: nothing but Python's own
library is needed for it.
"""

import math
import statistics

import rows

WITHIN = 0.05  # what a twin may differ, with its interval
TWIN = "-twin"
# the middle of a distribution; its ends would need more than a lane has
USUAL = ("pps", "rate", "worker", "p50", "sender")


def ratio(top, bottom):
    """
    The median of the ratios, slice by slice; None: mostly nothing, of a worker that was not woken,
    is no measure.
    """
    if len(top) != len(bottom):
        return None
    found = [a / b for a, b in zip(top, bottom) if b > 0]
    return statistics.median(found) if 2 * len(found) > len(top) else None


def rank(n):
    """
    Of n sorted values the interval of the sign test, 95 % or more, goes from the value of this rank
    to that from above; 0: too few. So often, or less, does a coin fall on one side.
    """
    below, at = 0.5 ** n, 0
    while below < 0.025:
        at += 1
        below += math.comb(n, at) * 0.5 ** n
    return at


def is_open(ratios, within=WITHIN):
    ordered, at = sorted(ratios), rank(len(ratios))
    return not at or ordered[at - 1] < 1 - within or ordered[-at] > 1 + within


def open_tests(results, within=WITHIN):
    """Their words, as in the plan: "test=pps dir=tx size=64"."""
    slices = {key: found for key, found in results.slices().items() if key.get("metric") in USUAL}
    under = {(key.get("backend"), key.without("backend")): found for key, found in slices.items()}
    found = {}
    for key, twin in slices.items():
        backend = key.get("backend")
        if not backend.endswith(TWIN):
            continue
        of = under.get((backend[:-len(TWIN)], key.without("backend")), {})
        ratios = [ratio(values, of.get(rep, [])) for rep, values in twin.items()]
        ratios = [value for value in ratios if value]
        params = {"test": key.get("test"), **key.params}
        words = " ".join(f"{name}={value}" for name, value in params.items())
        if ratios:
            found[words] = found.get(words, False) or is_open(ratios, within)
    return [words for words, still in found.items() if still]
