"""What Guardrails keeps of a stopped stream holds no text of the blocked sentence."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import traceback
from typing import Any

import pytest
from guardrails import AsyncGuard, Guard
from guardrails.settings import settings

from guardrails_plugins.adapters.guardrails_ai import SentenceGateValidator, async_sentence_stream, sentence_stream
from tests.adapters.guardrails_ai.support import (
    ANSWERS,
    EN,
    INVENTED,
    MESSAGES,
    Answer,
    Provider,
    Reading,
    as_chunks,
    cut,
    read,
    read_async,
    unmarked,
)

pytestmark = pytest.mark.framework
BLOCKED = re.compile(rf"(?<!\d){INVENTED}(?!\d)|Late fees|ended in")
"""The year by itself: times and identities in what is kept have digits too."""


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Every span that Guardrails makes, in memory."""
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    monkeypatch.setenv("OTEL_SDK_DISABLED", "false")
    monkeypatch.setattr(settings, "disable_tracing", False)
    exporter = memory.InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))

    def get_tracer(name: str, version: str | None = None, **kwargs: Any) -> Any:
        return provider.get_tracer(name, version)

    monkeypatch.setattr("opentelemetry.trace.get_tracer", get_tracer)
    monkeypatch.setattr("guardrails.telemetry.guard_tracing.get_tracer", get_tracer)
    return exporter


def run(mode: str, on_fail: Any, provider: Provider, answer: Answer, *, leave: bool = False) -> tuple[Any, Reading]:
    validator = SentenceGateValidator(on_fail=on_fail)
    if mode == "sync":
        guard: Any = Guard().use(validator)
        llm = sentence_stream(provider)
        if not leave:
            return guard, read(guard, llm, provider, answer.metadata)
        reading = Reading()
        for outcome in guard(llm, messages=MESSAGES, metadata=answer.metadata, stream=True):
            reading.add(outcome, provider.taken)
            if reading.text:
                break
        return guard, reading
    guard = AsyncGuard().use(validator)

    async def consume() -> Reading:
        llm = async_sentence_stream(provider.generate)
        if not leave:
            return await read_async(guard, llm, provider, answer.metadata)
        reading = Reading()
        async for outcome in await guard(llm, messages=MESSAGES, metadata=answer.metadata, stream=True):
            reading.add(outcome, provider.taken)
            if reading.text:
                break
        return reading

    return guard, asyncio.run(consume())


def stopped(mode: str, on_fail: Any, answer: Answer = EN) -> tuple[Any, Reading]:
    return run(mode, on_fail, Provider(cut(answer.text, 6)), answer)


def everything_kept(guard: Any, reading: Reading) -> str:
    """All that can be read out of a guard, its outcomes and an error."""
    kept = [repr(outcome) + str(outcome) + outcome.model_dump_json() for outcome in reading.outcomes]
    for call in guard.history:
        kept += [repr(call), str(call.model_dump()), str(call.raw_outputs), str(call.logs), repr(call.tree)]
        for iteration in call.iterations:
            kept += [str(iteration.raw_output), repr(iteration.outputs), str(iteration)]
            kept += [repr(log) + repr(vars(log)) for log in iteration.outputs.validator_logs]
    if reading.error is not None:
        kept += traceback.format_exception(reading.error)
    return "\n".join(kept)


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("on_fail", ["exception", "fix", "filter", "refrain", lambda value, result: "(left out)"])
def test_nothing_kept_holds_blocked_text(mode: str, on_fail: Any, spans: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    guard, reading = stopped(mode, on_fail)
    kept = everything_kept(guard, reading)
    finished = spans.get_finished_spans()
    assert finished
    kept += json.dumps([json.loads(span.to_json()) for span in finished])
    kept += caplog.text
    assert "40 seats" in kept
    assert not BLOCKED.search(kept)


@pytest.mark.parametrize("language", ANSWERS)
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_the_raw_output_is_what_was_shown(mode: str, language: str) -> None:
    answer = ANSWERS[language]
    for on_fail in ("exception", "filter"):
        guard, reading = stopped(mode, on_fail, answer)
        assert [str(o.raw_llm_output) for o in reading.outcomes] == [o.validated_output for o in reading.outcomes]
        (call,) = guard.history
        kept = everything_kept(guard, reading)
        assert unmarked(answer.first) in kept
        assert answer.bad.strip() not in kept
        assert not BLOCKED.search(kept)
        if on_fail == "filter":
            # An AsyncGuard records no raw output of a stream.
            assert call.iterations.last.outputs.raw_output == (reading.text if mode == "sync" else "")


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("end", ["the provider breaks", "the answer is cut off", "the reader leaves"])
def test_text_that_was_never_judged_is_kept_nowhere(end: str, mode: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    pieces = cut(EN.first + " Late fees ended in 2019", 6)
    items = as_chunks(pieces)
    items[-2].choices[0].finish_reason = "length"
    provider = Provider(items, fail_at=len(pieces) - 1 if end == "the provider breaks" else None)
    guard, reading = run(mode, "exception", provider, EN, leave=end == "the reader leaves")
    assert reading.text.startswith("The hall has 40 seats.")
    kept = everything_kept(guard, reading) + caplog.text
    assert not BLOCKED.search(kept)


def test_a_stop_is_logged_once_with_its_code(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="guardrails_plugins")
    stopped("sync", "fix")
    records = [r for r in caplog.records if r.name.startswith("guardrails_plugins")]
    assert len(records) == 1
    assert "value_unsupported" in records[0].getMessage()


def test_a_flagged_sentence_is_logged_under_noop(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="guardrails_plugins")
    stopped("sync", "noop")
    assert any("value_unsupported" in r.getMessage() for r in caplog.records)
    assert INVENTED not in caplog.text
