# SPDX-License-Identifier: GPL-2.0
"""Statistics of a few samples, by SciPy: no assumption of a normal distribution."""

import math
import statistics

import numpy
import scipy.stats

ALPHA = 0.01		# of a test: one in a hundred equal rows is called changed
RESAMPLES = 2000
INNER = 50		# resampled medians of each repetition's slices
TENTH = 0.1		# of a sample's slices: those that were disturbed least
EVERY_ORDER = 200000	# so many are tried one by one
METHOD = ("The smallest difference that a row resolves: 4.5 s sqrt(2/n) / median, with s = 1.48 times the median absolute "
          "deviation of its n samples. That is the shift which a two-sided test at 1 % between two such runs finds in about "
          "eight cases of ten; fewer than five samples resolve nothing at that level.")

median = statistics.median
mean = statistics.fmean


def sigma(values):
    """Standard deviation of a sample."""
    return statistics.stdev(values) if len(values) > 1 else 0.0


def mad(values):
    """Median absolute deviation, scaled to be sigma for a normal distribution."""
    return float(scipy.stats.median_abs_deviation(values, scale="normal"))


def resolves(values):
    """Smallest relative difference that can be told, see METHOD; None: none."""
    n = len(values)
    m = abs(median(values))
    if n < 5 or m == 0:
        return None
    return 4.5 * mad(values) * math.sqrt(2 / n) / m


def mann_whitney(a, b):
    """Two-sided p of Mann-Whitney's U test: exact for few samples, ties included."""
    if not a or not b or len(set(a) | set(b)) == 1:
        return 1.0
    n, m = len(a), len(b)
    ties = len(set(a) | set(b)) < n + m
    if ties and math.comb(n + m, n) <= EVERY_ORDER:
        return tied(scipy.stats.rankdata(list(a) + list(b)), n)
    method = "exact" if not ties and n + m <= 40 else "asymptotic"
    return float(scipy.stats.mannwhitneyu(a, b, alternative="two-sided", method=method).pvalue)


def tied(ranks, n):
    """The same where values are equal, which SciPy's exact method takes for different: all orders."""
    middle = n * ranks.mean()
    found = scipy.stats.permutation_test((ranks[:n], ranks[n:]), lambda x, _, axis: abs(x.sum(axis=axis) - middle),
                                         alternative="greater", n_resamples=math.inf, vectorized=True)
    return float(found.pvalue)


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
    """
    Interval of ratio_of(): of the repetitions' medians those between which the sign test has it, in no fewer cases
    than level. Where there are too few for that, by bootstrap of the repetitions and, in each, of the slices, which
    is wider than it need be: the slices' noise is part of their medians already. The same input gives the same.
    """
    if len(groups) == 1:
        groups = [[value] for value in groups[0]]
    middles = sorted(median(group) for group in groups)
    rank = int(scipy.stats.binom.ppf((1 - level) / 2, len(groups), 0.5))
    if rank:
        return middles[rank - 1], middles[-rank]
    if len(groups) == 1:
        return groups[0][0], groups[0][0]
    draw = numpy.random.default_rng(seed)
    inner = numpy.array([numpy.median(draw.choice(group, (INNER, len(group))), axis=1) for group in groups])

    def statistic(which, axis):
        # SciPy resamples one level, the repetitions; of the slices in each a median is drawn here
        which = which.astype(int)
        return numpy.median(inner[which, draw.integers(INNER, size=which.shape)], axis=axis)

    found = scipy.stats.bootstrap((numpy.arange(len(groups)),), statistic, vectorized=True, n_resamples=RESAMPLES,
                                  confidence_level=level, method="percentile", random_state=draw).confidence_interval
    return float(found.low), float(found.high)
