"""Closing a client's own stream object, and a reader whose own code breaks."""

from __future__ import annotations

import asyncio
import gc
import logging
from typing import Any

import pytest
from guardrails import AsyncGuard, Guard
from guardrails.settings import settings

from guardrails_plugins.adapters.guardrails_ai import SentenceGateValidator, async_sentence_stream, sentence_stream
from tests.adapters.guardrails_ai.support import EN, MESSAGES, Provider, as_chunks, cut, read, read_async

pytestmark = pytest.mark.framework
LONG = cut(EN.text, 6) + cut(EN.second * 50, 6)


@pytest.fixture(params=["tracing", "no tracing"], autouse=True)
def tracing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guardrails' tracing holds on to streams: both with and without it."""
    monkeypatch.setattr(settings, "disable_tracing", request.param == "no tracing")
    monkeypatch.setattr(logging.getLogger("opentelemetry.context"), "disabled", True)


class ClientStream:
    """What the OpenAI SDK returns: an iterator, no generator, that is closed by `close`."""

    def __init__(self, items: list[Any]) -> None:
        self.items, self.taken, self.closed = items, 0, False

    def __iter__(self) -> ClientStream:
        return self

    def __next__(self) -> Any:
        if self.taken == len(self.items):
            raise StopIteration
        self.taken += 1
        return self.items[self.taken - 1]

    def close(self) -> None:
        self.closed = True


class AsyncClientStream(ClientStream):
    """The same for the asynchronous client, whose `close` is to be awaited."""

    def __aiter__(self) -> AsyncClientStream:
        return self

    async def __anext__(self) -> Any:
        await asyncio.sleep(0)
        try:
            return next(self)
        except StopIteration:
            raise StopAsyncIteration from None

    async def close(self) -> None:  # type: ignore[override]
        await asyncio.sleep(0)
        self.closed = True


@pytest.mark.parametrize("on_fail", ["exception", "fix", "filter"])
def test_a_client_s_stream_is_closed_at_the_stop(on_fail: str) -> None:
    stream = ClientStream(as_chunks(LONG))
    guard = Guard().use(SentenceGateValidator(on_fail=on_fail))
    read(guard, sentence_stream(lambda *, messages=None, **kwargs: stream), Provider([]), EN.metadata)
    assert stream.closed
    assert stream.taken < 30


@pytest.mark.parametrize("on_fail", ["exception", "fix", "filter"])
async def test_async_a_client_s_stream_is_closed_at_the_stop(on_fail: str) -> None:
    stream = AsyncClientStream(as_chunks(LONG))

    async def llm(*, messages: Any = None, **kwargs: Any) -> AsyncClientStream:
        return stream

    guard = AsyncGuard().use(SentenceGateValidator(on_fail=on_fail))
    await read_async(guard, async_sentence_stream(llm), Provider([]), EN.metadata)
    assert stream.closed
    assert stream.taken < 30


def test_a_client_s_stream_is_closed_when_the_reader_s_code_breaks() -> None:
    stream = ClientStream(as_chunks(LONG))
    guard = Guard().use(SentenceGateValidator())
    llm = sentence_stream(lambda *, messages=None, **kwargs: stream)

    def consume() -> None:
        for outcome in guard(llm, messages=MESSAGES, metadata=EN.metadata, stream=True):
            if outcome.validated_output:
                raise LookupError("the reader broke")

    with pytest.raises(LookupError):
        consume()
    gc.collect()
    assert stream.closed
    assert stream.taken < 10
    assert guard.history.length == 1


async def test_async_a_client_s_stream_is_closed_when_the_reader_s_code_breaks() -> None:
    stream = AsyncClientStream(as_chunks(LONG))

    async def llm(*, messages: Any = None, **kwargs: Any) -> AsyncClientStream:
        return stream

    guard = AsyncGuard().use(SentenceGateValidator())

    async def consume() -> None:
        async for outcome in await guard(
            async_sentence_stream(llm), messages=MESSAGES, metadata=EN.metadata, stream=True
        ):
            if outcome.validated_output:
                raise LookupError("the reader broke")

    with pytest.raises(LookupError):
        await consume()
    for turn in range(40):
        await asyncio.sleep(0)
        if turn == 20:
            gc.collect()
    assert stream.closed
    assert stream.taken < 10
    assert guard.history.length == 1


def test_a_loop_that_ends_closes_what_its_reader_left() -> None:
    """A reader that breaks out of its loop and lets `asyncio.run` end."""
    provider = Provider(LONG)
    guard = AsyncGuard().use(SentenceGateValidator())

    async def consume() -> None:
        llm = async_sentence_stream(provider.generate)
        async for outcome in await guard(llm, messages=MESSAGES, metadata=EN.metadata, stream=True):
            if outcome.validated_output:
                break

    asyncio.run(consume())
    assert provider.closed
    assert provider.taken < 10
