"""What a strategy is, and those that need no framework."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from guardrails_plugins.compare.clock import Clock, run
from guardrails_plugins.compare.recorded import Model, Recorded
from guardrails_plugins.compare.seen import Watch
from guardrails_plugins.core.gate import SentenceGate
from guardrails_plugins.core.sources import SourceIndex
from guardrails_plugins.core.whole import check_text
from guardrails_plugins.streaming.driver import gate_stream

REAL, MODEL = "real", "model"


@dataclass(frozen=True, slots=True)
class Strategy:
    """A way to release a stream. `kind` is "real" (the code named in `note` runs) or "model" (built
    from the document named in `note`); `group` orders the table."""

    name: str
    kind: str
    group: str
    note: str
    run: Callable[[Recorded], Watch]


class Checker:
    """The same checks for every strategy: does the gate find a violation in this text?"""

    def __init__(self, watch: Watch) -> None:
        recorded = watch.model.recorded
        self._index = SourceIndex(recorded.sources, language=recorded.language)
        self._language = recorded.language
        self._watch = watch

    def blocks(self, text: str) -> bool:
        """Whether a text is to be blocked; the watch is told."""
        self._watch.checked(text)
        blocked = check_text(text, self._index, language=self._language).stopped
        if blocked:
            self._watch.verdict()
        return blocked


def watched(recorded: Recorded) -> Watch:
    """A fresh run of a recorded model."""
    return Watch(Model(recorded, Clock()))


def asynchronous(recorded: Recorded, read: Callable[[Watch], Any]) -> Watch:
    """Run an asynchronous reader on the virtual clock."""
    watch = watched(recorded)
    run(watch.model.clock, lambda: read(watch))
    return watch


async def _driver(watch: Watch) -> None:
    recorded = watch.model.recorded
    gate = SentenceGate(recorded.sources, language=recorded.language)
    async for event in gate_stream(watch.model.astream(), gate):
        if event.type == "sentence":
            watch.checked(event.text)
            watch.show(event.text)
        elif event.type == "guard":
            watch.checked("")
            watch.verdict()
            watch.stop(event.notice)
        elif event.type == "done" and event.state in ("truncated", "failed"):
            watch.error = str(event.state)


async def _after_the_fact(watch: Watch) -> None:
    checker, text = Checker(watch), ""
    async for piece in watch.model.astream():
        text += piece
        watch.show(piece)
    if checker.blocks(text):
        watch.stop()


async def _whole_first(watch: Watch) -> None:
    checker, text = Checker(watch), ""
    async for piece in watch.model.astream():
        text += piece
    if checker.blocks(text):
        watch.stop()
    else:
        watch.show(text)


def fixed_chunks(size: int) -> Callable[[Watch], Any]:
    """Hold so many characters, check them, show them."""

    async def read(watch: Watch) -> None:
        checker = Checker(watch)
        async for chunk in _chunks(watch.model.astream(), size):
            if checker.blocks(chunk):
                watch.stop()
                return
            watch.show(chunk)

    return read


async def _chunks(stream: AsyncIterator[str], size: int) -> AsyncIterator[str]:
    held = ""
    try:
        async for piece in stream:
            held += piece
            while len(held) >= size:
                yield held[:size]
                held = held[size:]
        if held:
            yield held
    finally:
        await stream.aclose()  # type: ignore[attr-defined]


def plain() -> Iterator[Strategy]:
    """The gate's own driver, and the three release rules without any framework."""
    yield Strategy("sentence gate", REAL, "gate", "guardrails_plugins.gate_stream", partial(asynchronous, read=_driver))
    yield Strategy("show, then check the whole", REAL, "plain", "a loop", partial(asynchronous, read=_after_the_fact))
    yield Strategy("check the whole, then show", REAL, "plain", "a loop", partial(asynchronous, read=_whole_first))
    for size in (50, 200):
        read = fixed_chunks(size)
        yield Strategy(f"fixed chunks of {size} characters", REAL, "plain", "a loop", partial(asynchronous, read=read))
