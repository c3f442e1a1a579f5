"""`validate`, `parse` and calls without streaming, under both settings of GUARDRAILS_RUN_SYNC."""

from __future__ import annotations

from typing import Any

import pytest
from guardrails import AsyncGuard, Guard

from guardrails_plugins import strip_markers
from guardrails_plugins.adapters.guardrails_ai import (
    EndStream,
    SentenceGateValidator,
    SentenceWithheldError,
    async_sentence_stream,
    gate_report,
    sentence_stream,
)
from guardrails_plugins.adapters.guardrails_ai.kinds import RULES
from guardrails_plugins.core.outcome import Code
from guardrails_plugins.core.whole import check_text
from tests.adapters.guardrails_ai.support import EN, INVENTED, MESSAGES, Provider

pytestmark = pytest.mark.framework
EARLIER = "The hall has 40 seats.\n\nMembers pay 12 euros."
NOTICE = check_text(EN.text, [EN.source]).notice
RULE = Code.VALUE_UNSUPPORTED
FIXES = [
    ("fix", f"{EARLIER}\n\n{NOTICE}"),
    ("filter", EARLIER),
    ("refrain", EARLIER),
    ("noop", EN.text),
    (lambda value, result: "(left out)", f"{EARLIER} (left out) The hall stays open to all.\n"),
    (lambda value, result: EndStream("(end)"), f"{EARLIER} (end)"),
]


@pytest.fixture(params=["true", "false"], autouse=True)
def run_sync(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which of Guardrails' services validates."""
    monkeypatch.setenv("GUARDRAILS_RUN_SYNC", request.param)
    return str(request.param)


@pytest.mark.parametrize(("on_fail", "expected"), FIXES)
@pytest.mark.parametrize("method", ["validate", "parse"])
def test_a_failing_text(method: str, on_fail: Any, expected: str) -> None:
    guard = Guard().use(SentenceGateValidator(on_fail=on_fail))
    outcome = getattr(guard, method)(EN.text, metadata=EN.metadata)
    assert outcome.validated_output == expected
    report = gate_report(guard, outcome)
    assert not report.passed
    assert report.codes == (RULE,)


@pytest.mark.parametrize(("on_fail", "expected"), FIXES)
async def test_a_failing_text_in_an_async_guard(on_fail: Any, expected: str) -> None:
    guard = AsyncGuard().use(SentenceGateValidator(on_fail=on_fail))
    outcome = await guard.validate(EN.text, metadata=EN.metadata)
    assert outcome.validated_output == expected
    assert not gate_report(guard, outcome).passed


def test_an_exception_names_the_rule() -> None:
    guard = Guard().use(SentenceGateValidator())
    with pytest.raises(SentenceWithheldError, match=RULE) as caught:
        guard.validate(EN.text, metadata=EN.metadata)
    assert INVENTED not in str(caught.value)


def test_a_text_of_which_nothing_passes_is_filtered_as_guardrails_does() -> None:
    for on_fail in ("filter", "refrain"):
        outcome = Guard().use(SentenceGateValidator(on_fail=on_fail)).validate(EN.bad, metadata=EN.metadata)
        assert not outcome.validated_output
        assert not outcome.validation_passed


@pytest.mark.parametrize("on_fail", ["exception", "fix", "filter", "noop", "reask"])
def test_a_good_text_passes(on_fail: str, run_sync: str) -> None:
    guard = Guard().use(SentenceGateValidator(on_fail=on_fail))
    outcome = guard.validate(EN.good, metadata=EN.metadata)
    assert outcome.validation_passed
    assert strip_markers(outcome.validated_output) == strip_markers(EN.good)
    # The asynchronous service has no way for a pass to change a text: its markers stay.
    assert ("[S1]" in outcome.validated_output) == (run_sync == "false")
    assert gate_report(guard, outcome).passed


@pytest.mark.parametrize("on_fail", ["exception", "fix"])
def test_the_refusal_token_is_never_shown(on_fail: str) -> None:
    outcome = Guard().use(SentenceGateValidator(on_fail=on_fail)).validate("NO_ANSWER", metadata=EN.metadata)
    assert outcome.validated_output == check_text("NO_ANSWER", [EN.source]).notice


def test_error_spans_point_into_the_text() -> None:
    guard = Guard().use(SentenceGateValidator(on_fail="fix"))
    guard.validate(EN.text, metadata=EN.metadata)
    (span,) = guard.history.last.failed_validations.first.validation_result.error_spans
    assert EN.text[span.start : span.end] == INVENTED


class Twice:
    """A model that fails first and answers well when asked again."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def __call__(self, *, messages: Any = None, **kwargs: Any) -> str:
        self.prompts.append(str(messages))
        return EN.text if len(self.prompts) == 1 else EN.good

    async def generate(self, *, messages: Any = None, **kwargs: Any) -> str:
        return self(messages=messages, **kwargs)


def assert_quotes_nothing(prompt: str) -> None:
    """What the second call is told: the rule, and what passed; not the sources, the blocked text or what followed."""
    assert RULE in prompt
    assert RULES[RULE] in prompt
    for text in (INVENTED, "Late fees", "ended in", "stays open", EN.source):
        assert text not in prompt


@pytest.mark.parametrize("on_fail", ["reask", "fix_reask"])
def test_reask_names_the_rule_and_quotes_nothing(on_fail: str) -> None:
    model = Twice()
    guard = Guard().use(SentenceGateValidator(on_fail=on_fail))
    outcome = guard(sentence_stream(model), messages=MESSAGES, metadata=EN.metadata, num_reasks=1)
    assert strip_markers(outcome.validated_output) == strip_markers(EN.good)
    assert outcome.validation_passed
    assert len(model.prompts) == 2
    assert_quotes_nothing(model.prompts[1])


@pytest.mark.parametrize("on_fail", ["reask", "fix_reask"])
async def test_async_reask(on_fail: str) -> None:
    model = Twice()
    guard = AsyncGuard().use(SentenceGateValidator(on_fail=on_fail))
    llm = async_sentence_stream(model.generate)
    outcome = await guard(llm, messages=MESSAGES, metadata=EN.metadata, num_reasks=1)
    assert strip_markers(outcome.validated_output) == strip_markers(EN.good)
    assert_quotes_nothing(model.prompts[1])


def test_a_reask_that_may_not_ask_is_no_pass() -> None:
    guard = Guard().use(SentenceGateValidator(on_fail="reask"))
    outcome = guard.validate(EN.text, metadata=EN.metadata)
    assert not outcome.validation_passed
    assert outcome.validated_output is None
    assert RULE in outcome.reask.fail_results[0].error_message
    assert INVENTED not in outcome.reask.model_dump_json()
    guard.history.last.model_dump_json(exclude={"inputs"})


def test_a_call_without_streaming() -> None:
    provider = Provider([EN.text])
    guard = Guard().use(SentenceGateValidator(on_fail="fix"))
    outcome = guard(sentence_stream(provider), messages=MESSAGES, metadata=EN.metadata)
    assert outcome.validated_output == f"{EARLIER}\n\n{NOTICE}"
