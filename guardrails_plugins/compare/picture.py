"""The comparison as one HTML file: the table, a timeline of what the reader saw, leak against wait."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Sequence

from guardrails_plugins.compare.recorded import PIECE_SECONDS, Recorded
from guardrails_plugins.compare.seen import Figures
from guardrails_plugins.compare.table import Row

COLUMNS = (
    ("leaking_answers", "answers that leaked"),
    ("leaked_chars", "characters leaked"),
    ("leaked_values", "invented values seen"),
    ("missed", "violations missed"),
    ("false_stops", "clean answers stopped"),
    ("lost_chars", "characters lost"),
    ("altered", "clean answers altered"),
    ("first_text_s", "first text, s"),
    ("hold_median_s", "hold, median s"),
    ("hold_95_s", "hold, 95th s"),
    ("pieces_after", "pieces after it"),
    ("closing_s", "closing, s"),
)
"""The columns of the table, with what they are called."""

HARMS = ("leaking_answers", "leaked_chars", "leaked_values", "missed", "false_stops", "lost_chars", "altered")
"""Columns in which anything but nought is a harm."""

_STYLE = """
:root{color-scheme:light dark;--ink:#1d2733;--soft:#5b6776;--line:#d9dfe6;--bar:#2f6fb2;--bad:#b4452f;
--good:#2c7a4b;--back:#fbfcfd}
@media (prefers-color-scheme:dark){:root{--ink:#e6ebf1;--soft:#9aa7b5;--line:#313b47;--bar:#6aa6e2;
--bad:#e08a72;--good:#6cc493;--back:#12171d}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--back);max-width:80rem;
margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.85rem}
td,th{text-align:right;padding:.3rem .5rem;border-bottom:1px solid var(--line);font-variant-numeric:tabular-nums}
td:first-child,th:first-child{text-align:left;white-space:nowrap}.bad{color:var(--bad);font-weight:600}
.gate td:first-child{color:var(--good)}
svg text{fill:var(--ink);font:12px system-ui,sans-serif}.soft{color:var(--soft)}select{font:inherit;max-width:100%}
"""
_SCRIPT = """
const data=JSON.parse(document.getElementById('data').textContent),pick=document.getElementById('answer'),
plot=document.getElementById('timeline');
for(const a of data.answers)pick.add(new Option(`${a.id}${a.code?': '+a.code:''}`,a.id));
const make=(name,attributes,text)=>{const e=document.createElementNS('http://www.w3.org/2000/svg',name);
for(const[k,v]of Object.entries(attributes))e.setAttribute(k,v);if(text!==undefined)e.textContent=text;
plot.append(e);return e};
function draw(){plot.replaceChildren();const answer=data.answers.find(a=>a.id===pick.value);
const rows=data.rows,left=290,wide=620,high=22,end=answer.seconds*1.15,x=t=>left+wide*Math.min(t,end)/end;
plot.setAttribute('viewBox',`0 0 ${left+wide+60} ${rows.length*high+50}`);
if(answer.bad_from!==null){make('rect',{x:x(answer.bad_from),y:0,width:x(answer.bad_to)-x(answer.bad_from),
height:rows.length*high,fill:'var(--bad)',opacity:.12});
make('text',{x:x(answer.bad_from),y:rows.length*high+32},'the violating sentence is written here')}
rows.forEach((name,i)=>{const y=i*high,f=data.figures[name][answer.id];
make('text',{x:0,y:y+15},name);make('line',{x1:left,x2:left+wide,y1:y+12,y2:y+12,stroke:'var(--line)'});
const total=answer.length;let last=0;
for(const[t,n]of f.timeline){const h=Math.max(1.5,(high-6)*n/total);
make('rect',{x:x(t),y:y+high-3-h,width:1.6,height:h,fill:f.leaked_chars&&n>answer.before?'var(--bad)':'var(--bar)'});last=n}
make('text',{x:left+wide+6,y:y+15},f.leaked_chars?`${f.leaked_chars} leaked`:f.error??'')});
for(let t=0;t<=end;t+=.5)make('text',{x:x(t),y:rows.length*high+16},`${t} s`)}
pick.addEventListener('input',draw);
pick.value=(data.answers.find(a=>a.code==='value_unsupported')??data.answers[0]).id;draw();
"""


def picture(rows: Sequence[Row], figures: dict[str, list[Figures]], answers: Sequence[Recorded]) -> str:
    """The page. Text of answers is not in it: what the reader saw is told by lengths."""
    data = {
        "rows": [r.strategy for r in rows],
        "answers": [_answer(a) for a in answers],
        "figures": {
            name: {f.answer: {"timeline": f.timeline, "leaked_chars": f.leaked_chars, "error": f.error} for f in found}
            for name, found in figures.items()
        },
    }
    embedded = json.dumps(data, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>Release strategies</title><style>{_STYLE}</style><h1>What the reader saw before it was checked</h1>"
        f"<p>{len(answers)} recorded answers, the same checks and the same model time for each strategy, on a virtual "
        "clock. “model” marks a service that is built from its documents and did not run.</p>"
        f"<div class=wide>{''.join(_table(rows))}</div>"
        "<h2>Timeline</h2><p><label>Answer <select id=answer></select></label></p>"
        "<div class=wide><svg id=timeline role=img aria-label='Characters seen over time' width=100%></svg></div>"
        f"<h2>Leak against wait</h2>{_scatter(rows)}"
        f"<script id=data type='application/json'>{embedded}</script><script>{_SCRIPT}</script></html>\n"
    )


def _answer(recorded: Recorded) -> dict[str, object]:
    pace = PIECE_SECONDS / 4
    start = recorded.answer.index(recorded.violating) if recorded.violating else None
    return {
        "id": recorded.id,
        "code": recorded.code,
        "length": len(recorded.answer),
        "seconds": len(recorded.answer) * pace,
        "before": start or 0,
        "bad_from": None if start is None else start * pace,
        "bad_to": None if start is None else (start + len(recorded.violating or "")) * pace,
    }


def _table(rows: Sequence[Row]) -> Iterator[str]:
    titles = "".join(f"<th>{title}" for _, title in COLUMNS)
    yield f"<table><thead><tr><th>strategy{titles}<th>errors</thead><tbody>"
    for row in rows:
        yield f"<tr class={row.group}><td title='{html.escape(row.note, quote=True)}'>{html.escape(row.strategy)}"
        for key, _ in COLUMNS:
            value = getattr(row, key)
            yield f"<td{' class=bad' if key in HARMS and value else ''}>{text_of(value)}"
        yield f"<td>{html.escape(', '.join(row.errors))}"
    yield "</tbody></table>"


def text_of(value: float | int | None) -> str:
    """A figure as it is printed."""
    if value is None:
        return "–"
    if value == float("inf"):
        return "never"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _scatter(rows: Sequence[Row]) -> str:
    """Each strategy at its median hold and its leaked characters; names beside the points."""
    held = [r for r in rows if r.hold_median_s is not None]
    longest = max((r.hold_median_s or 0 for r in held), default=0) or 1
    most = max((r.leaked_chars for r in held), default=0) or 1
    parts = ["<svg role=img aria-label='Leak against wait' viewBox='0 0 900 420' width=100%>"]
    ends = ("x1=60 x2=880 y1=370 y2=370", "x1=60 x2=60 y1=10 y2=370")
    parts += [f"<line {end} stroke='var(--line)'/>" for end in ends]
    parts.append("<text x=60 y=405>median wait of a sentence, s</text><text x=0 y=10>leaked</text>")
    for row in held:
        x, y = 60 + 780 * (row.hold_median_s or 0) / longest, 370 - 350 * row.leaked_chars / most
        colour = "var(--good)" if row.group == "gate" else "var(--bad)" if row.leaked_chars else "var(--bar)"
        title = html.escape(f"{row.strategy}: {text_of(row.hold_median_s)} s, {row.leaked_chars} characters")
        tip = f"<title>{title}</title>"
        parts.append(f"<circle cx={x:.1f} cy={y:.1f} r=6 fill='{colour}' opacity=.8>{tip}</circle>")
    labelled: list[tuple[float, float]] = []
    for row in held:
        x, y = 72 + 780 * (row.hold_median_s or 0) / longest, 374 - 350 * row.leaked_chars / most
        while any(abs(x - a) < 260 and abs(y - b) < 13 for a, b in labelled):
            y -= 13
        if y < 5 or x > 640:
            continue
        labelled.append((x, y))
        parts.append(f"<text x={x:.1f} y={y:.1f} class=soft>{html.escape(row.strategy)}</text>")
    return "".join(parts) + "</svg>"
