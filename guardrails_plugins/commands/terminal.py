"""The terminal: colour only where one shows it (https://no-color.org), and a progress bar."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator

_CODES = {"red": "31", "green": "32", "yellow": "33", "dim": "2", "bold": "1"}


def paint(text: str, style: str) -> str:
    """The text in a style when standard output is a terminal and `NO_COLOR` is not set."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\033[{_CODES[style]}m{text}\033[0m"


def printable(text: str) -> str:
    """The text with control characters shown as escapes, so that an answer cannot drive the terminal."""
    return "".join(c if c.isprintable() or c == " " else repr(c)[1:-1] for c in text)


@contextlib.contextmanager
def progress(label: str, total: float | None, *, quiet: bool = False) -> Iterator[Callable[[float], None] | None]:
    """A bar on standard error, where that is a terminal and `rich` is installed; None elsewhere, and when `quiet`."""
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ModuleNotFoundError:
        yield None
        return
    if quiet or not sys.stderr.isatty():
        yield None
        return
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=total)
        yield lambda step: bar.advance(task, step)
