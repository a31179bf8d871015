# SPDX-License-Identifier: GPL-2.0
"""
What a section of a report is made of: tables, plots, text. Each item takes its
rows out of the results by a filter (see rows.Results.select), says itself when
there are none, and can be written as text and as HTML.
"""

from html import escape

import chance
from columns import columns_text
import draw
import rows
import stats
import units

# backends in the order in which they are shown; their place is their colour
BACKENDS = ["kvnet", "vhost_net", "qemu", "qemu-noioeventfd", "rtl8139", "host", "kvnet-packed", "kvnet-inorder",
            "kvnet-packed-inorder", "kvnet-user", "kvnet-packed-user", "kvnet-woken", "vhost_net-inorder", "vhost_net-twin", "floor",
            "kvnet-uncounted"]
NOTHING = "no rows in this run"


def backend_order(name):
    return (BACKENDS.index(name), "") if name in BACKENDS else (len(BACKENDS), name)


def order(key_name):
    return (lambda v: backend_order(v)) if key_name == "backend" else rows.sort_value


def colours(names):
    """[(name, number of its colour)] in order; a backend has the same colour everywhere."""
    ordered = sorted(names, key=backend_order)
    return [(name, (BACKENDS.index(name) if name in BACKENDS else len(BACKENDS) + i) % len(draw.COLOURS))
            for i, name in enumerate(ordered)]


class Ref:
    """A figure that is not ours, such as the paper's, shown beside ours."""

    def __init__(self, label, value=None, x=None, series=None, at=None, stats=None, unit=None):
        self.label, self.value, self.x, self.series = label, value, x, series
        self.at, self.stats, self.unit = at or {}, stats, unit


class Item:
    title = ""
    where = {}

    def lanes(self, results):
        return list(dict.fromkeys(row.lane for row in results.select(**self.where)))


def cell_html(text):
    """A spread stands below its figure."""
    figure, space, spread = text.partition(" (")
    if space and ".." in spread:
        return f"{escape(figure)} <small>({escape(spread)}</small>"
    return escape(text)


def note_of(lane, results):
    return f"Lane {lane}: " + " ".join(note.rstrip(".") + "." for note in results.notes[lane])


class Text(Item):
    def __init__(self, lines, title=""):
        self.lines, self.title = [lines] if isinstance(lines, str) else list(lines), title

    def lanes(self, results):
        return []

    def text(self, results):
        return list(self.lines)

    def html(self, results, plots):
        body = "\n".join(escape(line) for line in self.lines)
        return f"<pre>{body}</pre>"


class Grid(Item):
    """A table whose cells are made elsewhere."""

    def __init__(self, title, head, lines, where=None):
        self.title, self.head, self.lines, self.where = title, head, lines, where

    def lanes(self, results):
        return super().lanes(results) if self.where else []

    def cells(self, results):
        return self.head, self.lines

    def text(self, results):
        head, lines = self.cells(results)
        return columns_text(head, lines) if lines else [NOTHING]

    def html(self, results, plots):
        head, lines = self.cells(results)
        if not lines:
            return f'<p class="nothing">{NOTHING}</p>'
        top = "".join(f"<th>{escape(cell).replace('/', '/<wbr>')}</th>" for cell in head)
        body = "".join("<tr" + (' class="paper"' if line and line[0].startswith("paper") else "") + ">" +
                       "".join(f"<td>{cell_html(cell)}</td>" for cell in line) + "</tr>" for line in lines)
        words = ' class="words"' if len(head) == 2 else ""
        return f'<div class="wide"><table{words}><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


FIGURES = {
    "median": stats.median, "mean": stats.mean, "min": min, "max": max, "sigma": stats.sigma,
}


class Table(Grid):
    """One line for each combination of 'rows', one column for each backend."""

    def __init__(self, where, rows=("test",), title="", stats=("median", "spread"),
                 ratio=("kvnet", "vhost_net"), reference=(), detail=False):
        self.detail = detail	# only on the page, and there folded
        self.where, self.row_keys, self.title = where, tuple(rows), title
        self.stats, self.ratio, self.reference = tuple(stats), ratio, list(reference)

    def text(self, results):
        return [] if self.detail else super().text(results)

    def html(self, results, plots):
        table = super().html(results, plots)
        return f"<details><summary>show</summary>{table}</details>" if self.detail else table

    def grouped(self, results):
        """{row label: {backend: (key, values)}}"""
        found = {}
        for key, values in results.series(**self.where).items():
            label = tuple(key.get(name, "") for name in self.row_keys)
            found.setdefault(label, {})[key.get("backend")] = (key, values)
        return dict(sorted(found.items(), key=lambda i: [order(n)(v) for n, v in zip(self.row_keys, i[0])]))

    def cells(self, results):
        groups = self.grouped(results)
        names = sorted({name for line in groups.values() for name in line}, key=backend_order)
        if not groups:
            return [], []
        wide = set(self.stats) <= {"median", "spread"}
        return self.wide(results, groups, names) if wide else self.long(groups)

    def wide(self, results, groups, names):
        ratio = self.ratio if self.ratio and set(self.ratio) <= set(names) else None
        head = [" ".join(self.row_keys)] + list(names) + (["/".join(ratio)] if ratio else [])
        lines = []
        slices = {key: found for key, found in results.slices(**self.where).items() if any(len(values) > 1 for values in found.values())}
        for label, line in groups.items():
            every = [v for _, values in line.values() for v in values]
            unit = next(iter(line.values()))[0].get("unit")
            divisor, name = units.scale_for(every, unit)
            cells = [" ".join(filter(None, label)) + (f" [{name}]" if name else "")]
            cells += [self.cell(line[n][1], divisor) if n in line else "" for n in names]
            if ratio:
                cells.append(ratio_cell(results, line, ratio))
            lines.append(cells)
            if "spread" in self.stats and any(slices.get(key) for key, _ in line.values()):
                lines.append(["  best tenth"] + [units.digits(tenth(line[n][0], slices) / divisor) if n in line else "" for n in names] +
                             ([tenths_ratio(line, slices, ratio)] if ratio else []))
            lines += self.references(label, names, divisor, len(head))
        return head, lines

    def cell(self, values, divisor):
        text = units.digits(stats.median(values) / divisor)
        if "spread" in self.stats and len(values) > 1:
            text += f" ({units.digits(min(values) / divisor)}..{units.digits(max(values) / divisor)})"
        return text

    def long(self, groups):
        head = [" ".join(self.row_keys + ("backend",))] + list(self.stats)
        lines = []
        for label, line in groups.items():
            for name in sorted(line, key=backend_order):
                key, values = line[name]
                divisor, unit = units.scale_for(values, key.get("unit"))
                cells = [" ".join(filter(None, label + (name,))) + (f" [{unit}]" if unit else "")]
                lines.append(cells + [self.figure(stat, values, divisor) for stat in self.stats])
            for ref in self.fitting(label):
                every = [v for v in ref.stats.values()]
                divisor, unit = units.scale_for(every, ref.unit or next(iter(line.values()))[0].get("unit"))
                lines.append([f"{ref.label}" + (f" [{unit}]" if unit else "")] +
                             [units.digits(ref.stats[s] / divisor) if s in ref.stats else "" for s in self.stats])
        return head, lines

    def figure(self, stat, values, divisor):
        if stat == "n":
            return str(len(values))
        if stat == "spread":
            return f"{units.digits(min(values) / divisor)}..{units.digits(max(values) / divisor)}"
        return units.digits(FIGURES[stat](values) / divisor)

    def fitting(self, label):
        have = dict(zip(self.row_keys, label))
        return [ref for ref in self.reference if all(have.get(k) == str(v) for k, v in ref.at.items())]

    def references(self, label, names, divisor, width):
        lines = []
        for ref in self.fitting(label):
            cells = [ref.label] + [""] * (width - 1)
            at = names.index(ref.series) + 1 if ref.series in names else 1
            cells[at] = units.digits(ref.value / divisor)
            lines.append(cells)
        return lines


class Multiples(Grid):
    """How many times each backend is what one of them is, slice by slice: never told as better or worse."""

    def __init__(self, where, of, rows=("dir", "size"), title=""):
        self.where, self.of, self.row_keys, self.title = where, of, tuple(rows), title

    def cells(self, results):
        under = {key.without("backend"): slices for key, slices in results.slices(**dict(self.where, backend=self.of)).items()}
        found = {}
        for key, slices in results.slices(**self.where).items():
            groups = stats.paired(slices, under.get(key.without("backend"), {}))
            if groups and not chance.is_twin(key.get("backend")):
                label = tuple(key.get(name, "") for name in self.row_keys)
                found.setdefault(label, {})[key.get("backend")] = stats.ratio_of(groups)
        names = sorted({name for line in found.values() for name in line if name != self.of}, key=backend_order)
        ordered = sorted(found.items(), key=lambda i: [order(n)(v) for n, v in zip(self.row_keys, i[0])])
        lines = [[" ".join(filter(None, label))] + [f"{line[name]:.3f}" if name in line else "" for name in names] for label, line in ordered]
        return [" ".join(self.row_keys)] + [f"{name}/{self.of}" for name in names], lines if names else []


def ratio_cell(results, line, ratio):
    top, bottom = (line.get(name) for name in ratio)
    if not top or not bottom:
        return ""
    key, under = top[0], bottom[0]
    groups = stats.paired(of_key(results, key), of_key(results, under))
    if not groups:
        return ""
    low, high = stats.interval_of(groups)
    return f"{stats.ratio_of(groups):.3f}" + (f" ({low:.3f}..{high:.3f})" if len(groups) > 1 else "")


def of_key(results, key):
    """{rep: [values]} of one row."""
    return {row.rep: row.slices or [row.value] for row in results.rows if row.key == key}


def tenth(key, slices):
    """The median, over the repetitions, of what the best tenth of the slices reached."""
    more = rows.better(key.get("unit")) > 0
    return stats.median([stats.best_tenth(values, more) for values in slices[key].values()]) if key in slices else 0


def tenths_ratio(line, slices, ratio):
    top, bottom = (tenth(line[name][0], slices) if name in line else 0 for name in ratio)
    return f"{top / bottom:.3f}" if top and bottom else ""


class Resolutions(Grid):
    """
    What difference could be shown, from a row's own spread and its ratio's: the best, middle and worst row of
    each test and metric, and of those with a twin.
    """

    def __init__(self, where, title="Smallest difference that can be told, by test and metric", peer="vhost_net"):
        self.where, self.title, self.peer = where, title, peer

    def found(self, results):
        """[(key, values, ratios to the peer's)]"""
        against = {key.without("backend"): slices for key, slices in results.slices(**dict(self.where, backend=self.peer)).items()}
        pairs = results.pairs(**self.where)
        lines = []
        for key, slices in results.slices(**self.where).items():
            beside = against.get(key.without("backend"), {}) if key.get("backend") != self.peer else {}
            lines.append((key, list(pairs[key].values()), [stats.median(group) for group in stats.paired(slices, beside)]))
        return lines

    def cells(self, results):
        groups = {}
        for key, values, beside in self.found(results):
            own, ratio = groups.setdefault((key.get("lane"), key.get("test"), key.get("metric")), ([], []))
            own.append(stats.resolves(values))
            if beside and not chance.is_twin(key.get("backend")):
                ratio.append(stats.resolves(beside))
        twins = {}
        for key, _, far in chance.of(results).rows.values():
            twins.setdefault((key.get("lane"), key.get("test"), key.get("metric")), []).append(far)
        lines = [[" ".join(label), str(len(own)), span(own), span(ratio), span(twins[label]) if label in twins else ""]
                 for label, (own, ratio) in sorted(groups.items())]
        return ["lane, test, metric", "rows", "resolve (best, middle, worst)", f"of the ratio to {self.peer}", "against itself"], lines


class Resolves(Item):
    """A sentence for each lane."""

    title = ""

    def lanes(self, results):
        return []

    def text(self, results):
        return chance.sentences(results)

    def html(self, results, plots):
        return "".join(f"<p>{escape(line)}</p>" for line in chance.sentences(results))


def span(shares):
    known = [share for share in shares if share is not None]
    return ", ".join(units.percent(share) for share in (min(known), stats.median(known), max(known))) if known else "too few samples"
