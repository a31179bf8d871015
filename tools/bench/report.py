# SPDX-License-Identifier: GPL-2.0
"""
A report: sections of prose, tables and plots, as text and as one HTML file that
needs nothing else. What a lane cannot show is said once, and linked to.
"""

import glob
import os
import re
from html import escape

import draw
import items
from items import BACKENDS, Grid, Item, Multiples, Ref, Resolutions, Resolves, Table, Text  # noqa: F401 (for plans)
from plots import Bars, Lines, Ratios  # noqa: F401 (for plans)
import stats

PAGE_STYLE = """
:root{--back:#f4f6f8}@media (prefers-color-scheme:dark){:root{--back:#0e1419}}
*{box-sizing:border-box}body{margin:0;background:var(--back);color:var(--ink);font:15px/1.55 system-ui,sans-serif}
main{max-width:1080px;margin:0 auto;padding:32px 20px 80px}h1{font-size:28px;line-height:1.2;margin:0 0 4px}
h2{font-size:20px;margin:0 0 6px}h3{font-size:14px;margin:22px 0 6px;font-weight:600}
.sub{color:var(--soft);margin:0 0 20px;overflow-wrap:anywhere}nav{display:flex;flex-wrap:wrap;gap:6px 14px;margin:0 0 24px;font-size:13.5px}
a{color:var(--s0);text-decoration:none}a:hover{text-decoration:underline}
section{background:var(--paper);border:1px solid var(--grid);border-radius:10px;padding:20px 24px;margin:0 0 18px}
p,li{margin:0 0 10px;max-width:70ch}figure{margin:6px 0 4px;max-width:860px}svg{display:block;width:100%;height:auto}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums;width:100%}
th,td{padding:4px 8px;text-align:right;border-bottom:1px solid var(--grid)}td{white-space:nowrap}
th{color:var(--soft);font-weight:600;vertical-align:bottom}td small{display:block;color:var(--soft);font-size:11.5px;line-height:1.3}
th:first-child,td:first-child{text-align:left;padding-left:0;white-space:normal;min-width:8em}.words td{white-space:normal;overflow-wrap:anywhere}
tr.paper td{color:var(--soft);font-style:italic}.note{color:var(--soft);font-size:13px;margin:12px 0 0}.nothing{color:var(--soft);font-style:italic}
details{margin-top:8px}summary{cursor:pointer;color:var(--soft);font-size:13.5px}pre{overflow-x:auto;font-size:12.5px;line-height:1.45}
@media (max-width:640px){main{padding:20px 8px 40px}section{padding:14px 12px}table{font-size:12px}th,td{padding:3px 5px}
th:first-child,td:first-child{position:sticky;left:0;background:var(--paper);min-width:6.5em}}
@media print{body{background:#fff;font-size:11pt}main{max-width:none;padding:0}nav{display:none}section{border:0;padding:0 0 12px;border-radius:0}
figure,table tr,h2,h3{break-inside:avoid}h2,h3{break-after:avoid}}
"""
LIMITS = "What the lanes cannot show"


class Limits(Item):
    """What a lane itself says of its figures."""

    def lanes(self, results):
        return []

    def text(self, results):
        return [items.note_of(lane, results) for lane in results.notes]

    def html(self, results, plots):
        return "".join(f"<h3>lane {escape(lane)}</h3><ul>" + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ul>"
                       for lane, notes in results.notes.items())


class Section:
    def __init__(self, title, prose="", items=()):
        self.title, self.prose, self.items = title, prose, list(items)

    def anchor(self):
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


def facts_section(results):
    tables = []
    for lane, facts in results.facts.items():
        tables.append(Grid(f"lane {lane}", ["fact", "value"], [[k, v] for k, v in facts.items()]))
    counts = {}
    for row in results.rows:
        counts[row.lane] = counts.get(row.lane, 0) + 1
    said = ", ".join(f"{count} of lane {lane}" for lane, count in counts.items())
    prose = f"Samples: {said or 'none'}. All of them are in results.json and, as they came, in rows.txt."
    if results.bad:
        prose += f"\n\n{len(results.bad)} lines could not be read: {results.bad[0]}"
    return Section("Facts", prose, tables)


def write_text(title, sections, results, out):
    out(title)
    out("=" * len(title))
    for section in sections:
        body = []
        for item in section.items:
            text = item.text(results)
            if text:
                body += ([f"  {item.title}"] if item.title else []) + ["    " + line for line in text] + [""]
        if body:
            out("")
            out(section.title)
            out("\n".join(body[:-1]))


def section_html(section, results, plots):
    parts = [f'<section id="{section.anchor()}"><h2>{escape(section.title)}</h2>']
    parts += [f"<p>{escape(' '.join(text.split()))}</p>" for text in section.prose.split("\n\n") if text.strip()]
    body = []
    for item in section.items:
        body.append((f"<h3>{escape(item.title)}</h3>" if item.title else "") + item.html(results, plots))
    lanes = dict.fromkeys(lane for item in section.items for lane in item.lanes(results) if results.notes.get(lane))
    if lanes:
        limits = Section(LIMITS).anchor()
        body.append(f'<p class="note">Lane {", ".join(lanes)}: <a href="#{limits}">{LIMITS.lower()}</a>.</p>')
    return "".join(parts + body) + "</section>"


def page(title, sections, results, plots):
    meta = results.meta
    sub = " · ".join(str(meta[k]) for k in ("date", "commit", "machine") if meta.get(k))
    nav = "".join(f'<a href="#{s.anchor()}">{escape(s.title)}</a>' for s in sections)
    body = "\n".join(section_html(s, results, plots) for s in sections)
    return ('<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>{escape(title)}</title><style>{PAGE_STYLE}{draw.style()}</style></head><body><main>"
            f'<h1>{escape(title)}</h1><p class="sub">{escape(sub)}</p><nav>{nav}</nav>\n{body}\n'
            f'<p class="sub">Bars and lines: medians. Whiskers and bands: least to most. {escape(stats.METHOD)}</p></main></body></html>\n')


def write(directory, title, sections, results, out=print):
    """Text to 'out'; report.html and plots/*.svg into the directory."""
    facts = facts_section(results)
    sections = list(sections) + ([Section(LIMITS, "", [Limits()])] if results.notes else []) + [facts]
    plots = []
    text = page(title, sections, results, plots)
    with open(os.path.join(directory, "report.html"), "w", encoding="utf-8") as file:
        file.write(text)
    os.makedirs(os.path.join(directory, "plots"), exist_ok=True)
    for old in glob.glob(os.path.join(glob.escape(directory), "plots", "*.svg")):
        os.remove(old)
    for number, (picture, caption) in enumerate(plots, 1):
        name = re.sub(r"[^a-z0-9]+", "-", picture.label.lower()).strip("-") or "plot"
        with open(os.path.join(directory, "plots", f"{number:02}-{name}.svg"), "w", encoding="utf-8") as file:
            file.write(picture.file(caption) + "\n")
    write_text(title, sections[:-1], results, out)
