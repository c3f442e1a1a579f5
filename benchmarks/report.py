"""What the benchmarks print: tables, plots, and the machine that the figures belong to."""

from __future__ import annotations

import importlib.metadata
import platform
from pathlib import Path
from typing import Any

from peers import PACKAGES


def machine() -> dict[str, str]:
    """What the figures belong to."""
    versions = {}
    for name in ("guardrails-plugins", "regex", *PACKAGES):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {"python": platform.python_version(), "machine": f"{platform.system()} {platform.machine()}", **versions}


def table(title: str, rows: list[dict[str, Any]]) -> None:
    """Print rows as a table."""
    if not rows:
        return
    print(f"\n{title}")
    keys = list(dict.fromkeys(k for row in rows for k in row))
    cells = [[_cell(row.get(key)) for key in keys] for row in rows]
    widths = [max(len(key), *(len(line[i]) for line in cells)) for i, key in enumerate(keys)]
    for line in (keys, *cells):
        print("  " + "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())


def _cell(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else "" if value is None else str(value)


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    """Bars of what costs how many times the floor, as an SVG file."""
    width, bar = 640, 26
    longest = max(row["times_floor"] for row in rows)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{bar * len(rows) + 40}" '
        'font-family="sans-serif" font-size="13">',
        '<text x="8" y="20">times the floor (one terminator search a piece)</text>',
    ]
    for n, row in enumerate(rows):
        name = f"{row['what']} {row.get('language', '')}".strip()
        y, length = 36 + n * bar, row["times_floor"] / longest * 300
        lines.append(f'<rect x="230" y="{y}" width="{length:.1f}" height="{bar - 8}" fill="#3b7dd8"/>')
        lines.append(f'<text x="8" y="{y + 14}">{name}</text>')
        lines.append(f'<text x="{238 + length:.1f}" y="{y + 14}">{row["times_floor"]:.1f}</text>')
    path.write_text("\n".join([*lines, "</svg>"]), encoding="utf-8")
