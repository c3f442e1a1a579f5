"""What the caller of `stream_async` iterates: NeMo's stream, ended at once and closed on every way out.

NeMo's own iterator ends only when its generation task has ended. So it is read by a task of its
own; the caller waits for the queue between, never for the provider.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from guardrails_plugins.adapters.nemo.session import STREAM, Entered, Session
from guardrails_plugins.adapters.nemo.verdict import frame, terminal_type

SETTLE_S = 0.05
"""Seconds that the end of a stream waits for NeMo's tidying up (history, `explain()`); longer work goes on behind."""

CLOSE_S = 2.0
"""Seconds that leaving early waits for the provider's stream to close. A provider that takes longer closes behind."""

_behind: set[asyncio.Task[Any]] = set()
"""Tasks that go on after their stream has ended; the event loop itself holds tasks only weakly."""


class _End:
    """The end of NeMo's stream, with the exception that ended it."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


async def relay(
    session: Session, start: Callable[[], AsyncIterator[Any]], close: Callable[[], Any] | None = None
) -> AsyncIterator[Any]:
    """Yield the items of the stream that `start` opens; `close` shuts an external source."""
    queue: asyncio.Queue[Any] = asyncio.Queue()
    pump = _keep(asyncio.create_task(_pump(session, start, queue)))
    ended = False
    try:
        while True:
            item = await queue.get()
            if isinstance(item, _End):
                ended = True
                if item.error is not None:
                    raise item.error
                return
            yield item
    finally:
        await _leave(session, pump, close, early=not ended)


async def _leave(session: Session, pump: asyncio.Task[None], close: Callable[[], Any] | None, *, early: bool) -> None:
    generation = session.generation
    if early:
        for task in (generation, pump):
            if task is not None:
                task.cancel()
    tasks = [t for t in (generation, pump) if t is not None and not t.done()]
    if tasks:
        await asyncio.wait(tasks, timeout=CLOSE_S if early else SETTLE_S)
    if close is not None:
        with contextlib.suppress(Exception):
            await close()


async def _pump(session: Session, start: Callable[[], AsyncIterator[Any]], queue: asyncio.Queue[Any]) -> None:
    with Entered(session, STREAM):
        try:
            async for item in start():
                over = False
                for shown in _shown(session, item):
                    queue.put_nowait(shown)
                    over = over or _is_terminal(shown)
                if over:
                    queue.put_nowait(_End())
                    _end_generation(session)
        except asyncio.CancelledError:
            queue.put_nowait(_End())
            raise
        except Exception as error:
            queue.put_nowait(_End(error))
        else:
            queue.put_nowait(_End())


def _shown(session: Session, item: Any) -> list[Any]:
    """What the caller sees of one of NeMo's items."""
    if not isinstance(item, str):
        return [item]
    if session.blocked is not None:
        blocked = frame(session.blocked)
        return [session.lead, blocked] if session.lead else [blocked]
    if session.shown and session.shown[0][0] == item:
        item = session.shown.popleft()[1]
    return [item] if item else []


def _is_terminal(item: Any) -> bool:
    return isinstance(item, str) and terminal_type(item) is not None


def _end_generation(session: Session) -> None:
    """After another rail's block the model would be read to its end; after ours it has already been closed."""
    if session.blocked is None and session.generation is not None:
        session.generation.cancel()


def _keep(task: asyncio.Task[Any]) -> asyncio.Task[Any]:
    _behind.add(task)
    task.add_done_callback(_forget)
    return task


def _forget(task: asyncio.Task[Any]) -> None:
    _behind.discard(task)
    if not task.cancelled():
        task.exception()  # taken here, so that asyncio does not log it with its text
