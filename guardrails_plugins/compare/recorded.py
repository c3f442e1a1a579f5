"""Recorded answers: what a model wrote, over which sources, and where it went wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from guardrails_plugins.commands.files import read_json_lines, read_text
from guardrails_plugins.compare.clock import Clock
from guardrails_plugins.core.errors import GateError, LanguageError
from guardrails_plugins.core.languages.profile import resolve_language

PIECE_CHARS = 4
"""Code points a piece: about one token of English."""
PIECE_SECONDS = 0.02
"""A model that writes fifty pieces a second."""


class RecordedError(GateError):
    """A file of recorded answers is wrong; the message names the line."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One answer. `violating` is its sentence that breaks a rule, as written; `invented` its values
    that no source holds; `code` the code that the gate gives, or None for a clean answer."""

    id: str
    language: str
    question: str
    sources: tuple[str, ...]
    answer: str
    code: str | None = None
    violating: str | None = None
    invented: tuple[str, ...] = ()

    def pieces(self) -> list[str]:
        """The answer as the model writes it."""
        return [self.answer[at : at + PIECE_CHARS] for at in range(0, len(self.answer), PIECE_CHARS)]


@dataclass(slots=True)
class Model:
    """One run of a recorded model: writes the pieces at its pace and notes what became of it."""

    recorded: Recorded
    clock: Clock
    written: int = 0
    ended: float | None = None
    times: list[float] = field(default_factory=list)

    def stream(self) -> Iterator[str]:
        """The pieces, in virtual time."""
        try:
            for piece in self.recorded.pieces():
                self.clock.sleep(PIECE_SECONDS)
                self._wrote()
                yield piece
        finally:
            self._ended()

    async def astream(self) -> Any:
        """The pieces, asynchronously."""
        import asyncio

        try:
            for piece in self.recorded.pieces():
                await asyncio.sleep(PIECE_SECONDS)
                self._wrote()
                yield piece
        finally:
            self._ended()

    def _wrote(self) -> None:
        self.written += 1
        self.times.append(self.clock.now)

    def _ended(self) -> None:
        if self.ended is None:
            self.ended = self.clock.now


def shipped() -> list[Recorded]:
    """The answers that come with the package: ten languages, each code, clean ones among them."""
    text = resources.files("guardrails_plugins.data").joinpath("compare", "answers.jsonl").read_text(encoding="utf-8")
    return _parse(text, "the shipped answers")


def load(path: Path) -> list[Recorded]:
    """One's own answers, a JSON object a line: `answer`, `sources`, and optionally `id`, `language`,
    `question`, `code`, `violating`, `invented`. Raises `RecordedError` or `InputError` that names the line."""
    return _parse(read_text(str(path)), str(path))


def _parse(text: str, name: str) -> list[Recorded]:
    found = [_one(data, f"{name}, line {number}", number) for number, data in read_json_lines(text, name)]
    if not found:
        raise RecordedError(f"{name} holds no recorded answer")
    return found


def _one(data: Any, where: str, number: int) -> Recorded:
    if not isinstance(data, dict) or not isinstance(data.get("answer"), str) or not data["answer"]:
        raise RecordedError(f"{where} has no text 'answer'")
    sources = data.get("sources")
    if not isinstance(sources, list) or not all(isinstance(s, str) for s in sources) or not sources:
        raise RecordedError(f"{where}: 'sources' must be a list of texts")
    violating = data.get("violating")
    if violating is not None and (not isinstance(violating, str) or violating not in data["answer"]):
        raise RecordedError(f"{where}: 'violating' does not stand in 'answer'")
    code, invented = data.get("code"), data.get("invented", [])
    if code is not None and not isinstance(code, str):
        raise RecordedError(f"{where}: 'code' must be a text")
    if not isinstance(invented, list) or not all(isinstance(v, str) for v in invented):
        raise RecordedError(f"{where}: 'invented' must be a list of texts")
    try:
        language = resolve_language(data.get("language", "en"))
    except LanguageError as error:
        raise RecordedError(f"{where}: {error}") from None
    return Recorded(
        id=str(data.get("id", number)),
        language=language,
        question=str(data.get("question", "")),
        sources=tuple(sources),
        answer=data["answer"],
        code=code,
        violating=violating,
        invented=tuple(invented),
    )
