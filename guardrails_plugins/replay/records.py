"""Recorded answers, read one line at a time: JSON Lines of our own form, and OpenAI-style message logs."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from guardrails_plugins.commands.files import NOT_JSON, why_not_json
from guardrails_plugins.core.errors import GateError
from guardrails_plugins.core.languages.profile import resolve_language

LABELS = {
    **dict.fromkeys(("grounded", "clean", "supported"), False),
    **dict.fromkeys(("ungrounded", "unsupported", "violation"), True),
}
"""Labels of a whole answer; any other says nothing about it."""


class PackedFileError(GateError, OSError):
    """A ``.gz`` file cannot be unpacked; the message names it and the last whole line."""


class RecordingError(GateError, ValueError):
    """A line is no recording; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded answer; `id` is "" where it names none.

    `spans` are the ungrounded ranges in it (code points, half-open), None where
    nobody marked any; `bad` whether the whole answer is labelled as ungrounded, None where unlabelled."""

    id: str
    answer: str
    sources: tuple[Any, ...]
    language: str
    spans: tuple[tuple[int, int], ...] | None
    bad: bool | None


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file: its number from 1 and the byte behind it."""

    number: int
    end: int
    data: bytes


def lines(path: Path, start: int = 0, number: int = 0) -> Iterator[Line]:
    """The lines of a file from byte `start` on, `number` lines having been read before; never the whole file.

    Positions in a ``.gz`` file are those of the unpacked text. Raises `PackedFileError`.
    """
    try:
        with _open(path) as file:
            file.seek(start)
            while data := file.readline():
                start += len(data)
                number += 1
                yield Line(number, start, data)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise PackedFileError(
            f"{path} cannot be unpacked after line {number}: no gzip file, damaged or cut short; "
            "unpack what is whole of it, and name that"
        ) from None


def _open(path: Path) -> BinaryIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rb")  # type: ignore[return-value]
    return path.open("rb")


def parse(line: Line) -> Recording | None:
    """A line as a recording; None when it is blank. Raises `RecordingError`."""
    if not line.data.strip():
        return None
    try:
        row = json.loads(line.data)
    except NOT_JSON as error:
        raise RecordingError(why_not_json(error)) from None
    if not isinstance(row, dict):
        raise RecordingError(f"a recording is an object, not {type(row).__name__}")
    if "messages" in row and "answer" not in row:
        row = _from_messages(row)
    return _recording(row)


def _recording(row: Mapping[str, Any]) -> Recording:
    answer, sources = row.get("answer"), row.get("sources")
    if not isinstance(answer, str):
        raise RecordingError("'answer' must be a text")
    if not isinstance(sources, list) or not all(isinstance(s, (str, dict)) for s in sources):
        raise RecordingError("'sources' must be a list of texts or objects with a 'text'")
    language = row.get("language") or "en"
    resolve_language(language)
    label = row.get("label")
    return Recording(
        id=str(row["id"]) if row.get("id") is not None else "",
        answer=answer,
        sources=tuple(sources),
        language=language,
        spans=_spans(row.get("spans", row.get("ungrounded_spans")), len(answer)),
        bad=LABELS.get(label.lower()) if isinstance(label, str) else None,
    )


def _spans(value: Any, size: int) -> tuple[tuple[int, int], ...] | None:
    if value is None:
        return None
    spans = []
    for item in value if isinstance(value, list) else [value]:
        start, end = _pair(item)
        if not 0 <= start <= end <= size:
            raise RecordingError("'spans' must be pairs of positions in the answer")
        spans.append((start, end))
    return tuple(spans)


def _pair(item: Any) -> tuple[int, int]:
    """Two whole numbers out of a list or an object with ``start`` and ``end``; (1, 0) when they are none."""
    pair = [item.get("start"), item.get("end")] if isinstance(item, dict) else item
    start, end = pair if isinstance(pair, list) and len(pair) == 2 else (None, None)
    return (start, end) if isinstance(start, int) and isinstance(end, int) else (1, 0)


def _from_messages(row: Mapping[str, Any]) -> dict[str, Any]:
    """An OpenAI-style log: the last assistant message is the answer; sources stand in a context message or beside."""
    messages = row["messages"]
    if not isinstance(messages, list):
        raise RecordingError("'messages' must be a list")
    out = dict(row)
    for message in messages:
        if not isinstance(message, dict):
            raise RecordingError("each of 'messages' must be an object")
        content = message.get("content")
        if message.get("role") == "assistant" and isinstance(content, str):
            out["answer"] = content
        elif message.get("role") == "context" and isinstance(content, dict):
            out.setdefault("sources", content.get("sources"))
            out.setdefault("language", content.get("language"))
    return out
