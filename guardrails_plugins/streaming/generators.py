"""Generators that clean up also when they are closed before they were read.

Python never runs the body of a generator that is closed before its first item, so neither would
its ``finally``: the provider's stream of a client that left early would stay open.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from types import TracebackType
from typing import Any

from guardrails_plugins.streaming.events import GateEvent


class AsyncEvents(AsyncGenerator[GateEvent, None]):
    """The events of an asynchronous stream; `leave` is awaited when it is closed unread."""

    def __init__(self, events: AsyncGenerator[GateEvent, None], leave: Callable[[], Awaitable[None]]) -> None:
        self._events = events
        self._leave: Callable[[], Awaitable[None]] | None = leave

    async def asend(self, value: None) -> GateEvent:
        """The next event."""
        self._leave = None
        return await self._events.asend(value)

    async def athrow(self, typ: Any, val: BaseException | object = None, tb: TracebackType | None = None) -> GateEvent:
        """Raise an exception where the stream stands."""
        await self._left()
        return await self._events.athrow(typ, val, tb)

    async def aclose(self) -> None:
        """Close the stream and its source."""
        await self._left()
        await self._events.aclose()

    async def _left(self) -> None:
        leave, self._leave = self._leave, None
        if leave is not None:
            await leave()


class Events(Generator[GateEvent, None, None]):
    """The events of a synchronous stream; `leave` is called when it is closed unread."""

    def __init__(self, events: Generator[GateEvent, None, None], leave: Callable[[], None]) -> None:
        self._events = events
        self._leave: Callable[[], None] | None = leave

    def send(self, value: None) -> GateEvent:
        """The next event."""
        self._leave = None
        return self._events.send(value)

    def throw(self, typ: Any, val: BaseException | object = None, tb: TracebackType | None = None) -> GateEvent:
        """Raise an exception where the stream stands."""
        self._left()
        return self._events.throw(typ, val, tb)

    def close(self) -> None:
        """Close the stream and its source."""
        self._left()
        self._events.close()

    def _left(self) -> None:
        leave, self._leave = self._leave, None
        if leave is not None:
            leave()
