"""Colour, only where a terminal shows it (https://no-color.org)."""

from __future__ import annotations

import os
import sys

_CODES = {"red": "31", "green": "32", "yellow": "33", "dim": "2", "bold": "1"}


def paint(text: str, style: str) -> str:
    """The text in a style when standard output is a terminal and `NO_COLOR` is not set."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\033[{_CODES[style]}m{text}\033[0m"


def printable(text: str) -> str:
    """The text with control characters shown as escapes, so that an answer cannot drive the terminal."""
    return "".join(c if c.isprintable() or c == " " else repr(c)[1:-1] for c in text)
