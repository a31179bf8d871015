# SPDX-License-Identifier: GPL-2.0
"""Plots of a report; their numbers come from the rows, their shapes from draw.py."""

import math

import chance
from columns import columns_text
import draw
import items
import rows
import stats
import units


def verdict(at, low, high, need, own=None):
    """need: how far from 1 a ratio gets by chance, if that is known; own: the same of this row alone"""
    if high == math.inf:
        return "too few samples"
    if low <= 1 <= high or abs(at - 1) <= (need or 0):
        return "cannot tell" if own and own > chance.TOLD else "even"
    return "better" if at > 1 else "worse"


class Plot(items.Item):
    def draw(self, results):
        """The picture, or None without rows."""
        raise NotImplementedError

    def text(self, results):
        return []

    def html(self, results, plots):
        picture = self.draw(results)
        if not picture:
            return f'<p class="nothing">{items.NOTHING}</p>'
        lanes = ", ".join(self.lanes(results))
        plots.append((picture, f"Lane {lanes}. What a lane cannot show is said in report.html."))
        return f"<figure>{picture.page()}</figure>"


class Bars(Plot):
    """Groups of bars: medians; whiskers from the least to the most; dots: samples."""

    def __init__(self, where, x="size", title="", reference=()):
        self.where, self.title = where, title
        self.x = (x,) if isinstance(x, str) else tuple(x)
        self.reference = list(reference)

    def draw(self, results):
        found = {k: v for k, v in results.series(**self.where).items() if not chance.is_twin(k.get("backend"))}
        if not found:
            return None
        unit = next(iter(found)).get("unit")
        every = [v for values in found.values() for v in values] + [ref.value for ref in self.reference]
        divisor, name = units.scale_for(every, unit)
        groups = {}
        for key, values in found.items():
            label = tuple(key.get(k, "") for k in self.x)
            scaled = [v / divisor for v in values]
            groups.setdefault(label, {})[key.get("backend")] = (scaled, stats.median(scaled))
        ordered = sorted(groups.items(), key=lambda g: [items.order(k)(v) for k, v in zip(self.x, g[0])])
        names = items.colours({n for _, s in ordered for n in s})
        refs = [(ref.label, ref.x and str(ref.x), ref.value / divisor) for ref in self.reference]
        return draw.bars(self.title, [(" ".join(filter(None, label)), s) for label, s in ordered], names, name, refs)


class Lines(Plot):
    """A curve for each series over a number."""

    def __init__(self, where, x="size", title="", reference=(), xlog=False, ylog=False):
        self.where, self.x, self.title = where, x, title
        self.reference, self.xlog, self.ylog = list(reference), xlog, ylog

    def draw(self, results):
        found = {k: v for k, v in results.series(**self.where).items() if rows.is_number(k.get(self.x, "")) and not chance.is_twin(k.get("backend"))}
        if not found:
            return None
        unit = next(iter(found)).get("unit")
        every = [v for values in found.values() for v in values] + [ref.value for ref in self.reference]
        divisor, name = units.scale_for(every, unit)
        series = {}
        for key, values in found.items():
            scaled = [v / divisor for v in values]
            series.setdefault(key.get("backend"), []).append((float(key.get(self.x)), scaled, stats.median(scaled)))
        for points in series.values():
            points.sort(key=lambda p: p[0])
        refs = {ref.label: ref.value / divisor for ref in self.reference}
        return draw.lines(self.title, series, items.colours(series), name, self.x, refs, self.xlog, self.ylog)


class Ratios(Plot):
    """The ratio of two backends, row by row, with the interval of its median."""

    def __init__(self, where, title="", ratio=("kvnet", "vhost_net")):
        self.where, self.title = where, title
        self.several = not isinstance(ratio[0], str)	# then each line says which two
        self.ratios = list(ratio) if self.several else [ratio]

    def entries(self, results):
        """[(label, median, low, high, verdict)]: above 1 the first is better."""
        return [entry for ratio in self.ratios for entry in self.entries_of(results, ratio)]

    def entries_of(self, results, ratio):
        top = results.slices(**dict(self.where, backend=ratio[0]))
        bottom = {k.without("backend"): v for k, v in results.slices(**dict(self.where, backend=ratio[1])).items()}
        one = len({(key.get("test"), key.get("metric")) for key in top}) == 1
        found = []
        for key, slices in top.items():
            groups = stats.paired(slices, bottom.get(key.without("backend"), {}))
            if not groups or min(map(min, groups)) <= 0:
                continue
            if rows.better(key.get("unit")) < 0:
                groups = [[1 / v for v in group] for group in groups]
            at, (low, high) = stats.ratio_of(groups), (0, math.inf)
            if len(groups) >= chance.enough(key.get("lane")):
                low, high = stats.interval_of(groups)
            found.append((self.label(key, ratio, one), at, low, high, verdict(at, low, high, chance.of(results).of(key), chance.of(results).own(key))))
        return found

    def label(self, key, ratio, one):
        """What the line is about; where there is room for little, no more than what differs."""
        if not self.several:
            params = [v if k == "dir" else f"{k} {v}" for k, v in key.params.items()]
            return " ".join([key.get("test")] + params + [key.get("metric")])
        words = list(key.params.values())
        return f"{ratio[0]} / {ratio[1]}: " + " ".join(words if one else [key.get("test")] + words + [key.get("metric")])

    def draw(self, results):
        found = self.entries(results)
        if not found:
            return None
        colour = {"better": draw.BETTER, "worse": draw.WORSE}
        return draw.forest(self.title, [entry[:4] + (colour.get(entry[4], draw.EVEN),) for entry in found])

    def text(self, results):
        lines = [[label, f"{at:.3f}", f"{low:.3f}..{high:.3f}" if high < math.inf else "", said]
                 for label, at, low, high, said in self.entries(results)]
        return columns_text(["better by", "median", "interval", ""], lines) if lines else [items.NOTHING]
