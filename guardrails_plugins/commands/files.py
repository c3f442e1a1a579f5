"""The user's files: what cannot be read or parsed is told by the file's name and line, never by a traceback."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from guardrails_plugins.cli import InputError

NOT_JSON = (ValueError, RecursionError)
"""What `json.loads` raises: for what is no JSON or UTF-8, has too many digits, or is nested beyond Python's stack."""


def read_text(name: str) -> str:
    """The text of a file, or of standard input for ``-``: UTF-8, with or without a byte order mark.

    Raises `InputError`, or `OSError` when there is no such file.
    """
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    try:
        return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig").read()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        told = "standard input" if name == "-" else name
        raise InputError(f"{told}, line {line}: not UTF-8 text; convert it") from None


def write_text(path: Path, text: str) -> None:
    """Write UTF-8; a lone surrogate, which UTF-8 has no form for, is written as its escape."""
    path.write_text(text, encoding="utf-8", errors="backslashreplace")


def read_json(text: str, name: str) -> Any:
    """The value of a JSON text. Raises `InputError` that names the place."""
    try:
        return json.loads(text)
    except NOT_JSON as error:
        raise InputError(f"{name}: {why_not_json(error)}") from None


def read_json_lines(text: str, name: str) -> Iterator[tuple[int, Any]]:
    """Line number and value of each line that is not blank. Raises `InputError` that names the line.

    Only a newline parts lines (https://jsonlines.org): U+2028 and its kin may stand inside a JSON string.
    """
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, read_json(line, f"{name}, line {number}")


def why_not_json(error: Exception) -> str:
    """What is wrong with a text that `json.loads` refused (one of `NOT_JSON`), without quoting it."""
    if isinstance(error, json.JSONDecodeError):
        line = f"line {error.lineno}, " if "\n" in error.doc.strip() else ""
        why = f"{line}column {error.colno}: {error.msg}"
    elif isinstance(error, UnicodeDecodeError):
        why = "not UTF-8"
    elif isinstance(error, RecursionError):
        why = "nested too deeply"
    else:
        why = "a number with too many digits"
    return f"not valid JSON ({why})"
