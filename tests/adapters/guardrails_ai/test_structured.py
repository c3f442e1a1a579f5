"""A structured output with the validator on one text field."""

from __future__ import annotations

import json
from typing import Any

import pytest
from guardrails import AsyncGuard, Guard
from guardrails.errors import ValidationError
from pydantic import BaseModel, Field

from guardrails_plugins import strip_markers
from guardrails_plugins.adapters.guardrails_ai import (
    EndStream,
    SentenceGateValidator,
    SentenceWithheldError,
    UnboundStreamError,
    async_sentence_stream,
    gate_report,
    sentence_stream,
)
from guardrails_plugins.core.outcome import Code
from tests.adapters.guardrails_ai.support import EN, INVENTED, MESSAGES, Provider, cut, read, read_async

pytestmark = pytest.mark.framework
EARLIER = "The hall has 40 seats.\n\nMembers pay 12 euros."


def model_with(on_fail: Any) -> type[BaseModel]:
    class Reply(BaseModel):
        answer: str = Field(json_schema_extra={"validators": [SentenceGateValidator(on_fail=on_fail)]})
        year: int

    return Reply


def reply(text: str) -> str:
    return json.dumps({"answer": text, "year": 2019})


@pytest.mark.parametrize("run_sync", ["true", "false"])
def test_only_the_field_is_judged(run_sync: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUARDRAILS_RUN_SYNC", run_sync)
    guard = Guard.for_pydantic(model_with("fix"))
    outcome = guard.validate(reply(EN.text), metadata=EN.metadata)
    assert outcome.validated_output["year"] == 2019
    assert outcome.validated_output["answer"].startswith("The hall has 40 seats.\n\nMembers pay 12 euros.")
    assert INVENTED not in outcome.validated_output["answer"]
    good = guard.validate(reply(EN.good), metadata=EN.metadata)
    assert good.validation_passed
    assert strip_markers(good.validated_output["answer"]) == strip_markers(EN.good)


def test_a_path_in_use() -> None:
    guard = Guard.for_pydantic(model_with("noop")).use(SentenceGateValidator(on_fail="exception"), on="$.answer")
    with pytest.raises(SentenceWithheldError):
        guard.validate(reply(EN.text), metadata=EN.metadata)


async def test_async() -> None:
    guard = AsyncGuard.for_pydantic(model_with("fix"))
    outcome = await guard.validate(reply(EN.text), metadata=EN.metadata)
    assert INVENTED not in outcome.validated_output["answer"]


class Model:
    """A model that answers with each reply in turn, and remembers what it was asked."""

    def __init__(self, *replies: str) -> None:
        self.replies, self.prompts = list(replies), []

    def __call__(self, *, messages: Any = None, **kwargs: Any) -> str:
        self.prompts.append(str(messages))
        return self.replies[len(self.prompts) - 1]

    async def generate(self, *, messages: Any = None, **kwargs: Any) -> str:
        return self(messages=messages, **kwargs)


@pytest.mark.parametrize("run_sync", ["true", "false"])
@pytest.mark.parametrize("wrapped", [True, False], ids=["sentence_stream", "bare"])
@pytest.mark.parametrize("on_fail", ["fix", "filter", "refrain", lambda value, result: EndStream("")])
def test_a_model_that_is_called(on_fail: Any, wrapped: bool, run_sync: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUARDRAILS_RUN_SYNC", run_sync)
    guard = Guard.for_pydantic(model_with(on_fail))
    model = Model(reply(EN.text))
    outcome = guard(sentence_stream(model) if wrapped else model, messages=MESSAGES, metadata=EN.metadata)
    assert outcome.validated_output["year"] == 2019
    assert outcome.validated_output["answer"].startswith(EARLIER)
    assert INVENTED not in outcome.validated_output["answer"]
    assert guard.parse(reply(EN.text), metadata=EN.metadata).validated_output == outcome.validated_output
    assert not gate_report(guard).passed


def reasked(prompts: list[str]) -> str:
    """The second prompt without the schema and the other field, which hold the year by right."""
    assert len(prompts) == 2
    return prompts[1].replace('"year": 2019', "")


@pytest.mark.parametrize("run_sync", ["true", "false"])
@pytest.mark.parametrize("on_fail", ["reask", "fix_reask"])
def test_reask_names_the_rule_and_quotes_nothing(on_fail: str, run_sync: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUARDRAILS_RUN_SYNC", run_sync)
    model = Model(reply(EN.text), reply(EN.good))
    guard = Guard.for_pydantic(model_with(on_fail))
    outcome = guard(sentence_stream(model), messages=MESSAGES, metadata=EN.metadata, num_reasks=1)
    assert strip_markers(outcome.validated_output["answer"]) == strip_markers(EN.good)
    assert outcome.validation_passed
    asked = reasked(model.prompts)
    assert Code.VALUE_UNSUPPORTED in asked
    for text in (INVENTED, "Late fees", EN.source):
        assert text not in asked


async def test_async_reask() -> None:
    model = Model(reply(EN.text), reply(EN.good))
    guard = AsyncGuard.for_pydantic(model_with("reask"))
    llm = async_sentence_stream(model.generate)
    outcome = await guard(llm, messages=MESSAGES, metadata=EN.metadata, num_reasks=1)
    assert outcome.validation_passed
    asked = reasked(model.prompts)
    for text in (INVENTED, "Late fees", EN.source):
        assert text not in asked


@pytest.mark.parametrize("run_sync", ["true", "false"])
@pytest.mark.parametrize("on_fail", ["exception", "fix", "filter", "refrain", "reask"])
def test_streaming_a_bare_callable_shows_a_field_that_was_judged_whole(
    on_fail: str, run_sync: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GUARDRAILS_RUN_SYNC", run_sync)
    for size in (1, 7, 0):
        guard = Guard.for_pydantic(model_with(on_fail))
        provider = Provider(cut(reply(EN.text), size))
        reading = read_fields(guard, provider)
        answers = [fields.get("answer", "") for fields in reading]
        assert all(INVENTED not in answer and "Late" not in answer for answer in answers)
        if on_fail in ("exception", "reask"):
            assert reading == []
        else:
            assert reading[-1]["answer"].startswith(EARLIER)
        provider = Provider(cut(reply(EN.good), size))
        # The whole field, every sentence; without the asynchronous service its markers are taken out.
        assert strip_markers(read_fields(guard, provider)[-1]["answer"]) == strip_markers(EN.good)


def read_fields(guard: Any, provider: Provider) -> list[dict[str, Any]]:
    """The objects that a structured stream shows, up to its end or error."""
    shown: list[dict[str, Any]] = []
    try:
        for outcome in guard(provider, messages=MESSAGES, metadata=EN.metadata, stream=True):
            shown.append(outcome.validated_output)  # noqa: PERF401 - what was shown before an error counts
    except (ValueError, ValidationError):
        pass
    return shown


def test_streaming_it_is_refused_before_the_model_is_called() -> None:
    provider = Provider([reply(EN.good)])
    guard = Guard.for_pydantic(model_with("exception"))
    reading = read(guard, sentence_stream(provider), provider, EN.metadata)
    assert isinstance(reading.error, UnboundStreamError)
    assert "without stream=True" in str(reading.error)
    assert provider.calls == 0


async def test_async_streaming_it_is_refused_before_the_model_is_called() -> None:
    provider = Provider([reply(EN.good)])
    guard = AsyncGuard.for_pydantic(model_with("exception"))
    reading = await read_async(guard, async_sentence_stream(provider.generate), provider, EN.metadata)
    assert isinstance(reading.error, UnboundStreamError)
    assert provider.calls == 0
