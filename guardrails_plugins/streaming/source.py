"""A provider's stream, read by a task of its own and closed on every way out."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from guardrails_plugins.core.errors import FrameError

CLOSE_TIMEOUT_S = 2.0
"""Seconds that a source may take to close before the stream ends without waiting for it."""


class Read(NamedTuple):
    """What was read: a frame, the end, or what broke the source.

    An exception of the source is never kept or passed on, since its text may quote the answer:
    `code` and `message` (of an `ErrorEvent`) name its kind.
    """

    chunk: Any = None
    ended: bool = False
    code: str | None = None
    message: str = ""


ENDED = Read(ended=True)


class AsyncSource:
    """Reads `chunks` (an async iterator, an awaitable of one, or a list) one frame at a time.

    The task that reads also closes: some HTTP clients tie a connection to the task that opened
    it. It reads no frame before it is asked for one. Closing cancels it wherever it stands, so
    a source that stalls is closed within one scheduling turn.
    """

    def __init__(self, chunks: Any) -> None:
        self.asked_at = 0.0
        """When the frame that is waited for was asked for (the event loop's clock, seconds)."""
        self._chunks = chunks
        self._wanted = asyncio.Event()
        self._answer: asyncio.Future[Read] | None = None
        self._task: asyncio.Task[None] | None = None
        self._closing = False
        self._last: Read | None = None

    def ask(self) -> asyncio.Future[Read]:
        """A future of the next frame; the same one until `take`. It is never set to an exception."""
        if self._answer is None:
            loop = asyncio.get_running_loop()
            self._answer = loop.create_future()
            self.asked_at = loop.time()
            if self._task is None:
                self._task = loop.create_task(self._read())
                self._task.add_done_callback(forget)
            if self._last is not None:
                self._answer.set_result(self._last)
            else:
                self._wanted.set()
        return self._answer

    @property
    def asked(self) -> bool:
        """Whether a frame is waited for."""
        return self._answer is not None

    def take(self) -> Read:
        """The frame that has arrived; the next `ask` asks for another."""
        answer, self._answer = self._answer, None
        assert answer is not None
        return answer.result()

    def cancel(self) -> None:
        """Begin to close, without waiting."""
        self._closing = True
        if self._task is not None:
            self._task.cancel()

    async def close(self) -> None:
        """Close the source; returns when it is closed, or after `CLOSE_TIMEOUT_S`."""
        if self._task is None:
            await close(self._chunks)
            return
        if not self._task.done():
            self.cancel()
            await asyncio.wait({self._task}, timeout=CLOSE_TIMEOUT_S)

    async def _read(self) -> None:
        chunks, iterator = self._chunks, None
        try:
            if inspect.isawaitable(chunks):
                chunks = self._chunks = await chunks
            iterator = _iterator(chunks)
            while not self._closing:  # a source may swallow the cancellation
                await self._wanted.wait()
                self._wanted.clear()
                self._settle(Read(await anext(iterator)))
        except StopAsyncIteration:
            self._end(ENDED)
        except FrameError as error:
            self._end(Read(code="bad_frame", message=str(error)))
        except BaseException as error:
            self._end(Read(code="provider_error", message=f"the provider's stream raised {type(error).__name__}"))
            if self._is_ours(error):
                raise
        finally:
            if iterator is not chunks:
                await close(iterator)
            await close(chunks)

    def _is_ours(self, error: BaseException) -> bool:
        """Whether to raise it on: the task is cancelled, or the program is to end; a source may raise either itself."""
        if isinstance(error, asyncio.CancelledError):
            task = asyncio.current_task()
            return self._closing or (task is not None and task.cancelling() > 0)
        return isinstance(error, (KeyboardInterrupt, SystemExit))

    def _end(self, last: Read) -> None:
        self._last = last
        self._settle(last)

    def _settle(self, read: Read) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(read)


def forget(task: asyncio.Future[Any]) -> None:
    """Take a task's exception, so that asyncio logs no text of it."""
    if not task.cancelled():
        task.exception()


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


async def close(chunks: Any) -> None:
    """`aclose` of generators, `close` of SDK streams; an error while closing is no reason to go on."""
    for name in ("aclose", "close"):
        method = getattr(chunks, name, None)
        if method is None:
            continue
        with contextlib.suppress(Exception):
            result = method()
            if inspect.isawaitable(result):
                await result
        return
