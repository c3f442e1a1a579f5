"""`error_spans` point at the failing characters in what Guardrails calls the chunk, and in its sums of chunks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from guardrails import AsyncGuard, Guard

from guardrails_plugins.adapters.guardrails_ai import SentenceGateValidator, async_sentence_stream, sentence_stream
from guardrails_plugins.core.outcome import Code
from tests.adapters.guardrails_ai.support import (
    ANSWERS,
    EN,
    INVENTED,
    Provider,
    Reading,
    as_chunks,
    cut,
    read,
    read_async,
)

pytestmark = pytest.mark.framework


def run(mode: str, on_fail: str, items: list[Any], metadata: dict[str, Any]) -> tuple[Reading, Any]:
    provider = Provider(items)
    validator = SentenceGateValidator(on_fail=on_fail)
    if mode == "sync":
        guard: Any = Guard().use(validator)
        return read(guard, sentence_stream(provider), provider, metadata), guard
    guard = AsyncGuard().use(validator)
    return asyncio.run(read_async(guard, async_sentence_stream(provider.generate), provider, metadata)), guard


@pytest.mark.parametrize("language", ANSWERS)
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_in_the_sentence_that_is_shown(mode: str, language: str) -> None:
    answer = ANSWERS[language]
    for size in (1, 6, 0):
        pieces = cut(answer.text, size)
        for items in (pieces, as_chunks(pieces)):
            reading, guard = run(mode, "noop", items, answer.metadata)
            (log,) = guard.history.last.failed_validations
            (span,) = log.validation_result.error_spans
            assert log.validation_result.validated_chunk[span.start : span.end] == INVENTED
            assert span.reason == Code.VALUE_UNSUPPORTED
            # Guardrails' own sum over the chunks: positions in everything shown.
            (whole,) = guard.error_spans_in_output()
            assert reading.text[whole.start : whole.end] == INVENTED


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_several_failing_sentences_and_markers(mode: str) -> None:
    text = "The hall has 41 seats [S1]. Members pay 13 euros [S9]. Members pay 12 euros [S1]. It costs 14 or 15 [S1].\n"
    reading, guard = run(mode, "noop", cut(text, 4), EN.metadata)
    shown = [reading.text[span.start : span.end] for span in guard.error_spans_in_output()]
    # The marker that points nowhere is cut out: its span is empty, at the place it was.
    assert sorted(shown) == ["", "13 euros", "14", "15", "41"]


@pytest.mark.parametrize("on_fail", ["fix", "filter", "refrain"])
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_withheld_sentence_leaves_no_chunk_and_no_span(mode: str, on_fail: str) -> None:
    _, guard = run(mode, on_fail, cut(EN.text, 6), EN.metadata)
    (log,) = guard.history.last.failed_validations
    assert not log.validation_result.error_spans
    assert str(log.validation_result.validated_chunk) == ""
    assert not guard.error_spans_in_output()


@pytest.mark.parametrize("run_sync", ["true", "false"])
@pytest.mark.parametrize("language", ANSWERS)
def test_in_a_whole_text(language: str, run_sync: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUARDRAILS_RUN_SYNC", run_sync)
    answer = ANSWERS[language]
    guard = Guard().use(SentenceGateValidator(on_fail="fix"))
    guard.validate(answer.text, metadata=answer.metadata)
    (span,) = guard.error_spans_in_output()
    assert answer.text[span.start : span.end] == INVENTED
