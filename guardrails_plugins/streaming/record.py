"""The opt-in recorder: the one place where the text of withheld sentences may be kept."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from guardrails_plugins.core.errors import ArgumentError, RecorderError
from guardrails_plugins.core.gate import SentenceGate

logger = logging.getLogger("guardrails_plugins")

Recorder = str | os.PathLike[str] | Callable[[Mapping[str, Any]], None]
"""A file to append JSON Lines to, or a callable that takes each recording."""


class Recording:
    """Collects the raw answer of one stream and hands it on at the end, withheld text included.

    What it writes is what `sentence-gate replay` reads: ``id``, ``language``, ``answer``,
    ``sources``, ``state``. It is off unless a recorder is given. Raises `ArgumentError` for what is
    no recorder, and `RecorderError` for a file that cannot be appended to, before the stream begins.
    """

    __slots__ = ("_pieces", "_recorder", "_request_id")

    def __init__(self, recorder: Recorder | None, request_id: str | None) -> None:
        if recorder is not None and not callable(recorder):
            _try(recorder)
        self._recorder = recorder
        self._request_id = request_id
        self._pieces: list[str] = []

    def add(self, text: str) -> None:
        """Keep received text, if a recorder is given."""
        if self._recorder is not None:
            self._pieces.append(text)

    def close(self, gate: SentenceGate, state: str) -> None:
        """Hand the recording on, once. A recorder that breaks now is logged: the answer is not lost with it."""
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            return
        recording = {
            "id": self._request_id,
            "language": gate.language,
            "answer": "".join(self._pieces),
            "sources": [source.text for source in gate.index.sources],
            "state": state,
        }
        self._pieces.clear()
        try:
            if callable(recorder):
                recorder(recording)
            else:
                line = json.dumps(recording, ensure_ascii=True) + "\n"
                with Path(recorder).open("a", encoding="utf-8") as file:
                    file.write(line)
        except Exception as error:
            logger.error("stream %s: the recorder raised %s", self._request_id or "-", type(error).__name__)


def _try(path: Any) -> None:
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentError(f"record must be a path or a callable, not {type(path).__name__}")
    problem = None
    try:
        with Path(path).open("a", encoding="utf-8"):
            pass
    except OSError as error:
        problem = error.strerror
    if problem is not None:
        raise RecorderError(f"record: cannot append to {os.fspath(path)!r}: {problem}")
