"""`sentence_stream` and `async_sentence_stream`: a callable for a Guard whose stream is judged before it is read.

The provider is called when Guardrails has read the opening frame and a validator has bound the
metadata to it, so wrong metadata never costs a model call. Guardrails' history and tracing keep
the stream object: it is an empty shell whose one generator lives in the reader's frame, so a
reader that leaves takes the provider's stream down with it.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from typing import Any

from guardrails_plugins.adapters.guardrails_ai.session import Frame, Session, frames_of
from guardrails_plugins.core.errors import FrameError
from guardrails_plugins.streaming.driver import gate_stream, gate_stream_sync

_closing: set[asyncio.Task[None]] = set()
"""Closings under way: an event loop keeps only weak references to its tasks."""


class SentenceStream(Iterator[Frame]):
    """What a synchronous Guard reads: its first `iter` is the stream, every later one is empty."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call: Callable[[], Any] | None = call

    def __iter__(self) -> Iterator[Frame]:
        call, self._call = self._call, None
        if call is None:
            return iter(())
        session = Session()
        frames = _frames(call, session)
        session.stream = weakref.ref(frames)  # weak: only the reader keeps the stream open
        return frames

    def __next__(self) -> Frame:
        raise StopIteration


def _frames(call: Callable[[], Any], session: Session) -> Generator[Frame, None, None]:
    yield session.opening
    gate = session.gate  # before the model is called: unbound is an error
    events = gate_stream_sync(call(), gate)
    try:
        for event in events:
            for frame in frames_of(session, event):
                if frame.failure is not None and frame.failure.last:
                    events.close()
                yield frame
                if session.ended:
                    return
    finally:
        events.close()
        session.release()


class AsyncSentenceStream(AsyncIterator[Frame]):
    """What an AsyncGuard reads. `close_with` ties the provider's stream to the reader's context."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._session = Session()
        self._frames = _async_frames(call, self._session)
        self._session.stream = weakref.ref(self._frames)
        self._session.watcher = self.close_with

    def __aiter__(self) -> AsyncIterator[Frame]:
        return self

    async def __anext__(self) -> Frame:
        return await anext(self._frames)

    def close_with(self, context: contextvars.Context) -> None:
        """Close the stream when Guardrails' reader, which owns `context`, is gone."""
        loop = asyncio.get_running_loop()
        weakref.finalize(context, _abandon, loop, self._frames).atexit = False


async def _async_frames(call: Callable[[], Any], session: Session) -> AsyncGenerator[Frame, None]:
    yield session.opening
    gate = session.gate
    events = gate_stream(await _provider(call), gate)
    try:
        async for event in events:
            for frame in frames_of(session, event):
                if frame.failure is not None and frame.failure.last:
                    await events.aclose()
                yield frame
                if session.ended:
                    return
    finally:
        await events.aclose()
        session.release()


def _abandon(loop: asyncio.AbstractEventLoop, frames: AsyncGenerator[Frame, None]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(_close, loop, frames)


def _close(loop: asyncio.AbstractEventLoop, frames: AsyncGenerator[Frame, None]) -> None:
    task = loop.create_task(frames.aclose())
    _closing.add(task)
    task.add_done_callback(_closing.discard)


async def _provider(call: Callable[[], Any]) -> Any:
    """What an async callable gave: awaited, out of Guardrails' own envelope, synchronous iterators in a thread."""
    response = call()
    if inspect.isawaitable(response):
        response = await response
    if not hasattr(response, "__aiter__") and hasattr(response, "completion_stream"):
        response = response.completion_stream
    if hasattr(response, "__aiter__") or isinstance(response, str) or not hasattr(response, "__iter__"):
        return response
    return _threaded(response)


async def _threaded(source: Any) -> AsyncGenerator[Any, None]:
    iterator, end = iter(source), object()
    try:
        while (item := await asyncio.to_thread(next, iterator, end)) is not end:
            yield item
    finally:
        close = getattr(source, "close", None)
        if close is not None:
            close()


class _Envelope:
    """An AsyncGuard reads `.completion_stream` of what a callable returns."""

    def __init__(self, stream: AsyncSentenceStream) -> None:
        self.completion_stream = stream


def sentence_stream(llm: Callable[..., Any] | str) -> Callable[..., Any]:
    """A callable for `Guard(...)` that yields judged sentences.

    `llm` is what a Guard takes: a callable with ``messages`` and ``**kwargs`` that returns an
    iterator of strings or provider chunks, a model name (through LiteLLM), or an async callable
    (then the result is that of `async_sentence_stream`). Called without ``stream=True`` it
    returns the model's whole text. A guard without `SentenceGateValidator` gets nothing from it:
    reading raises `UnboundStreamError`.
    """
    if not isinstance(llm, str) and _is_async(llm):
        return async_sentence_stream(llm)
    function = _model(llm, "completion") if isinstance(llm, str) else llm

    def call(*args: Any, messages: Any = None, **kwargs: Any) -> Any:
        def invoke() -> Any:
            return function(*args, **_given(messages), **kwargs)

        return SentenceStream(invoke) if kwargs.get("stream") else text_of(invoke())

    return call


def async_sentence_stream(llm: Callable[..., Any] | str) -> Callable[..., Any]:
    """The same for `AsyncGuard(...)`: `llm` may be async, an async generator function, synchronous
    (its items are then fetched in a thread) or a model name."""
    function = _model(llm, "acompletion") if isinstance(llm, str) else llm

    async def call(*args: Any, messages: Any = None, **kwargs: Any) -> Any:
        def invoke() -> Any:
            return function(*args, **_given(messages), **kwargs)

        if kwargs.get("stream"):
            return _Envelope(AsyncSentenceStream(invoke))
        response = invoke()
        return text_of(await response if inspect.isawaitable(response) else response)

    return call


def _is_async(llm: Callable[..., Any]) -> bool:
    functions = (llm, type(llm).__call__)
    return any(inspect.iscoroutinefunction(f) or inspect.isasyncgenfunction(f) for f in functions)


def _given(messages: Any) -> dict[str, Any]:
    return {} if messages is None else {"messages": messages}


def _model(name: str, function: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        import litellm

        kwargs.pop("reask_messages", None)  # Guardrails' own; it drops it before LiteLLM too
        return getattr(litellm, function)(*args, **{"model": name, **kwargs})

    return call


def text_of(response: Any) -> str:
    """The text of a model's whole answer: a string, or the first choice of a chat completion.

    Raises `FrameError` for anything else.
    """
    if isinstance(response, str):
        return response
    choices = getattr(response, "choices", None)
    content = getattr(getattr(choices[0], "message", None), "content", None) if choices else None
    if not isinstance(content, str):
        raise FrameError(
            f"without stream=True the model must return text or a chat completion, not {type(response).__name__}"
        )
    return content
