"""A virtual clock: seconds of model time pass at once, and the same each run.

Asynchronous strategies run on `VirtualLoop`, an event loop that never waits: when nothing is ready
it moves its time to the next timer. Synchronous ones get `Clock.sleep`.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")


class Clock:
    """Seconds since the start; moved by `sleep` and by the virtual loop."""

    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        """Let model time pass."""
        self.now = round(self.now + seconds, 9)


class _Selector(selectors.BaseSelector):
    """Polls the real one and lets virtual time pass instead of waiting."""

    def __init__(self, clock: Clock) -> None:
        self._real = selectors.DefaultSelector()
        self._clock = clock

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        # Without a timer only another thread can wake the loop: that is waited for in earnest.
        ready = self._real.select(timeout if timeout is None else 0)
        if not ready and timeout:
            self._clock.sleep(timeout)
        return ready

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on a `Clock`."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        super().__init__(_Selector(clock))

    def time(self) -> float:
        """The clock's seconds."""
        return self.clock.now


def run(clock: Clock, main: Callable[[], Awaitable[T]]) -> T:
    """Run a coroutine function on the clock and wait for what it leaves behind."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(clock)) as runner:
        return runner.run(_whole(main))


async def _whole(main: Callable[[], Awaitable[T]]) -> T:
    result = await main()
    # What a framework still has running (a model that it goes on reading) runs to its end.
    rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    if rest:
        await asyncio.wait(rest, timeout=600)
    return result
