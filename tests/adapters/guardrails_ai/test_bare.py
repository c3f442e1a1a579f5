"""Bare callables and model names: nothing unjudged is shown, nothing is lost in silence."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from typing import Any

import pytest
from guardrails import AsyncGuard, Guard

from guardrails_plugins.adapters.guardrails_ai import (
    EndStream,
    SentenceGateValidator,
    SentenceWithheldError,
    StreamingKindError,
    UnboundStreamError,
    async_sentence_stream,
    gate_report,
    sentence_stream,
)
from guardrails_plugins.core.whole import check_text
from tests.adapters.guardrails_ai.support import (
    ANSWERS,
    EN,
    INVENTED,
    MESSAGES,
    Provider,
    Reading,
    as_chunks,
    cut,
    read,
    read_async,
)

pytestmark = pytest.mark.framework
GOOD = "The hall has 40 seats.\n\nMembers pay 12 euros. The hall stays open to all.\n"
EARLIER = "The hall has 40 seats.\n\nMembers pay 12 euros."


@pytest.mark.parametrize("size", [1, 7, 30])
@pytest.mark.parametrize("chunks", ["strings", "objects"])
@pytest.mark.parametrize("on_fail", ["exception", "fix", "filter", "refrain", "noop"])
def test_a_good_answer_is_held_and_whole(on_fail: str, chunks: str, size: int) -> None:
    pieces = cut(EN.good, size)
    provider = Provider(pieces if chunks == "strings" else as_chunks(pieces))
    reading = read(Guard().use(SentenceGateValidator(on_fail=on_fail)), provider, provider, EN.metadata)
    assert reading.error is None
    assert reading.text == GOOD


@pytest.mark.parametrize("size", [1, 7, 30])
@pytest.mark.parametrize("chunks", ["strings", "objects"])
@pytest.mark.parametrize("on_fail", ["exception", "fix", "filter", "refrain"])
def test_a_failing_sentence_is_never_shown(on_fail: str, chunks: str, size: int) -> None:
    pieces = cut(EN.text, size)
    provider = Provider(pieces if chunks == "strings" else as_chunks(pieces))
    guard = Guard().use(SentenceGateValidator(on_fail=on_fail))
    reading = read(guard, provider, provider, EN.metadata)
    assert INVENTED not in reading.text
    assert "Late" not in reading.text
    assert "stays" not in reading.text
    if on_fail == "exception":
        assert isinstance(reading.error, SentenceWithheldError)
    else:
        assert reading.error is None
        assert reading.text.startswith(EARLIER)
        assert not gate_report(guard).passed


def test_a_last_sentence_that_fails_still_raises() -> None:
    provider = Provider(cut(EN.first + EN.bad, 7))
    reading = read(Guard().use(SentenceGateValidator()), provider, provider, EN.metadata)
    assert isinstance(reading.error, SentenceWithheldError)


@pytest.mark.parametrize("on_fail", ["exception", "fix", "filter", "refrain", "noop"])
@pytest.mark.parametrize("chunks", ["strings", "objects"])
def test_an_answer_in_one_piece_is_judged_and_whole(chunks: str, on_fail: str) -> None:
    """Guardrails asks a validator that has answered once, and then no more: the piece must wait for the end."""
    guard = Guard().use(SentenceGateValidator(on_fail=on_fail))
    provider = Provider([EN.good] if chunks == "strings" else as_chunks([EN.good]))
    assert read(guard, provider, provider, EN.metadata).text == GOOD
    provider = Provider([EN.text] if chunks == "strings" else as_chunks([EN.text]))
    reading = read(guard, provider, provider, EN.metadata)
    assert (INVENTED in reading.text) == (on_fail == "noop")
    assert isinstance(reading.error, SentenceWithheldError if on_fail == "exception" else type(None))
    refused = Provider(["NO_ANSWER"] if chunks == "strings" else as_chunks(["NO_ANSWER"]))
    notice = check_text("NO_ANSWER", [EN.source]).notice
    assert read(guard, refused, refused, EN.metadata).text == notice


def test_an_empty_answer_shows_nothing() -> None:
    for items in ([], [""], as_chunks([])):
        provider = Provider(items)
        reading = read(Guard().use(SentenceGateValidator()), provider, provider, EN.metadata)
        assert reading.text == ""


def test_the_state_of_a_stream_goes_with_guardrails_record_of_it() -> None:
    validator = SentenceGateValidator()
    guard = Guard(history_max_length=2).use(validator)
    for _ in range(6):
        provider = Provider(cut(EN.good, 7))
        read(guard, provider, provider, EN.metadata)
    gc.collect()
    assert len(validator._streams) <= 2


def test_raw_text_is_judged_for_a_guard_only() -> None:
    with pytest.raises(UnboundStreamError, match="sentence_stream"):
        SentenceGateValidator().validate_stream("The hall", EN.metadata)


def test_the_failing_characters_are_marked_in_the_chunk_under_noop() -> None:
    for language, answer in ANSWERS.items():
        provider = Provider(cut(answer.text, 3))
        guard = Guard().use(SentenceGateValidator(on_fail="noop"))
        reading = read(guard, provider, provider, answer.metadata)
        logs = list(guard.history.last.failed_validations)
        assert len(logs) == 1, language
        (span,) = logs[0].validation_result.error_spans
        assert reading.text[span.start : span.end] == INVENTED, language


@pytest.mark.parametrize("size", [1, 7, 30])
@pytest.mark.parametrize("chunks", ["strings", "objects"])
@pytest.mark.parametrize("ends", [True, False])
def test_a_callable_s_text_stands_in_for_the_failing_sentence(ends: bool, chunks: str, size: int) -> None:
    pieces = cut(EN.text, size)
    provider = Provider(pieces if chunks == "strings" else as_chunks(pieces))
    word = EndStream("(out)") if ends else "(out)"
    guard = Guard().use(SentenceGateValidator(on_fail=lambda value, result: word))
    reading = read(guard, provider, provider, EN.metadata)
    assert reading.error is None
    assert reading.text == EARLIER + (" (out)" if ends else " (out) The hall stays open to all.\n")


def test_reask_is_refused_before_any_text() -> None:
    provider = Provider(cut(EN.text, 7))
    reading = read(Guard().use(SentenceGateValidator(on_fail="reask")), provider, provider, EN.metadata)
    assert isinstance(reading.error, StreamingKindError)
    assert reading.text == ""


class Envelope:
    """What an AsyncGuard wants of a bare callable."""

    def __init__(self, stream: AsyncIterator[Any]) -> None:
        self.completion_stream = stream


async def test_a_bare_async_callable_is_refused_with_advice() -> None:
    provider = Provider(cut(EN.good, 7))

    async def bare(*, messages: Any = None, **kwargs: Any) -> Envelope:
        return Envelope(await provider.generate(messages=messages, **kwargs))

    guard = AsyncGuard().use(SentenceGateValidator())
    reading = await read_async(guard, bare, provider, EN.metadata)
    assert isinstance(reading.error, UnboundStreamError)
    assert "async_sentence_stream" in str(reading.error)
    assert reading.text == ""
    reading = await read_async(guard, async_sentence_stream(bare), provider, EN.metadata)
    assert reading.text == GOOD


def read_model(guard: Any, *args: Any, text: str, **kwargs: Any) -> Reading:
    reading = Reading()
    for outcome in guard(*args, messages=MESSAGES, metadata=EN.metadata, stream=True, mock_response=text, **kwargs):
        reading.add(outcome, 0)
    return reading


def test_a_model_name_through_litellm() -> None:
    pytest.importorskip("litellm")
    guard = Guard().use(SentenceGateValidator(on_fail="fix"))
    reading = read_model(guard, model="gpt-4o-mini", text=EN.good)
    assert reading.text.rstrip() == GOOD.rstrip()
    reading = read_model(guard, model="gpt-4o-mini", text=EN.text)
    assert reading.text.startswith(EARLIER)
    assert INVENTED not in reading.text


async def test_a_bare_model_name_is_refused_by_an_async_guard() -> None:
    pytest.importorskip("litellm")
    guard = AsyncGuard().use(SentenceGateValidator())
    outcomes = await guard(
        model="gpt-4o-mini", messages=MESSAGES, metadata=EN.metadata, stream=True, mock_response=EN.good
    )
    with pytest.raises(UnboundStreamError, match="async_sentence_stream"):
        await anext(outcomes)


def test_sentence_stream_takes_a_model_name() -> None:
    pytest.importorskip("litellm")
    guard = Guard().use(SentenceGateValidator(on_fail="filter"))
    reading = read_model(guard, sentence_stream("gpt-4o-mini"), text=EN.text)
    assert [text for text, _ in reading.seen] == ["The hall has 40 seats.", "\n\nMembers pay 12 euros."]
    outcome = guard(sentence_stream("gpt-4o-mini"), messages=MESSAGES, metadata=EN.metadata, mock_response=EN.text)
    assert outcome.validated_output == EARLIER


async def test_async_sentence_stream_takes_a_model_name() -> None:
    pytest.importorskip("litellm")
    guard = AsyncGuard().use(SentenceGateValidator(on_fail="filter"))
    seen = ""
    async for outcome in await guard(
        async_sentence_stream("gpt-4o-mini"),
        messages=MESSAGES,
        metadata=EN.metadata,
        stream=True,
        mock_response=EN.text,
    ):
        seen += outcome.validated_output
    assert seen == EARLIER


async def test_sentence_stream_of_an_async_callable_is_async() -> None:
    provider = Provider(cut(EN.good, 7))
    guard = AsyncGuard().use(SentenceGateValidator())
    reading = await read_async(guard, sentence_stream(provider.generate), provider, EN.metadata)
    assert reading.text == GOOD
