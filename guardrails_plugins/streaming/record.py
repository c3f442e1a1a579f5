"""The opt-in recorder: the one place where the text of withheld sentences may be kept."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from guardrails_plugins.core.gate import SentenceGate

Recorder = str | os.PathLike[str] | Callable[[Mapping[str, Any]], None]
"""A file to append JSON Lines to, or a callable that takes each recording."""


class Recording:
    """Collects the raw answer of one stream and hands it on at the end, withheld text included.

    What it writes is what `sentence-gate replay` reads: ``id``, ``language``, ``answer``,
    ``sources``, ``state``. It is off unless a recorder is given.
    """

    __slots__ = ("_pieces", "_recorder", "_request_id")

    def __init__(self, recorder: Recorder | None, request_id: str | None) -> None:
        self._recorder = recorder
        self._request_id = request_id
        self._pieces: list[str] = []

    def add(self, text: str) -> None:
        """Keep received text, if a recorder is given."""
        if self._recorder is not None:
            self._pieces.append(text)

    def close(self, gate: SentenceGate, state: str) -> None:
        """Hand the recording on, once."""
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
        if callable(recorder):
            recorder(recording)
            return
        line = json.dumps(recording, ensure_ascii=True) + "\n"
        with Path(recorder).open("a", encoding="utf-8") as file:
            file.write(line)
