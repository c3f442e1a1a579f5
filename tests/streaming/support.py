"""Sources that misbehave on demand, and what the tests share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

from guardrails_plugins import SentenceGate

SOURCES = ["The library opens at nine. It has 412 seats."]
GOOD = "It opens at nine [S1]. It has 412 seats [S1]. Come early."
SHOWN = "It opens at nine. It has 412 seats. Come early."
BAD = "It opens at nine [S1]. Late fees ended in QZX8841 [S1]. More text [S1]."
CANARY = "QZX8841"


def pieces(text: str, size: int = 5) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)]


def gate(**more: Any) -> SentenceGate:
    return SentenceGate(SOURCES, **more)


class Source:
    """An asynchronous source. At item `at` it does `fault`: raises, stalls, or ends."""

    def __init__(self, items: list[Any], *, fault: str | None = None, at: int = 0) -> None:
        self.items, self.fault, self.at = items, fault, at
        self.made = 0
        self.closed = False

    async def stream(self) -> AsyncIterator[Any]:
        try:
            for i, item in enumerate(self.items):
                if i == self.at and self.fault == "raise":
                    raise RuntimeError(f"provider said {CANARY}")
                if i == self.at and self.fault == "stall":
                    await asyncio.sleep(3600)
                if i == self.at and self.fault == "end":
                    return
                self.made += 1
                yield item
                await asyncio.sleep(0)
        finally:
            self.closed = True


class SyncSource:
    """The same, synchronous."""

    def __init__(self, items: list[Any], *, fault: str | None = None, at: int = 0) -> None:
        self.items, self.fault, self.at = items, fault, at
        self.made = 0
        self.closed = False

    def stream(self) -> Iterator[Any]:
        try:
            for i, item in enumerate(self.items):
                if i == self.at and self.fault == "raise":
                    raise RuntimeError(f"provider said {CANARY}")
                if i == self.at and self.fault == "end":
                    return
                self.made += 1
                yield item
        finally:
            self.closed = True


def text_of(events: list[Any]) -> str:
    return "".join(e.text for e in events if e.type == "sentence")


async def collect(stream: Any) -> list[Any]:
    return [event async for event in stream]
