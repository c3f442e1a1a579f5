"""`to_dict` and `from_dict` keep language, policy, kind and sources."""

from __future__ import annotations

import json
from typing import Any

import pytest
from guardrails import AsyncGuard, Guard
from pydantic import BaseModel, Field

from guardrails_plugins.adapters.guardrails_ai import (
    MetadataError,
    SentenceGateValidator,
    async_sentence_stream,
    sentence_stream,
)
from guardrails_plugins.core.errors import PolicyError
from guardrails_plugins.core.policy import GatePolicy
from guardrails_plugins.core.sources import Source, SourceIndex
from tests.adapters.guardrails_ai.support import EN, Provider, cut, read, read_async

pytestmark = pytest.mark.framework
EARLIER = "The hall has 40 seats.\n\nMembers pay 12 euros."
POLICY = GatePolicy(citations="optional", actions={"first_person": "flag"}, equivalences=frozenset(), min_words=5)


@pytest.mark.parametrize("kind", ["exception", "fix", "filter", "refrain", "noop", "reask", "fix_reask"])
@pytest.mark.parametrize("guard_class", [Guard, AsyncGuard])
def test_a_guard_comes_back_as_it_was(guard_class: Any, kind: str) -> None:
    guard = guard_class().use(SentenceGateValidator("de", POLICY, on_fail=kind))
    saved = json.loads(json.dumps(guard.to_dict()))
    restored = guard_class.from_dict(saved)
    (validator,) = restored.get_validators("output")
    assert isinstance(validator, SentenceGateValidator)
    assert validator.language == "de"
    assert validator.settings.policy == POLICY
    assert validator.settings.kind == kind
    assert restored.to_dict() == saved


def test_a_restored_guard_judges_and_keeps_one_validator() -> None:
    restored = Guard.from_dict(Guard().use(SentenceGateValidator(on_fail="filter")).to_dict())
    outcome = restored.validate(EN.text, metadata=EN.metadata)
    assert outcome.validated_output == EARLIER
    assert len(restored.get_validators("output")) == 1


def test_what_cannot_be_saved_is_an_error_when_restored() -> None:
    own = Guard().use(SentenceGateValidator(policy=GatePolicy(checks=(lambda sentence, context: [],))))
    with pytest.raises(PolicyError):
        Guard.from_dict(own.to_dict())
    custom = Guard().use(SentenceGateValidator(on_fail=lambda value, result: ""))
    with pytest.raises(MetadataError):
        Guard.from_dict(custom.to_dict())


@pytest.mark.parametrize(
    "sources",
    [
        [EN.source],
        iter([EN.source]),
        [{"text": EN.source, "id": "hall"}],
        [Source(EN.source, id="hall", language="en")],
        SourceIndex.of([Source(EN.source, url="https://hall.example")]),
    ],
    ids=["strings", "iterator", "mappings", "Source", "SourceIndex"],
)
def test_the_validator_s_own_sources_come_back(sources: Any) -> None:
    guard = Guard().use(SentenceGateValidator(on_fail="filter", sources=sources))
    saved = json.loads(json.dumps(guard.to_dict()))
    restored = Guard.from_dict(saved)
    assert restored.to_dict() == saved
    for each in (guard, restored):
        provider = Provider(cut(EN.text, 6))
        for _ in range(2):
            assert read(each, sentence_stream(provider), provider, {}).text == EARLIER
            assert each.validate(EN.text).validated_output == EARLIER


@pytest.mark.parametrize("kind", ["exception", "fix", "filter", "noop"])
def test_a_restored_guard_streams_as_the_first_did(kind: str) -> None:
    first = Guard().use(SentenceGateValidator(on_fail=kind))
    seen = []
    for guard in (first, Guard.from_dict(first.to_dict())):
        provider = Provider(cut(EN.text, 6))
        reading = read(guard, sentence_stream(provider), provider, EN.metadata)
        seen.append((reading.seen, type(reading.error)))
    assert seen[0] == seen[1]
    assert seen[0][0]


async def test_a_restored_async_guard_streams_as_the_first_did() -> None:
    first = AsyncGuard().use(SentenceGateValidator(on_fail="fix"))
    seen = []
    for guard in (first, AsyncGuard.from_dict(first.to_dict())):
        provider = Provider(cut(EN.text, 6))
        seen.append((await read_async(guard, async_sentence_stream(provider.generate), provider, EN.metadata)).seen)
    assert seen[0] == seen[1]
    assert len(seen[0]) == 3


def test_a_field_s_validator_comes_back() -> None:
    class Reply(BaseModel):
        answer: str = Field(json_schema_extra={"validators": [SentenceGateValidator(on_fail="filter")]})
        year: int

    saved = json.loads(json.dumps(Guard.for_pydantic(Reply).to_dict()))
    outcome = Guard.from_dict(saved).validate(json.dumps({"answer": EN.text, "year": 2019}), metadata=EN.metadata)
    assert outcome.validated_output == {"answer": EARLIER, "year": 2019}
