"""The report as one HTML file: no script from elsewhere, plots as inline SVG, text escaped."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping
from typing import Any

_STYLE = """
:root{color-scheme:light dark;--ink:#1d2733;--soft:#5b6776;--line:#d9dfe6;--bar:#2f6fb2;--bad:#b4452f;--back:#fbfcfd}
@media (prefers-color-scheme:dark){
:root{--ink:#e6ebf1;--soft:#9aa7b5;--line:#313b47;--bar:#6aa6e2;--bad:#e08a72;--back:#12171d}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--back);
max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}table{border-collapse:collapse;width:100%}
td,th{text-align:left;padding:.35rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
input{font:inherit;padding:.3rem .5rem;width:20rem;max-width:100%}
.soft{color:var(--soft)}svg text{fill:var(--ink);font:13px system-ui,sans-serif}
"""
_SCRIPT = """
const box=document.getElementById('filter');
box.addEventListener('input',()=>{const want=box.value.toLowerCase();
for(const row of document.querySelectorAll('.causes tbody tr'))
row.hidden=!row.textContent.toLowerCase().includes(want)});
"""
SHARES = (
    ("answers", "answers stopped"),
    ("sentences", "sentences stopped"),
    ("false_answers", "grounded answers stopped"),
    ("false_sentences", "grounded sentences stopped"),
    ("caught_answers", "ungrounded answers stopped"),
    ("caught_sentences", "ungrounded sentences stopped"),
)
"""Shares of a report and what they are called."""


def page(data: Mapping[str, Any]) -> str:
    """The page of `Result.as_dict()`."""
    reports = {"": data} if "answers" in data else {"policy": data["policy"], "against": data["against"]}
    body = "".join(part for name, report in reports.items() for part in _report(name, report))
    if "changes" in data:
        body += f"<h2>What the second policy changes</h2>{_changes(data['changes'])}"
    raw = html.escape(json.dumps(data, ensure_ascii=True), quote=False)
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>Replay</title><style>{_STYLE}</style><h1>Replay of recorded answers</h1>"
        "<p><label>Filter <input id=filter type=search placeholder='code, kind, file or text'></label></p>"
        f"{body}"
        f"<details><summary>The report as JSON</summary><pre>{raw}</pre></details><script>{_SCRIPT}</script></html>\n"
    )


def _report(name: str, report: Mapping[str, Any]) -> Iterator[str]:
    yield f"<h2>{html.escape(name) or 'Stops'}</h2>"
    yield _intervals(report)
    yield "<h2>Causes</h2>"
    yield "<table class=causes><thead><tr><th>cause<th class=n>sentences<th class=n>grounded<th>examples</thead><tbody>"
    for row in report["causes"]:
        examples = "<br>".join(_example(e) for e in row["examples"])
        counts = f"<td class=n>{row['sentences']}<td class=n>{row['false']}"
        yield f"<tr><td>{html.escape(row['cause'])}{counts}<td>{examples}"
    yield "</tbody></table>"
    if report["skipped"]:
        listed = "<br>".join(html.escape(f"{s['file']}:{s['line']}: {s['reason']}") for s in report["skipped_lines"])
        yield f"<h2>{report['skipped']} lines skipped</h2><p>{listed}</p>"


def _example(example: Mapping[str, Any]) -> str:
    where = html.escape(f"{example['file']}:{example['line']}, sentence {example['sentence']}")
    text = f"<br>{html.escape(example['text'])}" if example["text"] is not None else ""
    return f"<span class=soft>{where}</span>{text}"


def _intervals(report: Mapping[str, Any]) -> str:
    """Each share as a dot with its 95 % interval."""
    rows = [(label, report[key]) for key, label in SHARES if report[key]["total"]]
    parts = [
        f"<svg role=img aria-label='Shares with 95 % intervals' viewBox='0 0 720 {40 * len(rows) + 30}' width=100%>"
    ]
    for i, (label, share) in enumerate(rows):
        y = 24 + 40 * i
        low, high, at = (250 + 330 * share[k] for k in ("low", "high", "share"))
        colour = "var(--bad)" if label.startswith("grounded") else "var(--bar)"
        parts.append(
            f"<text x=0 y={y + 4}>{label}</text><line x1=250 x2=580 y1={y} y2={y} stroke='var(--line)'/>"
            f"<line x1={low:.1f} x2={high:.1f} y1={y} y2={y} stroke='{colour}' stroke-width=5 stroke-linecap=round />"
            f"<circle cx={at:.1f} cy={y} r=6 fill='{colour}'/>"
            f"<text x=592 y={y + 4}>{100 * share['share']:.1f} % of {share['total']}</text>"
        )
    return "".join(parts) + "</svg>"


def _changes(changes: Mapping[str, Any]) -> str:
    rows = [
        ("answers", changes["answers_stopped"], changes["answers_released"]),
        ("sentences", changes["sentences_stopped"], changes["sentences_released"]),
    ]
    stopped, released = changes["causes_stopped"], changes["causes_released"]
    rows += [(cause, stopped.get(cause, 0), released.get(cause, 0)) for cause in sorted({*stopped, *released})]
    cells = "".join(f"<tr><td>{html.escape(n)}<td class=n>{a}<td class=n>{b}" for n, a, b in rows)
    return f"<table><thead><tr><th><th class=n>newly stopped<th class=n>released</thead>{cells}</table>"
