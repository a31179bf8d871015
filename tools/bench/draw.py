# SPDX-License-Identifier: GPL-2.0
"""Plots by matplotlib: bars, lines and ratios, with the spread of the samples.

A plot gets numbers that are scaled already, and names. It is drawn in light colours,
which every viewer shows; on a page each of them becomes a CSS variable, so that
there is a dark set, too. A page has each plot twice: broad, and for a narrow screen.
"""

import html
import io
import math
import re

import matplotlib
from matplotlib import ticker
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

import units

matplotlib.use("svg")

BROAD, SLIM = 760, 350		# width, of 1/72 inch; also what a line of 11 units high is read at
SLIM_BELOW = 640		# pixels of a screen
SIZE, SMALL = 11, 9.5
# name: light, dark
INKS = {"ink": ("#1c2733", "#e4eaf0"), "soft": ("#5b6b7a", "#9aa8b5"), "grid": ("#dfe5ea", "#2c3843"), "paper": ("#ffffff", "#151c23")}
COLOURS = (("#0b6bcb", "#5aa9ff"), ("#d9822b", "#f0a35e"), ("#1e8e5a", "#4cc38a"), ("#b0539b", "#d68ac6"),
           ("#c23b3b", "#f07f7f"), ("#3aa6b9", "#6fd3e3"), ("#77838f", "#a3adb8"), ("#8a6d1d", "#d0b45c"),
           ("#6554c0", "#a79bf0"), ("#2f4b7c", "#8fb3e0"), ("#a05195", "#e0a3d4"), ("#5a7d1c", "#a9cc66"), ("#665a48", "#b5a893"),
           ("#d1495b", "#ff9aa6"), ("#c9a227", "#f2d675"), ("#3f4a54", "#c4ced8"), ("#8c4a2f", "#dba17f"))
BETTER, WORSE, EVEN = 0, 4, 6	# of COLOURS
VARIABLES = {light: f"--{name}" for name, (light, _) in INKS.items()} | {light: f"--s{i}" for i, (light, _) in enumerate(COLOURS)}
INK, SOFT, GRID, PAPER = (light for light, _ in INKS.values())
STYLES = {"font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans", "sans-serif"], "font.size": SIZE, "text.color": INK,
          "axes.edgecolor": SOFT, "axes.labelcolor": SOFT, "axes.facecolor": "none", "axes.spines.top": False, "axes.spines.right": False,
          "axes.spines.left": False, "axes.axisbelow": True, "xtick.color": SOFT, "ytick.color": SOFT, "xtick.labelcolor": INK,
          "ytick.labelcolor": SOFT, "xtick.labelsize": SIZE, "ytick.labelsize": SMALL, "ytick.major.size": 0, "grid.color": GRID,
          "legend.frameon": False, "legend.fontsize": SIZE, "figure.facecolor": PAPER, "svg.fonttype": "none", "path.simplify": False}


def escape(text):
    return html.escape(str(text), quote=True)


def style():
    """The colours, for a page: light, dark, and which of a plot's two drawings is shown."""
    light, dark = ("".join(f"--{name}:{pair[i]};" for name, pair in INKS.items()) + "".join(f"--s{n}:{pair[i]};" for n, pair in enumerate(COLOURS))
                   for i in (0, 1))
    return (f":root{{{light}color-scheme:light dark}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"
            f".slim{{display:none}}@media (max-width:{SLIM_BELOW}px){{.broad{{display:none}}.slim{{display:block}}}}")


class Picture:
    """paint(canvas) draws; it is asked for each width."""

    def __init__(self, label, paint):
        self.label, self.paint = label, paint

    def page(self):
        """Both, for an HTML page."""
        return "".join(f'<div class="{name}">{self.inline(width, name)}</div>' for name, width in (("broad", BROAD), ("slim", SLIM)))

    def inline(self, width, name):
        text = self.element(width, f"{self.label}, {name}")
        text = re.sub(r"#[0-9a-f]{6}", lambda m: f"var({VARIABLES[m[0]]})" if m[0] in VARIABLES else m[0], text)
        # without matplotlib's metadata
        return re.sub(r'<svg [^>]*?(viewBox="[^"]*")[^>]*>', rf'<svg \1 role="img" aria-label="{escape(self.label)}">', text, count=1)

    def file(self, caption):
        """For a viewer of pictures: with title and caption."""
        text = self.element(BROAD, self.label)
        height = float(re.search(r'viewBox="0 0 \S+ ([\d.]+)"', text)[1])
        words = (f'<rect x="0" y="-30" width="{BROAD}" height="{height + 60}" fill="{PAPER}"/>'
                 f'<text x="12" y="-10" font-family="DejaVu Sans, sans-serif" font-size="13" font-weight="bold" fill="{INK}">{escape(self.label)}</text>'
                 f'<text x="12" y="{height + 16}" font-family="DejaVu Sans, sans-serif" font-size="{SMALL}" fill="{SOFT}">{escape(caption)}</text>')
        head = f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="{BROAD}" height="{height + 60}" ' \
               f'viewBox="0 -30 {BROAD} {height + 60}">{words}'
        return re.sub(r"<svg [^>]*>", lambda _: head, text, count=1)

    def element(self, width, salt):
        """matplotlib's text, less what a page does not need; names in it are its own."""
        # names of markers and clipped areas are made from the salt: they are unique on a page
        with matplotlib.rc_context(dict(STYLES, **{"svg.hashsalt": salt})):
            canvas = Canvas(width)
            self.paint(canvas)
            found = io.StringIO()
            canvas.figure.savefig(found, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
        text = found.getvalue()
        text = text[text.index("<svg "):]
        text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.S)
        text = re.sub(r'<g id="tip(\d+)">', lambda m: f"<g><title>{escape(canvas.tips[int(m[1])])}</title>", text)
        text = re.sub(r' id="[A-Za-z0-9.]+_\d+"', "", text)
        return re.sub(r"\s*\n\s*", "\n", text)


class Canvas:
    """A figure with one pair of axes, measured in units of 1/72 inch."""

    def __init__(self, width):
        self.width, self.slim = width, width < BROAD
        self.figure = Figure()
        self.axes = self.figure.add_subplot()
        self.tips = []

    def place(self, height, left, right, top, bottom):
        self.left, self.right = left, right
        self.figure.set_size_inches(self.width / 72, height / 72)
        self.figure.subplots_adjust(left / self.width, bottom / height, 1 - right / self.width, 1 - top / height)

    def inner(self):
        return self.width - self.left - self.right

    def tip(self, artist, text):
        artist.set_gid(f"tip{len(self.tips)}")
        self.tips.append(text)

    def legend(self, handles):
        """Above the axes; returns how high it is."""
        if not handles:
            return 14
        longest = max(len(handle.get_label()) for handle in handles)
        columns = max(1, min(len(handles), int((self.width - 24) // (46 + 6.6 * longest))))
        self.figure.legend(handles=handles, loc="upper left", ncol=columns, bbox_to_anchor=(0, 1), borderaxespad=0.3, handlelength=1.4,
                           handleheight=0.9, columnspacing=1.4, labelspacing=0.35)
        return 18 * -(-len(handles) // columns) + 24

    def values(self, unit, low, high, log):
        """Grid and figures of the vertical axis."""
        axis = self.axes.yaxis
        if log:
            low, high = math.floor(math.log10(low)), math.ceil(math.log10(high))
            self.axes.set_yscale("log")
            self.axes.set_ylim(10.0 ** low, 10.0 ** max(high, low + 1))
            axis.set_minor_locator(ticker.NullLocator())
        else:
            locator = ticker.MaxNLocator(5, steps=[1, 2, 2.5, 5, 10])
            marks = locator.tick_values(0, high or 1)
            self.axes.set_ylim(0, next((mark for mark in marks if mark >= high * 0.999 and mark > 0), 1))
            axis.set_major_locator(locator)
        axis.set_major_formatter(lambda value, _: units.digits(value))
        self.axes.grid(axis="y", linewidth=0.8)
        self.axes.annotate(unit, (0, 1), (-6, 8), xycoords="axes fraction", textcoords="offset points", ha="right", color=SOFT, size=SMALL)


def keys(names, references):
    found = [Patch(facecolor=COLOURS[colour][0], label=name) for name, colour in names]
    return found + [Line2D([], [], color=SOFT, linestyle=(0, (4, 3)), linewidth=1.4, label=name) for name in references]


def group_labels(canvas, labels, span):
    """On one line, on two, or, where there is no room, upright; returns the room below that they take."""
    fits = lambda text: len(text) * 6.4 <= span	# noqa: E731
    if all(map(fits, labels)):
        canvas.axes.set_xticks(range(len(labels)), labels)
        return 28
    parted = [label.replace(" ", "\n", 1) for label in labels]
    if all(fits(part) for label in parted for part in label.split("\n")):
        canvas.axes.set_xticks(range(len(labels)), parted)
        return 42
    canvas.axes.set_xticks(range(len(labels)), labels, rotation=90)
    return 16 + 6.6 * max(map(len, labels), default=0)


def bars(title, groups, names, unit, references=()):
    """
    groups: [(label, {series: (values, median)})]; names: [(series, colour)];
    references: [(label, group label or None, value)].
    """
    every = [v for _, series in groups for values, _ in series.values() for v in values]
    top = max(every + [value for _, _, value in references], default=1)

    def paint(canvas):
        high = canvas.legend(keys(names, list(dict.fromkeys(label for label, _, _ in references))))
        canvas.left, canvas.right = (58, 10) if not canvas.slim else (46, 4)
        span = canvas.inner() / max(len(groups), 1)
        bottom = group_labels(canvas, [label for label, _ in groups], span)
        canvas.place(high + 200 + bottom, canvas.left, canvas.right, high, bottom)
        canvas.axes.set_xlim(-0.5, len(groups) - 0.5)
        canvas.axes.tick_params(axis="x", length=0)
        canvas.values(unit, 0, top, False)
        width = min(46 / span, 0.84 / max(len(names), 1))
        for at, (label, series) in enumerate(groups):
            shown = [(name, colour) for name, colour in names if name in series]
            for i, (name, colour) in enumerate(shown):
                values, middle = series[name]
                bar(canvas, at + (i - (len(shown) - 1) / 2) * width, width, width * span, values, middle, COLOURS[colour][0],
                    f"{name}, {label}: {units.digits(middle)} {unit}")
            for _, where, value in references:
                if where in (None, label):
                    canvas.axes.hlines(value, at - 0.46, at + 0.46, color=SOFT, linewidth=1.4, linestyle=(0, (4, 3)))

    return Picture(title, paint)


def bar(canvas, x, width, pixels, values, middle, colour, tip):
    found = canvas.axes.bar(x, middle, width * 0.84, color=colour, alpha=0.85)
    canvas.tip(found[0], tip)
    if len(values) > 1:
        canvas.axes.errorbar(x, middle, [[middle - min(values)], [max(values) - middle]], fmt="none", ecolor=INK, elinewidth=1.2,
                             capsize=min(4, pixels / 4), capthick=1.2)
    if 1 < len(values) <= 40 and pixels >= 12:
        sides = [x + width * 0.24 * (-1 if i % 2 else 1) for i in range(len(values))]
        canvas.axes.plot(sides, values, linestyle="none", marker="o", markersize=2.6, markerfacecolor=PAPER, markeredgecolor=INK,
                         markeredgewidth=0.6, alpha=0.8)
    text = units.digits(middle)
    if pixels >= 6.2 * len(text):
        canvas.axes.annotate(text, (x, max(values)), (0, 3), textcoords="offset points", ha="center", size=SMALL)


def lines(title, series, names, unit, xname, references=(), xlog=False, ylog=False):
    """
    series: {name: [(x, values, median)]}; references: {label: level}.
    """
    references = dict(references)
    every = [v for points in series.values() for _, values, _ in points for v in values]
    every += references.values()
    places = sorted({x for points in series.values() for x, _, _ in points})
    positive = [v for v in every if v > 0]
    ylog = ylog and bool(positive)
    xlog = xlog and min(places, default=0) > 0

    def paint(canvas):
        high = canvas.legend(keys([(name, colour) for name, colour in names if name in series], references))
        canvas.place(high + 220 + 46, 58 if not canvas.slim else 46, 16, high, 46)
        canvas.values(unit, min(positive, default=1), max(every, default=1), ylog)
        for level in references.values():
            canvas.axes.axhline(level, color=SOFT, linewidth=1.4, linestyle=(0, (4, 3)))
        for name, colour in names:
            curve(canvas, name, series.get(name, []), COLOURS[colour][0], xname, unit)
        if xlog:
            canvas.axes.set_xscale("log")
        canvas.axes.margins(x=0.04)
        label_places(canvas, places, xlog)
        canvas.axes.set_xlabel(xname)

    return Picture(title, paint)


def curve(canvas, name, points, colour, xname, unit):
    axes = canvas.axes
    if any(len(values) > 1 for _, values, _ in points):
        axes.fill_between([x for x, _, _ in points], [min(values) for _, values, _ in points], [max(values) for _, values, _ in points],
                          color=colour, alpha=0.15, linewidth=0)
    axes.plot([x for x, _, _ in points], [at for _, _, at in points], color=colour, linewidth=1.8)
    for x, _, at in points:
        mark, = axes.plot([x], [at], color=colour, marker="o", markersize=5.5, linestyle="none")
        canvas.tip(mark, f"{name}, {xname} {units.digits(x)}: {units.digits(at)} {unit}")


def label_places(canvas, places, log):
    """A mark for each x that was measured, as far as there is room."""
    way = math.log if log else float
    low, high = (way(places[0]), way(places[-1])) if places else (0, 1)
    shown, last = [], -100.0
    for x in places:
        at = canvas.inner() * 0.92 * ((way(x) - low) / (high - low) if high > low else 0.5)
        if at - last >= 7 * len(f"{x:g}") + 8:
            shown.append(x)
            last = at
    canvas.axes.set_xticks(shown, [f"{x:g}" for x in shown])
    canvas.axes.xaxis.set_minor_locator(ticker.NullLocator())


def forest(title, entries):
    """Ratios around 1: entries are (label, median, low, high, colour)."""
    every = [v for _, *values, _ in entries for v in values if 0 < v < math.inf]
    # 4 in 5 each way at least, so that noise looks like noise; 4 times at most
    spread = min(max([math.log(1.25)] + [abs(math.log(v)) for v in every]) * 1.05, math.log(4))
    first, last = math.exp(-spread), math.exp(spread)

    def paint(canvas):
        # where it is narrow, a label stands above its line
        step = 19 if not canvas.slim else 31
        left = min(300, 20 + 6.7 * max(len(entry[0]) for entry in entries)) if not canvas.slim else 10
        height = 14 + step * len(entries) + 26
        canvas.place(height, left, 52, 14, 26)
        axes = canvas.axes
        axes.set_xscale("log")
        axes.set_xlim(first, last)
        axes.set_ylim(len(entries) - 0.5, -0.5 if not canvas.slim else -0.75)
        axes.set_yticks([])
        axes.spines["bottom"].set_visible(False)
        ratio_marks(canvas, first, last, spread)
        for i, (label, at, low, high, colour) in enumerate(entries):
            if canvas.slim:
                axes.annotate(label, (0, i), (0, 7), xycoords=axes.get_yaxis_transform(), textcoords="offset points", size=SMALL)
            else:
                room = int((left - 14) / 6.4)
                text = label if len(label) <= room else label[:room - 1] + "…"
                axes.annotate(text, (0, i), (-12, 0), xycoords=axes.get_yaxis_transform(), textcoords="offset points", ha="right", va="center")
            between = [min(max(v, first), last) for v in (low, high)]
            if high < math.inf:
                axes.hlines(i, *between, color=COLOURS[colour][0], linewidth=2.4)
            mark, = axes.plot([min(max(at, first), last)], [i], marker="o", markersize=7, color=COLOURS[colour][0], clip_on=False)
            canvas.tip(mark, f"{label}: {at:.3f}")
            axes.annotate(f"{at:.2f}", (1, i), (10, 0), xycoords=axes.get_yaxis_transform(), textcoords="offset points", va="center", weight="bold",
                          size=SMALL)

    return Picture(title, paint)


def ratio_marks(canvas, first, last, spread):
    """The ones that matter first, others where there is room."""
    shown = []
    place = lambda mark: canvas.inner() * (math.log(mark) + spread) / (2 * spread)	# noqa: E731
    for mark in (1, 0.5, 2, 0.25, 4, 0.8, 1.25, 0.67, 1.5, 0.9, 1.1, 0.33, 3):
        if first <= mark <= last and all(abs(place(mark) - place(other)) > 34 for other in shown):
            shown.append(mark)
    canvas.axes.set_xticks(shown, [f"{mark:g}" for mark in shown], size=SMALL)
    canvas.axes.xaxis.set_minor_locator(ticker.NullLocator())
    canvas.axes.tick_params(axis="x", length=0, labelcolor=SOFT)
    canvas.axes.grid(axis="x", linewidth=0.8)
    canvas.axes.axvline(1, color=SOFT, linewidth=1)
