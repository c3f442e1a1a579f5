"""What Guardrails keeps of a stopped stream holds no text of the blocked sentence."""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from typing import Any

import pytest
from guardrails import AsyncGuard, Guard
from guardrails.settings import settings

from guardrails_plugins.adapters.guardrails_ai import SentenceGateValidator, async_sentence_stream, sentence_stream
from tests.adapters.guardrails_ai.support import EN, INVENTED, Provider, Reading, cut, read, read_async

pytestmark = pytest.mark.framework
BLOCKED = (INVENTED, "Late fees", "ended in")


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


def stopped(mode: str, on_fail: Any) -> tuple[Any, Reading]:
    provider = Provider(cut(EN.text, 6))
    validator = SentenceGateValidator(on_fail=on_fail)
    if mode == "sync":
        guard: Any = Guard().use(validator)
        return guard, read(guard, sentence_stream(provider), provider, EN.metadata)
    guard = AsyncGuard().use(validator)
    return guard, asyncio.run(read_async(guard, async_sentence_stream(provider.generate), provider, EN.metadata))


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
    for text in BLOCKED:
        assert text not in kept


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
