# SPDX-License-Identifier: GPL-2.0
"""
A report: sections of prose, tables and plots, as text and as one HTML file that
needs nothing else. What a lane cannot show stands under everything from it.
"""

import os
import re

import items
from items import BACKENDS, Grid, Item, Multiples, Ref, Resolution, Resolutions, Resolves, Table, Text  # noqa: F401 (for plans)
from plots import Bars, Lines, Ratios  # noqa: F401 (for plans)
import stats
import svg

PAGE_STYLE = """
:root{--ink:#1c2733;--soft:#5b6b7a;--paper:#fff;--back:#f4f6f8;--edge:#dfe5ea;--accent:#0b6bcb;color-scheme:light dark}
@media (prefers-color-scheme:dark){:root{--ink:#e4eaf0;--soft:#9aa8b5;--paper:#151c23;--back:#0e1419;--edge:#2c3843;--accent:#5aa9ff}}
*{box-sizing:border-box}body{margin:0;background:var(--back);color:var(--ink);font:15px/1.55 system-ui,sans-serif}
main{max-width:860px;margin:0 auto;padding:32px 20px 80px}h1{font-size:28px;line-height:1.2;margin:0 0 4px}
h2{font-size:20px;margin:0 0 6px}h3{font-size:14px;margin:22px 0 6px;font-weight:600}
.sub{color:var(--soft);margin:0 0 20px}nav{display:flex;flex-wrap:wrap;gap:6px 14px;margin:0 0 24px;font-size:13.5px}
a{color:var(--accent);text-decoration:none}a:hover{text-decoration:underline}
section{background:var(--paper);border:1px solid var(--edge);border-radius:10px;padding:20px 24px;margin:0 0 18px}
p{margin:0 0 10px;max-width:70ch}figure{margin:6px 0 4px}svg{display:block;width:100%;height:auto}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums;width:100%}
th,td{padding:4px 10px;text-align:right;border-bottom:1px solid var(--edge);white-space:nowrap}
th{color:var(--soft);font-weight:600}th:first-child,td:first-child{text-align:left;padding-left:0}tr.paper td{color:var(--soft);font-style:italic}
.note{color:var(--soft);font-size:13px;border-left:3px solid var(--edge);padding-left:10px;margin:12px 0 0}.nothing{color:var(--soft);font-style:italic}
details{margin-top:8px}summary{cursor:pointer;color:var(--soft);font-size:13.5px}pre{overflow-x:auto;font-size:12.5px;line-height:1.45}
@media print{body{background:#fff;font-size:11pt}main{max-width:none;padding:0}nav{display:none}section{border:0;padding:0 0 12px;border-radius:0}
figure,table tr,h2,h3{break-inside:avoid}h2,h3{break-after:avoid}}
"""


class Section:
    def __init__(self, title, prose="", items=(), folded=False):
        self.title, self.prose, self.items, self.folded = title, prose, list(items), folded

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
        if body and not section.folded:
            out("")
            out(section.title)
            out("\n".join(body[:-1]))
    out("")
    for lane in results.notes:
        out(items.note_of(lane, results))


def section_html(section, results, plots):
    parts = [f'<section id="{section.anchor()}"><h2>{svg.escape(section.title)}</h2>']
    parts += [f"<p>{svg.escape(' '.join(text.split()))}</p>" for text in section.prose.split("\n\n") if text.strip()]
    body = []
    for item in section.items:
        body.append((f"<h3>{svg.escape(item.title)}</h3>" if item.title else "") + item.html(results, plots))
        said = items.notes(item, results)
        if said and (hasattr(item, "draw") or item is section.items[-1]):
            body.append(f'<p class="note">{svg.escape(" ".join(said))}</p>')
    if section.folded:
        body = ["<details><summary>show</summary>"] + body + ["</details>"]
    return "".join(parts + body) + "</section>"


def page(title, sections, results, plots):
    meta = results.meta
    sub = " · ".join(str(meta[k]) for k in ("date", "commit", "machine") if meta.get(k))
    nav = "".join(f'<a href="#{s.anchor()}">{svg.escape(s.title)}</a>' for s in sections)
    body = "\n".join(section_html(s, results, plots) for s in sections)
    return ('<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>{svg.escape(title)}</title><style>{PAGE_STYLE}{svg.STYLE}</style></head><body><main>"
            f'<h1>{svg.escape(title)}</h1><p class="sub">{svg.escape(sub)}</p><nav>{nav}</nav>\n{body}\n'
            f'<p class="sub">Bars and lines: medians. Whiskers and bands: least to most. {svg.escape(stats.METHOD)}</p></main></body></html>\n')


def write(directory, title, sections, results, out=print):
    """Text to 'out'; report.html and plots/*.svg into the directory."""
    sections = list(sections) + [facts_section(results)]
    plots = []
    text = page(title, sections, results, plots)
    with open(os.path.join(directory, "report.html"), "w", encoding="utf-8") as file:
        file.write(text)
    os.makedirs(os.path.join(directory, "plots"), exist_ok=True)
    for number, (name, picture) in enumerate(plots, 1):
        name = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "plot"
        with open(os.path.join(directory, "plots", f"{number:02}-{name}.svg"), "w", encoding="utf-8") as file:
            file.write(picture + "\n")
    write_text(title, sections[:-1], results, out)
