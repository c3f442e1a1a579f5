"""The provider's stream is closed when the gate stops, the reader leaves or anything breaks, whatever history keeps."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from typing import Any

import pytest
from guardrails import AsyncGuard, Guard
from guardrails.errors import ValidationError
from guardrails.settings import settings
from guardrails.validator_base import FailResult, PassResult, Validator, register_validator

from guardrails_plugins.adapters.guardrails_ai import (
    SentenceGateValidator,
    UnboundStreamError,
    async_sentence_stream,
    sentence_stream,
)
from guardrails_plugins.core.errors import GateError
from tests.adapters.guardrails_ai.support import EN, MESSAGES, Provider, cut, read, read_async

pytestmark = pytest.mark.framework
LONG = cut(EN.first + EN.second * 50, 6)


@pytest.fixture(params=["tracing", "no tracing"], autouse=True)
def tracing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guardrails' tracing reads streams of its own accord: both with and without it."""
    monkeypatch.setattr(settings, "disable_tracing", request.param == "no tracing")
    # Guardrails' span wrapper logs a traceback when its generator is closed; pytest keeps such records,
    # and with them the frames that the stream's end hangs on.
    monkeypatch.setattr(logging.getLogger("opentelemetry.context"), "disabled", True)


def stream(guard: Any, provider: Provider) -> Any:
    return guard(sentence_stream(provider), messages=MESSAGES, metadata=EN.metadata, stream=True)


def test_it_is_closed_before_the_stop_is_seen() -> None:
    provider = Provider(cut(EN.text, 6) + LONG)
    guard = Guard().use(SentenceGateValidator(on_fail="fix"))
    for outcome in stream(guard, provider):
        if not outcome.validation_passed:
            assert provider.closed
    assert provider.taken < 30


@pytest.mark.parametrize("leave", ["close", "drop"])
def test_it_is_closed_when_the_reader_leaves(leave: str) -> None:
    provider = Provider(LONG)
    guard = Guard().use(SentenceGateValidator())
    outcomes = stream(guard, provider)
    while not next(outcomes).validated_output:
        pass
    taken = provider.taken
    if leave == "close":
        outcomes.close()
    del outcomes
    gc.collect()
    assert provider.closed
    assert provider.taken == taken
    assert guard.history.length == 1
    guard.history.last.model_dump()
    assert provider.taken == taken


def test_it_is_closed_when_the_provider_breaks() -> None:
    provider = Provider(LONG, fail_at=9)
    reading = read(Guard().use(SentenceGateValidator()), sentence_stream(provider), provider, EN.metadata)
    assert isinstance(reading.error, GateError)
    assert reading.text.startswith("The hall has 40 seats.")
    assert provider.closed


def test_a_guard_without_the_validator_gets_nothing_and_calls_nothing() -> None:
    provider = Provider(LONG)
    reading = read(Guard(), sentence_stream(provider), provider, EN.metadata)
    assert isinstance(reading.error, UnboundStreamError)
    assert reading.text == ""
    assert provider.calls == 0


async def test_async_it_is_closed_before_the_stop_is_seen() -> None:
    provider = Provider(cut(EN.text, 6) + LONG)
    guard = AsyncGuard().use(SentenceGateValidator(on_fail="fix"))
    reading = await read_async(guard, async_sentence_stream(provider.generate), provider, EN.metadata)
    assert reading.error is None
    assert provider.closed
    assert provider.taken < 30


@pytest.mark.parametrize("leave", ["aclose", "break"])
async def test_async_it_is_closed_when_the_reader_leaves(leave: str) -> None:
    provider = Provider(LONG)
    guard = AsyncGuard().use(SentenceGateValidator())
    call = async_sentence_stream(provider.generate)
    outcomes = await guard(call, messages=MESSAGES, metadata=EN.metadata, stream=True)
    async for outcome in outcomes:
        if outcome.validated_output:
            break
    if leave == "aclose":
        await outcomes.aclose()
    del outcomes, outcome
    for _ in range(20):
        await asyncio.sleep(0)
    assert provider.closed
    assert provider.taken < len(LONG)
    assert guard.history.length == 1


async def test_async_it_is_closed_when_the_reader_is_cancelled_in_a_stall() -> None:
    provider = Provider(LONG, stall_at=8)
    guard = AsyncGuard().use(SentenceGateValidator())
    reader = asyncio.create_task(read_async(guard, async_sentence_stream(provider.generate), provider, EN.metadata))
    while provider.taken < 8:
        await asyncio.sleep(0)
    await asyncio.sleep(0.01)
    begun = time.monotonic()
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    for _ in range(20):
        await asyncio.sleep(0)
    assert provider.closed
    assert time.monotonic() - begun < 1


async def test_async_it_is_closed_when_the_provider_breaks() -> None:
    provider = Provider(LONG, fail_at=9)
    guard = AsyncGuard().use(SentenceGateValidator())
    reading = await read_async(guard, async_sentence_stream(provider.generate), provider, EN.metadata)
    assert isinstance(reading.error, GateError)
    assert provider.closed


async def test_a_synchronous_callable_serves_an_async_guard() -> None:
    provider = Provider(cut(EN.good, 6))
    guard = AsyncGuard().use(SentenceGateValidator())
    reading = await read_async(guard, async_sentence_stream(provider), provider, EN.metadata)
    assert reading.error is None
    assert reading.text.endswith("open to all.\n")
    assert provider.closed


def breaks(value: Any, result: Any) -> str:
    raise LookupError("the callable broke")


def test_it_is_closed_when_a_callable_raises() -> None:
    provider = Provider(cut(EN.text, 6) + LONG)
    reading = read(Guard().use(SentenceGateValidator(on_fail=breaks)), sentence_stream(provider), provider, EN.metadata)
    assert isinstance(reading.error, LookupError)
    assert provider.closed


async def test_async_it_is_closed_when_a_callable_raises() -> None:
    provider = Provider(cut(EN.text, 6) + LONG)
    guard = AsyncGuard().use(SentenceGateValidator(on_fail=breaks))
    reading = await read_async(guard, async_sentence_stream(provider.generate), provider, EN.metadata)
    assert isinstance(reading.error, LookupError)
    assert provider.closed


@register_validator(name="test/raises", data_type="string")
class Raises(Validator):  # type: ignore[misc]
    """Objects to the second sentence."""

    def _validate(self, value: Any, metadata: dict[str, Any]) -> Any:
        return FailResult(error_message="no") if "Members" in value else PassResult()


def test_it_is_closed_when_another_validator_raises() -> None:
    provider = Provider(LONG)
    guard = Guard().use(SentenceGateValidator(), Raises(on_fail="exception"))
    reading = read(guard, sentence_stream(provider), provider, EN.metadata)
    assert isinstance(reading.error, ValidationError)
    reading.error = None  # its traceback holds the reader's frames, as any generator's does
    gc.collect()
    assert provider.closed
    assert provider.taken < len(LONG)


async def test_async_it_is_closed_when_another_validator_raises() -> None:
    provider = Provider(LONG)
    guard = AsyncGuard().use(SentenceGateValidator(), Raises(on_fail="exception"))
    reading = await read_async(guard, async_sentence_stream(provider.generate), provider, EN.metadata)
    assert isinstance(reading.error, ValidationError)
    reading.error = None
    for turn in range(40):
        await asyncio.sleep(0)
        if turn == 20:
            gc.collect()  # Guardrails' span wrapper keeps the error in a cycle of its own
    assert provider.closed
