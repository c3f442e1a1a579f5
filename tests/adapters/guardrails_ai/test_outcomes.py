"""What a reader sees, and when: every on_fail, sync and async, any cutting, strings and SDK chunks, ten languages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from guardrails import AsyncGuard, Guard
from guardrails.errors import ValidationError

from guardrails_plugins.adapters.guardrails_ai import (
    EndStream,
    SentenceGateValidator,
    SentenceWithheldError,
    StreamingKindError,
    async_sentence_stream,
    gate_report,
    sentence_stream,
)
from guardrails_plugins.core.outcome import Code, Violation
from guardrails_plugins.core.policy import GatePolicy
from guardrails_plugins.core.whole import check_text
from tests.adapters.guardrails_ai.support import (
    ANSWERS,
    EN,
    INVENTED,
    Answer,
    Provider,
    Reading,
    as_chunks,
    cut,
    gated,
    read,
    read_async,
    unmarked,
)

pytestmark = pytest.mark.framework
SIZES = (1, 7, 0)


def notice_of(answer: Answer) -> str:
    """The language's own withheld notice, as it follows shown text."""
    notice = check_text(answer.text, [answer.source], language=answer.language).notice
    assert notice
    return "\n\n" + notice


def earlier(answer: Answer, pieces: list[str]) -> list[tuple[str, int]]:
    return [(text, number) for text, number, _ in gated(answer, pieces)]


def with_text(instead: str, *, ends: bool) -> Callable[[Answer, list[str]], list[tuple[str, int]]]:
    def expected(answer: Answer, pieces: list[str]) -> list[tuple[str, int]]:
        shown = []
        for text, number, flagged in gated(answer, pieces, GatePolicy().shadow()):
            if flagged:
                text = text[: len(text) - len(text.lstrip())] + instead
            shown.append((text, number))
            if flagged and ends:
                break
        return shown

    return expected


def everything(answer: Answer, pieces: list[str]) -> list[tuple[str, int]]:
    return [(text, number) for text, number, _ in gated(answer, pieces, GatePolicy().shadow())]


def with_notice(answer: Answer, pieces: list[str]) -> list[tuple[str, int]]:
    stopped_by = everything(answer, pieces)[2][1]
    return [*earlier(answer, pieces), (notice_of(answer), stopped_by)]


@dataclass(frozen=True)
class Row:
    """One kind: how it is asked for, what is seen by which piece, and what is raised."""

    name: str
    on_fail: Any
    shown: Callable[[Answer, list[str]], list[tuple[str, int]]]
    raises: type[BaseException] | None = None


ROWS = [
    Row("exception", "exception", earlier, SentenceWithheldError),
    Row("fix", "fix", with_notice),
    Row("filter", "filter", earlier),
    Row("refrain", "refrain", earlier),
    Row("noop", "noop", everything),
    Row("custom goes on", lambda value, result: "(left out)", with_text("(left out)", ends=False)),
    Row("custom ends", lambda value, result: EndStream("(end)"), with_text("(end)", ends=True)),
    Row("reask", "reask", lambda answer, pieces: [], StreamingKindError),
    Row("fix_reask", "fix_reask", lambda answer, pieces: [], StreamingKindError),
]


def by_hand(row: Row, answer: Answer) -> list[str]:
    """What is to be seen, from the answer's own parts: no code of ours cuts or judges."""
    first, second, bad, last = (unmarked(part) for part in (answer.first, answer.second, answer.bad, answer.last))
    lead = bad[: len(bad) - len(bad.lstrip())]
    at_the_failing_one = {
        "fix": [notice_of(answer)],
        "noop": [bad, last],
        "custom goes on": [lead + "(left out)", last],
        "custom ends": [lead + "(end)"],
    }
    return [] if row.raises is StreamingKindError else [first, second, *at_the_failing_one.get(row.name, [])]


def run(mode: str, on_fail: Any, answer: Answer, items: list[Any]) -> tuple[Reading, Provider, Any]:
    provider = Provider(items)
    validator = SentenceGateValidator(on_fail=on_fail)
    if mode == "sync":
        guard: Any = Guard().use(validator)
        return read(guard, sentence_stream(provider), provider, answer.metadata), provider, guard
    guard = AsyncGuard().use(validator)
    reading = asyncio.run(read_async(guard, async_sentence_stream(provider.generate), provider, answer.metadata))
    return reading, provider, guard


@pytest.mark.parametrize("language", ANSWERS)
@pytest.mark.parametrize("chunks", ["strings", "objects"])
@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_the_reader_sees_and_when(row: Row, mode: str, chunks: str, language: str) -> None:
    answer = ANSWERS[language]
    for size in SIZES:
        pieces = cut(answer.text, size)
        items, before = (pieces, 0) if chunks == "strings" else (as_chunks(pieces), 1)
        reading, provider, guard = run(mode, row.on_fail, answer, items)
        expected = row.shown(answer, pieces)
        assert [text for text, _ in reading.seen] == by_hand(row, answer) == [text for text, _ in expected]
        for (_, taken), (_, number) in zip(reading.seen, expected, strict=True):
            # The last sentence is decided by the end of the stream, which chunk objects spell out.
            assert taken == number + before or (number == len(pieces) and number + before <= taken <= len(items))
        if row.raises is None:
            assert reading.error is None
            assert not gate_report(guard, reading.outcomes[-1]).passed
        else:
            assert type(reading.error) is row.raises
        assert provider.calls == (0 if row.raises is StreamingKindError else 1)
        assert provider.closed or not provider.calls
        if row.name != "noop":
            assert INVENTED not in reading.text


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_no_cutting_changes_what_is_seen(row: Row, mode: str) -> None:
    for size in range(1, 33):
        reading, provider, _ = run(mode, row.on_fail, EN, cut(EN.text, size))
        assert [text for text, _ in reading.seen] == by_hand(row, EN), size
        for number, (_, taken) in enumerate(reading.seen):
            # A sentence is complete, marker included, in what the provider has given by then.
            parts = (EN.first, EN.second, EN.bad, EN.last)[: number + 1]
            assert taken * size >= len("".join(parts).rstrip()), size
        assert type(reading.error) is (row.raises or type(None))
        assert provider.closed or not provider.calls


@pytest.mark.parametrize("run_sync", ["true", "false"])
@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_streams_are_the_same_under_both_services(
    row: Row, mode: str, run_sync: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GUARDRAILS_RUN_SYNC", run_sync)
    reading, _, _ = run(mode, row.on_fail, EN, as_chunks(cut(EN.text, 5)))
    assert [text for text, _ in reading.seen] == by_hand(row, EN)
    assert type(reading.error) is (row.raises or type(None))


@pytest.mark.parametrize("language", ANSWERS)
@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("on_fail", ["exception", "fix", "filter", "noop"])
def test_a_good_answer_passes_exactly_and_whole(on_fail: str, mode: str, language: str) -> None:
    answer = ANSWERS[language]
    expected = check_text(answer.good, [answer.source], language=language)
    assert expected.state == "completed"
    for size in SIZES:
        reading, _, guard = run(mode, on_fail, answer, cut(answer.good, size))
        assert reading.error is None
        assert reading.text == expected.text
        assert all(outcome.validation_passed for outcome in reading.outcomes)
        report = gate_report(guard, reading.outcomes[-1])
        assert report.passed
        assert report.state == "completed"
        assert report.released_chars == len(expected.text)


def test_the_error_is_guardrails_own_and_names_the_rule_only() -> None:
    reading, _, guard = run("sync", "exception", EN, cut(EN.text, 5))
    assert isinstance(reading.error, SentenceWithheldError)
    assert isinstance(reading.error, ValidationError)
    assert reading.error.codes == (Code.VALUE_UNSUPPORTED,)
    assert reading.error.state == "withheld"
    assert reading.error.notice
    assert INVENTED not in str(reading.error)
    assert reading.error.__cause__ is None
    assert reading.error.__context__ is None
    assert not gate_report(guard).passed


def test_validation_passed_is_false_from_the_failing_sentence_on() -> None:
    for on_fail in ("fix", "filter", "refrain", "noop"):
        reading, _, _ = run("sync", on_fail, EN, cut(EN.text, 5))
        failing = next(i for i, o in enumerate(reading.outcomes) if not o.validation_passed)
        assert not any(o.validation_passed for o in reading.outcomes[failing:])
        assert all(o.validation_passed for o in reading.outcomes[:failing])


def test_a_refusal_shows_the_fixed_text_and_is_no_failure() -> None:
    for mode in ("sync", "async"):
        reading, _, guard = run(mode, "exception", EN, ["NO_AN", "SWER"])
        assert reading.error is None
        assert reading.text == check_text("NO_ANSWER", [EN.source]).notice
        assert gate_report(guard).state == "refused"
        assert gate_report(guard).passed


def test_a_truncated_answer_drops_its_fragment_and_says_so() -> None:
    items = as_chunks([EN.first, " Members pay 1"])
    items[-2].choices[0].finish_reason = "length"
    for mode in ("sync", "async"):
        reading, _, guard = run(mode, "exception", EN, items)
        assert reading.error is None
        report = gate_report(guard)
        assert report.state == "truncated"
        assert report.notice
        assert reading.text == "The hall has 40 seats." + "\n\n" + report.notice


def test_a_callable_sees_no_text_and_is_asked_once() -> None:
    asked: list[tuple[Any, str]] = []

    def on_fail(value: Any, result: Any) -> str:
        asked.append((value, result.error_message))
        return "(left out)"

    for mode in ("sync", "async"):
        asked.clear()
        run(mode, on_fail, EN, cut(EN.text, 4))
        assert len(asked) == 1
        assert asked[0][0] == ""
        assert Code.VALUE_UNSUPPORTED in asked[0][1]


def test_noop_shows_everything_when_a_check_of_the_user_fails() -> None:
    def no_halls(sentence: Any, context: Any) -> list[Violation]:
        return [Violation("no_halls", sentence.span)] if "hall" in sentence.text else []

    policy = GatePolicy(checks=(no_halls,))
    for on_fail, shown in (("noop", "The hall has 40 seats."), ("filter", "")):
        guard = Guard().use(SentenceGateValidator(policy=policy, on_fail=on_fail))
        provider = Provider(cut(EN.first, 6))
        reading = read(guard, sentence_stream(provider), provider, EN.metadata)
        assert reading.error is None
        assert reading.text == shown
        assert gate_report(guard).codes == ("no_halls",)


def test_a_check_that_breaks_stops_under_every_kind() -> None:
    def broken(sentence: Any, context: Any) -> list[Violation]:
        raise RuntimeError(sentence.text)

    for on_fail in ("noop", "filter", "fix", lambda value, result: ""):
        guard = Guard().use(SentenceGateValidator(policy=GatePolicy(checks=(broken,)), on_fail=on_fail))
        provider = Provider(cut(EN.good, 6))
        reading = read(guard, sentence_stream(provider), provider, EN.metadata)
        assert reading.error is None
        assert "hall" not in reading.text
        assert gate_report(guard).state == "failed"
        assert gate_report(guard).codes == (Code.CHECK_FAILED,)


def test_the_report_has_spans_in_the_raw_stream() -> None:
    for mode in ("sync", "async"):
        for on_fail in ("exception", "filter", "noop"):
            _, _, guard = run(mode, on_fail, EN, cut(EN.text, 6))
            (violation,) = gate_report(guard).violations
            assert EN.text[violation.span.start : violation.span.end] == INVENTED
            assert violation.kind == "number"
