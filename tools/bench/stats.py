# SPDX-License-Identifier: GPL-2.0
"""Statistics of a few samples: no library, no assumption of a normal distribution."""

import math
import random

ALPHA = 0.01		# of a test: one in a hundred equal rows is called changed
RESAMPLES = 2000
INNER = 50		# resampled medians of each repetition's slices
TENTH = 0.1		# of a sample's slices: those that were disturbed least
METHOD = ("The smallest difference that a row resolves: 4.5 s sqrt(2/n) / median, with s = 1.48 times the median absolute "
          "deviation of its n samples. That is the shift which a two-sided test at 1 % between two such runs finds in about "
          "eight cases of ten; fewer than five samples resolve nothing at that level.")


def median(values):
    ordered = sorted(values)
    half = len(ordered) // 2
    if not ordered:
        raise ValueError("median of nothing")
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def mean(values):
    return math.fsum(values) / len(values)


def sigma(values):
    """Standard deviation of a sample."""
    if len(values) < 2:
        return 0.0
    m = mean(values)
    return math.sqrt(math.fsum((v - m) ** 2 for v in values) / (len(values) - 1))


def mad(values):
    """Median absolute deviation, scaled to be sigma for a normal distribution."""
    m = median(values)
    return 1.4826 * median([abs(v - m) for v in values])


def interval(values, level=0.95, seed=1):
    """Interval of the median, by bootstrap: the same input gives the same."""
    if len(values) < 2:
        return values[0], values[0]
    draw = random.Random(seed)
    medians = sorted(median(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    cut = int(len(medians) * (1 - level) / 2)
    return medians[cut], medians[-1 - cut]


def resolves(values):
    """Smallest relative difference that can be told, see METHOD; None: none."""
    n = len(values)
    m = abs(median(values))
    if n < 5 or m == 0:
        return None
    return 4.5 * mad(values) * math.sqrt(2 / n) / m


def ranks(values):
    """Ranks from 1, equal values share their mean rank; and sizes of the ties."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    rank = [0.0] * len(values)
    ties = []
    at = 0
    while at < len(order):
        end = at
        while end < len(order) and values[order[end]] == values[order[at]]:
            end += 1
        for i in order[at:end]:
            rank[i] = (at + 1 + end) / 2
        ties.append(end - at)
        at = end
    return rank, ties


def exact_p(doubled, n, total, observed):
    """Share of all choices of n ranks whose sum is as far from the middle."""
    ways = [{} for _ in range(n + 1)]
    ways[0][0] = 1
    for r in doubled:
        for k in range(n - 1, -1, -1):
            for s, count in ways[k].items():
                ways[k + 1][s + r] = ways[k + 1].get(s + r, 0) + count
    middle = n * total / len(doubled)
    far = abs(observed - middle)
    every = sum(ways[n].values())
    return sum(c for s, c in ways[n].items() if abs(s - middle) >= far - 1e-9) / every


def mann_whitney(a, b):
    """Two-sided p of Mann-Whitney's U test: exact for few samples, ties included."""
    if not a or not b:
        return 1.0
    rank, ties = ranks(list(a) + list(b))
    n, m = len(a), len(b)
    if n + m <= 40:
        doubled = [int(round(2 * r)) for r in rank]
        return min(1.0, exact_p(doubled, n, sum(doubled), sum(doubled[:n])))
    u = sum(rank[:n]) - n * (n + 1) / 2
    t = sum(t ** 3 - t for t in ties)
    var = n * m / 12 * ((n + m + 1) - t / ((n + m) * (n + m - 1)))
    if var <= 0:
        return 1.0
    z = max(0.0, abs(u - n * m / 2) - 0.5) / math.sqrt(var)
    return math.erfc(z / math.sqrt(2))


def best_tenth(values, more_is_better):
    """The value that a tenth of the slices reach."""
    ordered = sorted(values, reverse=more_is_better)
    return ordered[int(len(ordered) * TENTH)]


def paired(top, bottom):
    """{rep: [values]} each: the ratios of what was measured side by side, a list for each repetition."""
    found = []
    for rep in sorted(top):
        above, below = top[rep], bottom.get(rep, [])
        if len(above) != len(below) and below:
            above, below = [median(above)], [median(below)]
        group = [a / b for a, b in zip(above, below) if b]
        if group:
            found.append(group)
    return found


def ratio_of(groups):
    """Of lists of ratios: the median of their medians."""
    return median([median(group) for group in groups])


def interval_of(groups, level=0.95, seed=1):
    """Interval of ratio_of(), by bootstrap of the repetitions and, in each, of the slices."""
    draw = random.Random(seed)
    inner = [[median(draw.choices(group, k=len(group))) for _ in range(INNER)] if len(group) > 1 else group for group in groups]
    if len(groups) == 1 and len(inner[0]) == 1:
        return inner[0][0], inner[0][0]
    found = sorted(median([draw.choice(draw.choice(inner)) for _ in groups]) for _ in range(RESAMPLES))
    cut = int(len(found) * (1 - level) / 2)
    return found[cut], found[-1 - cut]
