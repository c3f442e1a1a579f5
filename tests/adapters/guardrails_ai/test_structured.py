"""A structured output with the validator on one text field."""

from __future__ import annotations

import json
from typing import Any

import pytest
from guardrails import AsyncGuard, Guard
from pydantic import BaseModel, Field

from guardrails_plugins import strip_markers
from guardrails_plugins.adapters.guardrails_ai import (
    SentenceGateValidator,
    SentenceWithheldError,
    UnboundStreamError,
    sentence_stream,
)
from tests.adapters.guardrails_ai.support import EN, INVENTED, Provider, read

pytestmark = pytest.mark.framework


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


def test_streaming_it_is_refused_before_the_model_is_called() -> None:
    provider = Provider([reply(EN.good)])
    guard = Guard.for_pydantic(model_with("exception"))
    reading = read(guard, sentence_stream(provider), provider, EN.metadata)
    assert isinstance(reading.error, UnboundStreamError)
    assert "without stream=True" in str(reading.error)
    assert provider.calls == 0
