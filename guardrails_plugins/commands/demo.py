"""`sentence-gate demo`: one recorded answer with an invented value, streamed live three ways.

Beside each framework with the gate stands the same framework with its own defaults and the same
check, so that only the moment of release differs.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from guardrails_plugins.commands.terminal import paint, printable
from guardrails_plugins.core.gate import SentenceGate
from guardrails_plugins.core.sources import SourceIndex
from guardrails_plugins.streaming.driver import gate_stream_sync

PIECE_CHARS = 4
PIECE_SECONDS = 0.012


@dataclass(slots=True)
class Recorded:
    """The recorded answer and its sources."""

    question: str
    sources: list[dict[str, Any]]
    answer: str
    invented: str
    language: str
    begun: float = 0.0

    def begin(self) -> None:
        """The model starts to write: times count from here, not from the import of a framework."""
        self.begun = time.monotonic()

    def pieces(self) -> list[str]:
        """The answer as a model would stream it."""
        return [self.answer[i : i + PIECE_CHARS] for i in range(0, len(self.answer), PIECE_CHARS)]


@dataclass(slots=True)
class Seen:
    """What a reader saw, and when (seconds since the model began to write)."""

    recorded: Recorded
    parts: list[tuple[float, str]] = field(default_factory=list)
    ending: str = ""

    def show(self, text: str) -> None:
        """Text reached the reader now."""
        if text:
            self.parts.append((time.monotonic() - self.recorded.begun, text))

    @property
    def text(self) -> str:
        """All that was shown."""
        return "".join(text for _, text in self.parts)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--json", action="store_true", help="print what each reader saw as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the demo; 0 unless the invented value was shown behind the gate."""
    logging.disable(logging.WARNING)
    recorded = load()
    if not args.json:
        _introduce(recorded)
    leaked = False
    results: dict[str, Any] = {}
    for title, gated, play in _ways():
        seen = play(recorded)
        results[title] = {"shown": seen.text, "ending": seen.ending, "leaked": recorded.invented in seen.text}
        leaked = leaked or (gated and recorded.invented in seen.text)
        if not args.json:
            _print(title, seen, recorded)
    if args.json:
        print(json.dumps(results, ensure_ascii=True, indent=2))
    return 1 if leaked else 0


def load() -> Recorded:
    """The recording that ships with the package."""
    text = resources.files("guardrails_plugins").joinpath("data/demo.json").read_text(encoding="utf-8")
    return Recorded(**json.loads(text))


def model(recorded: Recorded) -> Iterator[str]:
    """The embedded provider: the recorded answer, at the pace of a model."""
    recorded.begin()
    for piece in recorded.pieces():
        time.sleep(PIECE_SECONDS)
        yield piece


def plain(recorded: Recorded) -> Seen:
    """The gate alone."""
    gate = SentenceGate(SourceIndex(recorded.sources), language=recorded.language)
    seen = Seen(recorded)
    for event in gate_stream_sync(model(recorded), gate):
        if event.type == "sentence":
            seen.show(event.text)
        elif event.type == "guard":
            codes = ", ".join(event.codes)
            seen.ending = f"{event.withheld_chars} characters withheld ({codes}): {event.notice}"
    return seen


def _ways() -> Iterator[tuple[str, bool, Callable[[Recorded], Seen]]]:
    yield "plain Python, with the gate", True, plain
    if importlib.util.find_spec("nemoguardrails") is not None:
        from guardrails_plugins.commands import demo_nemo

        yield "NeMo Guardrails, with the gate", True, demo_nemo.gated
        yield "NeMo Guardrails, its own streaming defaults, same check", False, demo_nemo.stock
    else:
        print("NeMo Guardrails is not installed: pip install 'guardrails-plugins[nemo]'\n")
    if importlib.util.find_spec("guardrails") is not None:
        from guardrails_plugins.commands import demo_guardrails

        yield "Guardrails AI, with the gate", True, demo_guardrails.gated
        yield "Guardrails AI, its own streaming defaults, same check", False, demo_guardrails.stock
    else:
        print("Guardrails AI is not installed: pip install 'guardrails-plugins[guardrails]'\n")


def _introduce(recorded: Recorded) -> None:
    print(paint(recorded.question, "bold"))
    for number, source in enumerate(recorded.sources, 1):
        print(paint(f"  [S{number}] {source['text']}", "dim"))
    print(f"\nThe model's third sentence says {recorded.invented}; no source does.\n")


def _print(title: str, seen: Seen, recorded: Recorded) -> None:
    print(paint(title, "bold"))
    for at, text in _lines(seen):
        shown = printable(text.strip())
        if recorded.invented in text:
            shown = paint(shown, "red")
        print(f"  {at:5.2f} s  {shown}")
    if seen.ending:
        print(paint(f"           {printable(seen.ending)}", "yellow"))
    verdict = (
        paint("the invented value was shown", "red")
        if recorded.invented in seen.text
        else paint("the invented value was never shown", "green")
    )
    print(f"           {verdict}\n", flush=True)


def _lines(seen: Seen) -> Iterator[tuple[float, str]]:
    """What arrived in small pieces is printed by the second, else piece by piece."""
    if len(seen.parts) <= 8:
        yield from ((at, text) for at, text in seen.parts if text.strip())
        return
    first, line = seen.parts[0][0], ""
    for at, text in seen.parts:
        if at - first > 0.4 and line.strip():
            yield first, line
            first, line = at, ""
        line += text
    if line.strip():
        yield first, line
