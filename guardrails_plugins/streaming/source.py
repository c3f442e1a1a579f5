"""A provider's stream, read by a task of its own and closed on every way out."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator
from typing import Any

from guardrails_plugins.core.errors import FrameError

CLOSE_TIMEOUT_S = 2.0
"""Seconds that a source may take to close before the stream ends without waiting for it."""


class SourceEnded(Exception):
    """The source has no further frame."""


class AsyncSource:
    """Reads `chunks` (an async iterator, an awaitable of one, or a list) one frame at a time.

    The task that reads also closes: some HTTP clients tie a connection to the task that opened
    it. It reads no frame before it is asked for one. Closing cancels it wherever it stands, so
    a source that stalls is closed within one scheduling turn.
    """

    def __init__(self, chunks: Any) -> None:
        self._chunks = chunks
        self._asked: asyncio.Future[asyncio.Future[Any]] | None = None
        self._task: asyncio.Task[None] | None = None

    def ask(self) -> asyncio.Future[Any]:
        """A future of the next frame; it raises `SourceEnded` at the end, or what the source raised."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()
        if self._task is None:
            self._asked = loop.create_future()
            self._task = loop.create_task(self._read())
            self._task.add_done_callback(_forget)
        asked = self._asked
        assert asked is not None
        if self._task.done() or asked.done():
            answer.set_exception(SourceEnded())
        else:
            asked.set_result(answer)
        return answer

    def cancel(self) -> None:
        """Begin to close, without waiting."""
        if self._task is not None:
            self._task.cancel()

    async def close(self) -> None:
        """Close the source; returns when it is closed, or after `CLOSE_TIMEOUT_S`."""
        if self._task is None:
            await _close(self._chunks)
            return
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=CLOSE_TIMEOUT_S)

    async def _read(self) -> None:
        chunks = self._chunks
        answer: asyncio.Future[Any] | None = None
        try:
            if inspect.isawaitable(chunks):
                chunks = self._chunks = await chunks
            iterator = _iterator(chunks)
            while True:
                assert self._asked is not None
                answer = await self._asked
                self._asked = asyncio.get_running_loop().create_future()
                chunk = await anext(iterator)
                if not answer.done():
                    answer.set_result(chunk)
        except StopAsyncIteration:
            _settle(answer, SourceEnded())
        except asyncio.CancelledError:
            raise
        except Exception as error:
            answer = await self._asked if answer is None and self._asked is not None else answer
            _settle(answer, error)
        finally:
            await _close(chunks)


def _settle(answer: asyncio.Future[Any] | None, error: Exception) -> None:
    if answer is not None and not answer.done():
        answer.set_exception(error)


def _forget(task: asyncio.Task[None]) -> None:
    if not task.cancelled():
        task.exception()  # taken here, so that asyncio logs no text of it


def _iterator(chunks: Any) -> AsyncIterator[Any]:
    if hasattr(chunks, "__aiter__"):
        iterator: AsyncIterator[Any] = chunks.__aiter__()
        return iterator
    if isinstance(chunks, (list, tuple)):
        return _listed(chunks)
    raise FrameError(
        f"gate_stream reads an async iterator, not {type(chunks).__name__}; use gate_stream_sync for a plain iterator"
    )


async def _listed(chunks: Any) -> AsyncIterator[Any]:
    for chunk in chunks:
        yield chunk


async def _close(chunks: Any) -> None:
    """`aclose` of generators, `close` of SDK streams; an error while closing is no reason to go on."""
    for name in ("aclose", "close"):
        close = getattr(chunks, name, None)
        if close is None:
            continue
        with contextlib.suppress(Exception):
            result = close()
            if inspect.isawaitable(result):
                await result
        return
