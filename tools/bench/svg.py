# SPDX-License-Identifier: GPL-2.0
"""Plots as SVG text: bars, lines and ratios, with the spread of the samples.

A plot gets numbers that are scaled already, and names. Colours are CSS classes
(s0, s1, ...), so that a page can have a light and a dark set of them.
"""

import html
import math
import textwrap

import units

WIDTH = 760
LEFT, RIGHT, TOP, BOTTOM = 64, 14, 34, 44
COLOURS = (("#0b6bcb", "#5aa9ff"), ("#d9822b", "#f0a35e"), ("#1e8e5a", "#4cc38a"), ("#b0539b", "#d68ac6"),
           ("#c23b3b", "#f07f7f"), ("#3aa6b9", "#6fd3e3"), ("#77838f", "#a3adb8"), ("#8a6d1d", "#d0b45c"),
           ("#6554c0", "#a79bf0"), ("#2f4b7c", "#8fb3e0"), ("#a05195", "#e0a3d4"), ("#5a7d1c", "#a9cc66"), ("#665a48", "#b5a893"), ("#d1495b", "#ff9aa6"),
           ("#c9a227", "#f2d675"), ("#3f4a54", "#c4ced8"))
STYLE_LIGHT = "".join(f".s{i}{{--c:{c[0]}}}" for i, c in enumerate(COLOURS)) + \
    "svg{--ink:#1c2733;--soft:#5b6b7a;--grid:#dfe5ea;--paper:#fff}"
STYLE_DARK = "".join(f".s{i}{{--c:{c[1]}}}" for i, c in enumerate(COLOURS)) + \
    "svg{--ink:#e4eaf0;--soft:#9aa8b5;--grid:#2c3843;--paper:#151c23}"
STYLE_SHAPES = (
    "svg text{font:12px system-ui,sans-serif;fill:var(--ink)}svg .soft{fill:var(--soft)}svg .small{font-size:10.5px}"
    "svg .name{font-weight:600}"
    ".grid{stroke:var(--grid);stroke-width:1}.axis{stroke:var(--soft);stroke-width:1}"
    ".bar{fill:var(--c);fill-opacity:.82}.key{fill:var(--c)}.dot{fill:var(--paper);fill-opacity:.7;stroke:var(--ink);stroke-width:.7}"
    ".mark{fill:var(--c)}.whisker{stroke:var(--ink);stroke-width:1.3;fill:none}.line{stroke:var(--c);stroke-width:2;fill:none}"
    ".band{fill:var(--c);fill-opacity:.15}.reference{stroke:var(--soft);stroke-width:1.6;stroke-dasharray:5 4;fill:none}"
    ".refmark{fill:var(--paper);stroke:var(--soft);stroke-width:1.6}.range{stroke:var(--c);stroke-width:2.4}")
STYLE = STYLE_LIGHT + "@media (prefers-color-scheme:dark){" + STYLE_DARK + "}" + STYLE_SHAPES


def escape(text):
    return html.escape(str(text), quote=True)


class Picture:
    def __init__(self, height, label, width=WIDTH):
        self.width, self.height, self.label = width, height, label
        self.parts = []

    def tag(self, name, cls, body=None, **attrs):
        words = "".join(f' {k.replace("_", "-")}="{v:.2f}"' if isinstance(v, float) else f' {k.replace("_", "-")}="{escape(v)}"'
                        for k, v in attrs.items())
        end = "/>" if body is None else f">{body}</{name}>"
        self.parts.append(f'<{name} class="{cls}"{words}{end}')

    def text(self, x, y, text, anchor="start", cls=""):
        self.tag("text", cls, escape(text), x=float(x), y=float(y), text_anchor=anchor)

    def line(self, x1, y1, x2, y2, cls):
        self.tag("line", cls, x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2))

    def dot(self, x, y, cls, r=2.3, tip=None):
        self.tag("circle", cls, tip and f"<title>{escape(tip)}</title>", cx=float(x), cy=float(y), r=r)

    def path(self, points, cls, closed=False):
        d = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + ("Z" if closed else "")
        self.tag("path", cls, d=d)

    def svg(self, caption=None):
        """The element; with a caption a file of its own: style, title and notes."""
        if caption is None:
            return self.element(0, self.height, "")
        notes = textwrap.wrap(" ".join(caption), 125)
        tail = "".join(f'<text class="soft small" x="12" y="{self.height + 16 + 14 * i}">{escape(line)}</text>'
                       for i, line in enumerate(notes))
        head = f'<text class="name" x="12" y="-8">{escape(self.label)}</text>'
        return self.element(-26, self.height + 40 + 14 * len(notes), f"<style>{STYLE}svg{{background:var(--paper)}}</style>{head}{tail}")

    def element(self, top, height, extra):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 {top} {self.width} {height}" role="img" '
                f'aria-label="{escape(self.label)}">{extra}{"".join(self.parts)}</svg>')


def ticks(top, count=5):
    """Round numbers from 0 to a little above top."""
    if top <= 0:
        return [0, 1]
    raw = top / count
    size = 10 ** math.floor(math.log10(raw))
    step = next(s * size for s in (1, 2, 2.5, 5, 10) if s * size >= raw * 0.999)
    return [i * step for i in range(int(math.ceil(top / step * 0.999)) + 1)]


def log_ticks(low, high):
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10.0 ** e for e in range(first, max(last, first + 1) + 1)]


class Axis:
    """Values to places, linear or by the logarithm."""

    def __init__(self, low, high, start, end, log=False):
        self.low, self.high, self.start, self.end, self.log = low, high, start, end, log

    def at(self, value):
        low, high = self.low, self.high
        if self.log:
            value, low, high = math.log(max(value, low)), math.log(low), math.log(high)
        share = (value - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)


def legend(picture, names, references):
    """Names of series, then those of references; returns the height of its lines."""
    x, y = LEFT, 14
    for cls, name in names:
        width = 30 + 7.1 * len(name)
        if x + width > picture.width - RIGHT:
            x, y = LEFT, y + 18
        picture.tag("rect", f"key {cls}", x=float(x), y=float(y - 9), width=11, height=11, rx=2)
        picture.text(x + 16, y + 1, name)
        x += width
    for name in references:
        width = 40 + 7.1 * len(name)
        if x + width > picture.width - RIGHT:
            x, y = LEFT, y + 18
        picture.line(x, y - 3, x + 20, y - 3, "reference")
        picture.text(x + 25, y + 1, name, cls="soft")
        x += width
    return y + 20


def value_axis(picture, top, unit, log, low=0.0):
    """Grid and figures on the left; the axis."""
    base = picture.height - BOTTOM
    marks = log_ticks(low, top) if log else ticks(top)
    axis = Axis(marks[0], marks[-1], base, picture.top, log)
    for mark in marks:
        y = axis.at(mark)
        picture.line(LEFT, y, picture.width - RIGHT, y, "grid")
        picture.text(LEFT - 6, y + 4, units.digits(mark), "end", "soft small")
    picture.text(LEFT - 6, picture.top - 9, unit, "end", "soft small")
    return axis


def shorten(text, width):
    room = max(3, int(width / 6.2))
    return text if len(text) <= room else text[:room - 1] + "…"


def label_lines(label, width):
    """One line, or two where it is too long for the room below its bars."""
    first, _, rest = label.partition(" ")
    return [label] if len(label) * 6.6 <= width or not rest else [first, rest]


def bars(title, groups, names, unit, references=()):
    """
    groups: [(label, {series: (values, median)})]; names: [(series, css class)];
    references: [(label, group label or None, value)].
    """
    labels = list(dict.fromkeys(label for label, _, _ in references))
    picture = Picture(310, title)
    picture.top = legend(picture, [(cls, name) for name, cls in names], labels) + 14
    every = [v for _, series in groups for values, _ in series.values() for v in values]
    axis = value_axis(picture, max(every + [value for _, _, value in references], default=1), unit, False)
    base = picture.height - BOTTOM
    span = (picture.width - LEFT - RIGHT) / max(len(groups), 1)
    width = min(46.0, span * 0.82 / max(len(names), 1))
    for g, (label, series) in enumerate(groups):
        middle = LEFT + span * (g + 0.5)
        for i, part in enumerate(label_lines(label, span)):
            picture.text(middle, base + 17 + 14 * i, shorten(part, span), "middle")
        shown = [(name, cls) for name, cls in names if name in series]
        for i, (name, cls) in enumerate(shown):
            values, at = series[name]
            x = middle + (i - (len(shown) - 1) / 2) * width
            bar(picture, axis, base, x, width * 0.84, values, at, cls, f"{name}, {label}: {units.digits(at)} {unit}")
            if width >= 20:
                picture.text(x, axis.at(max(values)) - 5, units.digits(at), "middle", "small")
        for _, where, value in references:
            if where in (None, label):
                picture.line(middle - span * 0.46, axis.at(value), middle + span * 0.46, axis.at(value), "reference")
    picture.line(LEFT, base, picture.width - RIGHT, base, "axis")
    return picture


def bar(picture, axis, base, x, width, values, at, cls, tip):
    y = axis.at(at)
    picture.tag("rect", f"bar {cls}", f"<title>{escape(tip)}</title>", x=float(x - width / 2), y=float(y), width=float(width),
                height=float(max(base - y, 0.8)), rx=1.5)
    if len(values) < 2:
        return
    low, high = axis.at(min(values)), axis.at(max(values))
    picture.path([(x - 4, low), (x + 4, low), (x, low), (x, high), (x - 4, high), (x + 4, high)], "whisker")
    for i, value in enumerate(values):
        picture.dot(x + width * 0.28 * (-1 if i % 2 else 1), axis.at(value), f"dot {cls}", 1.7)


def lines(title, series, names, unit, xname, references=(), xlog=False, ylog=False):
    """
    series: {name: [(x, values, median)]}; references: {label: [(x, value)]}, a
    reference with x None is a level.
    """
    picture = Picture(330, title)
    picture.top = legend(picture, [(cls, name) for name, cls in names], list(references)) + 14
    every = [v for points in series.values() for _, values, _ in points for v in values]
    every += [v for points in references.values() for _, v in points]
    places = [x for points in series.values() for x, _, _ in points]
    places += [x for points in references.values() for x, _ in points if x is not None]
    positive = [v for v in every if v > 0]
    ylog = ylog and bool(positive)
    yaxis = value_axis(picture, max(every, default=1), unit, ylog, min(positive, default=1))
    xlog = xlog and min(places, default=0) > 0
    low, high = min(places, default=0), max(places, default=1)
    xaxis = Axis(low if xlog or low else 0, high if high > low else low + 1, LEFT + 24, picture.width - RIGHT - 24, xlog)
    base = picture.height - BOTTOM
    label_x(picture, xaxis, sorted(set(places)), base, xname)
    for label, points in references.items():
        reference_line(picture, xaxis, yaxis, label, points)
    for name, cls in names:
        points = series.get(name, [])
        if any(len(values) > 1 for _, values, _ in points):
            top = [(xaxis.at(x), yaxis.at(max(values))) for x, values, _ in points]
            low_edge = [(xaxis.at(x), yaxis.at(min(values))) for x, values, _ in reversed(points)]
            picture.path(top + low_edge, f"band {cls}", True)
        if points:
            picture.path([(xaxis.at(x), yaxis.at(at)) for x, _, at in points], f"line {cls}")
        for x, values, at in points:
            picture.dot(xaxis.at(x), yaxis.at(at), f"mark {cls}", 3.2, f"{name}, {xname} {units.digits(x)}: {units.digits(at)} {unit}")
    picture.line(LEFT, base, picture.width - RIGHT, base, "axis")
    return picture


def label_x(picture, axis, places, base, xname):
    last = -100.0
    for x in places:
        at = axis.at(x)
        text = f"{x:g}"
        if at - last < 7 * len(text) + 8:
            continue
        picture.line(at, base, at, base + 4, "axis")
        picture.text(at, base + 17, text, "middle")
        last = at
    picture.text((LEFT + picture.width - RIGHT) / 2, base + 35, xname, "middle", "soft")


def reference_line(picture, xaxis, yaxis, label, points):
    for _, value in (p for p in points if p[0] is None):
        picture.line(LEFT, yaxis.at(value), picture.width - RIGHT, yaxis.at(value), "reference")
    known = sorted((x, v) for x, v in points if x is not None)
    if len(known) > 1:
        picture.path([(xaxis.at(x), yaxis.at(v)) for x, v in known], "reference")
    for x, v in known:
        picture.dot(xaxis.at(x), yaxis.at(v), "refmark", 4, f"{label}: {units.digits(v)}")


def forest(title, entries, left=290):
    """Ratios around 1: entries are (label, median, low, high, css class)."""
    step = 19
    picture = Picture(58 + step * len(entries), title)
    every = [v for _, *values, _ in entries for v in values if 0 < v < math.inf]
    # 4 in 5 each way at least, so that noise looks like noise; 4 times at most
    spread = max([math.log(1.25)] + [abs(math.log(v)) for v in every])
    spread = min(spread * 1.05, math.log(4))
    axis = Axis(math.exp(-spread), math.exp(spread), left, picture.width - 70, True)
    base = 30 + step * len(entries)
    placed = []
    # the ones that matter first, others where there is room
    for mark in (1, 0.5, 2, 0.25, 4, 0.8, 1.25, 0.67, 1.5, 0.9, 1.1, 0.33, 3):
        x = axis.at(mark)
        if axis.low <= mark <= axis.high and all(abs(x - other) > 34 for other in placed):
            placed.append(x)
            picture.line(x, 18, x, base, "axis" if mark == 1 else "grid")
            picture.text(x, base + 15, f"{mark:g}", "middle", "soft small")
    for i, (label, at, low, high, cls) in enumerate(entries):
        y = 30 + step * i
        picture.text(left - 14, y + 4, shorten(label, left - 14), "end")
        if high < math.inf:
            low, high = (min(max(v, axis.low), axis.high) for v in (low, high))
            picture.line(axis.at(low), y, axis.at(high), y, f"range {cls}")
        picture.dot(axis.at(min(max(at, axis.low), axis.high)), y, f"mark {cls}", 4.2, f"{label}: {at:.3f}")
        picture.text(picture.width - 62, y + 4, f"{at:.2f}", cls="small name")
    return picture
