"""`sentence-gate compare`: what each release strategy shows before it has checked."""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from guardrails_plugins.cli import InputError
from guardrails_plugins.commands.files import write_text
from guardrails_plugins.commands.terminal import printable, progress
from guardrails_plugins.compare.picture import COLUMNS, picture, text_of
from guardrails_plugins.compare.recorded import load, shipped
from guardrails_plugins.compare.strategies import Strategy, plain
from guardrails_plugins.compare.table import Row, compare

GROUPS = ("gate", "plain", "nemo", "guardrails", "vendors")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("file", nargs="?", type=Path, help="your own answers (JSON Lines); default: those that ship")
    parser.add_argument("--language", action="append", help="only answers in this language (may be repeated)")
    parser.add_argument("--group", action="append", choices=GROUPS, help="only these strategies (may be repeated)")
    parser.add_argument("--json", action="store_true", help="print rows and figures as JSON")
    parser.add_argument("--html", metavar="PAGE", type=Path, help="write a self-contained page with plots")


def run(args: argparse.Namespace) -> int:
    """Compare and print; 0 whatever the figures say."""
    answers = load(args.file) if args.file else shipped()
    if args.language:
        answers = [a for a in answers if a.language in args.language]
        if not answers:
            raise InputError(f"no answer in {', '.join(args.language)}")
    with quiet():
        chosen = [s for s in strategies() if not args.group or s.group in args.group]
        with progress("comparing", len(chosen) * len(answers), quiet=args.json) as advance:
            rows, figures = compare(chosen, answers, advance=advance)
    if args.html:
        write_text(args.html, picture(rows, figures, answers))
    if args.json:
        found = {name: [f.as_json() for f in fs] for name, fs in figures.items()}
        print(json.dumps({"rows": [r.as_json() for r in rows], "figures": found}, ensure_ascii=True))
    else:
        show(rows, len(answers))
    return 0


def strategies() -> Iterator[Strategy]:
    """All strategies; those of a framework only where it is installed."""
    from guardrails_plugins.compare import vendors

    yield from plain()
    with contextlib.suppress(ModuleNotFoundError):
        from guardrails_plugins.compare import nemo

        yield from nemo.strategies()
    with contextlib.suppress(ModuleNotFoundError):
        from guardrails_plugins.compare import guardrails_ai

        yield from guardrails_ai.strategies()
    yield from vendors.strategies()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Frameworks off the network, and their log lines off the terminal, while they are compared."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("OTEL_SDK_DISABLED", "true")
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def show(rows: Sequence[Row], answers: int) -> None:
    """Print the table."""
    print(f"{answers} answers; the same checks and model time, a virtual clock. “(model)”: built from documents.\n")
    titles = ["strategy", *(title for _, title in COLUMNS)]
    lines = [[row.strategy, *(text_of(getattr(row, key)) for key, _ in COLUMNS)] for row in rows]
    first = max(len(line[0]) for line in [titles, *lines])
    words = [title.split(" ") for title in titles[1:]]
    tall = max(map(len, words))
    widths = [max(max(map(len, w)), *(len(line[i + 1]) for line in lines)) for i, w in enumerate(words)]
    for level in range(tall):
        cells = [(w[level] if level < len(w) else "").rjust(width) for w, width in zip(words, widths, strict=True)]
        print(f"{(titles[0] if level == 0 else ''):{first}}  {'  '.join(cells)}")
    for line, row in zip(lines, rows, strict=True):
        cells = [cell.rjust(width) for cell, width in zip(line[1:], widths, strict=True)]
        broke = f"  {printable(', '.join(row.errors))}" if row.errors else ""
        print(f"{line[0]:{first}}  {'  '.join(cells)}{broke}")
