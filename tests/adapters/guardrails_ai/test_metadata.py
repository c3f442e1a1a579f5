"""Sources and language of a call: every form, and clear errors before the model is called."""

from __future__ import annotations

from typing import Any

import pytest
from guardrails import AsyncGuard, Guard

from guardrails_plugins.adapters.guardrails_ai import (
    MetadataError,
    SentenceGateValidator,
    async_sentence_stream,
    sentence_stream,
)
from guardrails_plugins.core.errors import LanguageError, PolicyError, SourceError
from guardrails_plugins.core.sources import Source, SourceIndex
from tests.adapters.guardrails_ai.support import EN, MESSAGES, Provider, cut, read

pytestmark = pytest.mark.framework
EARLIER = "The hall has 40 seats.\n\nMembers pay 12 euros."
WRONG: list[tuple[dict[str, Any] | None, type[Exception]]] = [
    (None, ValueError),
    ({}, ValueError),
    ({"sources": None}, MetadataError),
    ({"sources": EN.source}, SourceError),
    ({"sources": 3}, SourceError),
    ({"sources": [EN.source, 3]}, SourceError),
    ({"sources": [{"id": "a"}]}, SourceError),
    ({"sources": [EN.source], "language": "tlh"}, LanguageError),
    ({"sources": [EN.source], "language": 3}, MetadataError),
    ({"sources": [EN.source], "question": 3}, MetadataError),
]


@pytest.mark.parametrize(
    "sources",
    [
        [EN.source],
        (EN.source,),
        [{"text": EN.source, "id": "hall"}],
        [Source(EN.source, id="hall")],
        SourceIndex.of([EN.source]),
    ],
    ids=["strings", "tuple", "mappings", "Source", "SourceIndex"],
)
def test_every_form_of_sources(sources: Any) -> None:
    provider = Provider(cut(EN.text, 6))
    guard = Guard().use(SentenceGateValidator(on_fail="filter"))
    assert read(guard, sentence_stream(provider), provider, {"sources": sources}).text == EARLIER


@pytest.mark.parametrize(("metadata", "error"), WRONG)
@pytest.mark.parametrize("how", ["stream", "bare stream", "whole", "bare whole"])
def test_wrong_metadata_is_seen_before_the_model_is_called(
    how: str, metadata: dict[str, Any] | None, error: type[Exception]
) -> None:
    provider = Provider(cut(EN.text, 6))
    guard = Guard().use(SentenceGateValidator())
    llm = provider if how.startswith("bare") else sentence_stream(provider)
    with pytest.raises(error):
        list(guard(llm, messages=MESSAGES, metadata=metadata, stream=how.endswith("stream")))
    assert provider.calls == 0


@pytest.mark.parametrize(("metadata", "error"), WRONG)
async def test_async_wrong_metadata_is_seen_before_the_model_is_called(
    metadata: dict[str, Any] | None, error: type[Exception]
) -> None:
    provider = Provider(cut(EN.text, 6))
    guard = AsyncGuard().use(SentenceGateValidator())
    with pytest.raises(error):
        await guard(async_sentence_stream(provider.generate), messages=MESSAGES, metadata=metadata, stream=True)
    assert provider.calls == 0


def test_the_call_s_language_wins() -> None:
    guard = Guard().use(SentenceGateValidator("de", on_fail="fix"))
    german = guard.validate(EN.text, metadata={"sources": [EN.source]}).validated_output
    english = guard.validate(EN.text, metadata=EN.metadata).validated_output
    assert german != english


def test_sources_of_the_validator_stand_in() -> None:
    guard = Guard().use(SentenceGateValidator(on_fail="filter", sources=SourceIndex.of([EN.source])))
    assert guard.validate(EN.text).validated_output == EARLIER
    assert not guard.validate(EN.text, metadata={"sources": ["Other."]}).validated_output


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"language": "tlh"}, LanguageError),
        ({"on_fail": "shout"}, MetadataError),
        ({"on_fail": lambda: ""}, MetadataError),
        ({"on_fail": "custom"}, MetadataError),
        ({"policy": {"citation": "off"}}, PolicyError),
        ({"policy": 3}, MetadataError),
        ({"sources": "text"}, SourceError),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        SentenceGateValidator(**arguments)


def test_the_user_s_metadata_is_left_as_it_was() -> None:
    metadata = {"sources": [EN.source]}
    guard = Guard().use(SentenceGateValidator(on_fail="fix"))
    provider = Provider(cut(EN.text, 6))
    read(guard, provider, provider, metadata)
    guard.validate(EN.text, metadata=metadata)
    assert metadata == {"sources": [EN.source]}
