# SPDX-License-Identifier: GPL-2.0
"""
What a difference is worth: a backend beside its twin, which is the same once more
and is measured like any other. How far their ratio, and its interval, is from 1 is
what this run cannot tell from chance.
"""

import statistics

import stats
from still_open import TWIN, USUAL, WITHIN as TOLD  # noqa: F401 (TOLD: what each row should be able to tell)
import units

SLOWED = "-slowed"	# slower by a known share
ENOUGH = 5		# repetitions, for an interval
COUNTED = "icount"	# a lane in which nothing is left to chance but the seed
ENOUGH_COUNTED = 2
# other tasks share the CPU in these, and when they run is chance: they are no measure for
# the other rows
SHARED = ("sender", "crowd", "load", "neighbour")
MOST = 0.9		# of the rows with a twin are told to resolve so much


def is_twin(backend):
    return backend.endswith(TWIN)


def is_shared(key):
    return key.get("test") in SHARED


def enough(lane):
    return ENOUGH_COUNTED if lane == COUNTED else ENOUGH


class Chance:
    def __init__(self, results):
        self.rows = {}	# {identity without backend: (key, groups of ratios, how far from 1)}
        self.idle = set()	# of these, mostly zero: a worker that was not woken
        bottom = {}
        for key, samples in results.slices().items():
            bottom.setdefault(key.get("backend"), {})[key.without("backend")] = samples
        for key, samples in results.slices().items():
            if not is_twin(key.get("backend")):
                continue
            beside = bottom.get(key.get("backend")[:-len(TWIN)], {}).get(key.without("backend"), {})
            groups = stats.paired(samples, beside)
            if len(groups) >= enough(key.get("lane")):
                low, high = stats.interval_of(groups)
                self.rows[key.without("backend")] = (key, groups, max(abs(low - 1), abs(high - 1)))
                if not stats.median([value for values in beside.values() for value in values]):
                    self.idle.add(key.without("backend"))

    def of(self, key):
        """How far from 1 the ratio of this row has to be: None without a twin."""
        own = self.rows.get(key.without("backend"))
        if not own:
            return None
        others = [far for other, _, far in self.rows.values()
                  if is_shared(other) == is_shared(key) and all(other.get(name) == key.get(name) for name in ("lane", "metric"))]
        return max(own[2], statistics.median(others))

    def own(self, key):
        """How far this row's twin is from it, with the interval: None without a twin."""
        found = self.rows.get(key.without("backend"))
        return found and found[2]

    def within(self, lane):
        """(how many rows with a twin tell TOLD, those that do not: [(how far from 1, key)], the worst first)"""
        found = [(far, key) for own, (key, _, far) in self.rows.items()
                 if key.get("lane") == lane and key.get("metric") in USUAL and own not in self.idle]
        cannot = sorted((entry for entry in found if entry[0] > TOLD), key=lambda entry: -entry[0])
        return len(found) - len(cannot), cannot

    def of_lane(self, lane, metric=None):
        """(what nine in ten of the rows resolve, how many there are, the worst, and its key)"""
        found = [(far, str(key), key) for own, (key, _, far) in self.rows.items()
                 if key.get("lane") == lane and not is_shared(key) and own not in self.idle and
                 key.get("metric") in ((metric,) if metric else USUAL)]
        if not found:
            return None
        found.sort(key=lambda entry: entry[:2])
        return found[max(0, -int(-len(found) * MOST // 1) - 1)][0], len(found), found[-1][0], found[-1][2]


def of(results):
    """Asked for by many a line of a report, worked out once."""
    if not hasattr(results, "chance"):
        results.chance = Chance(results)
    return results.chance


def sentences(results):
    """One for each lane: what this run resolves."""
    lines = []
    for lane in dict.fromkeys(row.lane for row in results.rows):
        said = of(results).of_lane(lane)
        if not said:
            lines.append(f"lane {lane}: nothing was measured against itself often enough to say what this run resolves.")
            continue
        share, count, worst, key = said
        by = [f"{metric} {units.percent(found[0])}" for metric in USUAL for found in [of(results).of_lane(lane, metric)] if found]
        lines.append(f"lane {lane}: this run resolves {units.percent(share)} ({', '.join(by)}; "
                     f"of {count} rows measured against themselves the worst: {units.percent(worst)}, {key}).")
        can, cannot = of(results).within(lane)
        lines.append(f"lane {lane}: {can} of {can + len(cannot)} rows can tell {units.percent(TOLD)}, being no further from themselves, interval included; " +
                     ("none cannot." if not cannot else "this run cannot tell it of: " +
                      "; ".join(f"{str(key).partition(' ')[2]} ({units.percent(far)})" for far, key in cannot) + "."))
    return lines
