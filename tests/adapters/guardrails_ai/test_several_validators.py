"""Ours beside validators that fix, hold and raise."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from guardrails import AsyncGuard, Guard
from guardrails.errors import ValidationError
from guardrails.validator_base import FailResult, PassResult, Validator, register_validator

from guardrails_plugins.adapters.guardrails_ai import (
    MetadataError,
    SentenceGateValidator,
    async_sentence_stream,
    sentence_stream,
)
from tests.adapters.guardrails_ai.support import EN, Provider, Reading, cut, read, read_async

pytestmark = pytest.mark.framework
SEEN: list[str] = []


@register_validator(name="test/seats", data_type="string")
class Seats(Validator):  # type: ignore[misc]
    """Fixes "seats" to "chairs", or only objects, with Guardrails' own way of cutting sentences."""

    def _validate(self, value: Any, metadata: dict[str, Any]) -> Any:
        SEEN.append(value)
        if "seats" not in value:
            return PassResult()
        return FailResult(error_message="say chairs", fix_value=value.replace("seats", "chairs"))


def run(mode: str, text: str, *validators: Any) -> Reading:
    provider = Provider(cut(text, 6))
    SEEN.clear()
    if mode == "sync":
        return read(Guard().use(*validators), sentence_stream(provider), provider, EN.metadata)
    guard = AsyncGuard().use(*validators)
    return asyncio.run(read_async(guard, async_sentence_stream(provider.generate), provider, EN.metadata))


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("ours_first", [True, False])
def test_beside_one_that_fixes(mode: str, ours_first: bool) -> None:
    validators = [SentenceGateValidator(on_fail="fix"), Seats(on_fail="fix")]
    reading = run(mode, EN.text, *(validators if ours_first else reversed(validators)))
    assert reading.error is None
    assert reading.text.startswith("The hall has 40 chairs.\n\nMembers pay 12 euros.\n\n")
    assert "2019" not in reading.text
    assert not any("2019" in text for text in SEEN)


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_good_answer_beside_one_that_fixes_is_whole(mode: str) -> None:
    reading = run(mode, EN.good, SentenceGateValidator(on_fail="exception"), Seats(on_fail="fix"))
    assert reading.error is None
    assert reading.text.strip() == "The hall has 40 chairs.\n\nMembers pay 12 euros. The hall stays open to all."


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_beside_one_that_raises(mode: str) -> None:
    text = "Members pay 12 euros [S1]. The hall has 40 seats [S1]. Members pay 12 euros [S1]."
    reading = run(mode, text, SentenceGateValidator(on_fail="fix"), Seats(on_fail="exception"))
    assert isinstance(reading.error, ValidationError)
    assert reading.text == "Members pay 12 euros."


def test_two_of_ours_are_refused() -> None:
    reading = run("sync", EN.good, SentenceGateValidator(), SentenceGateValidator("de"))
    assert isinstance(reading.error, MetadataError)
    assert reading.text == ""
