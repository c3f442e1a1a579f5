"""Ours beside validators that fix, hold and raise."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest
from guardrails import AsyncGuard, Guard
from guardrails.errors import ValidationError
from guardrails.validator_base import FailResult, PassResult, Validator, register_validator

from guardrails_plugins.adapters.guardrails_ai import (
    MetadataError,
    SentenceGateValidator,
    SentenceWithheldError,
    UnboundStreamError,
    async_sentence_stream,
    sentence_stream,
)
from tests.adapters.guardrails_ai.support import EN, Provider, Reading, as_chunks, cut, read, read_async

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


@register_validator(name="test/prices", data_type="string")
class Prices(Validator):  # type: ignore[misc]
    """Objects to prices, with Guardrails' own way of cutting sentences."""

    def _validate(self, value: Any, metadata: dict[str, Any]) -> Any:
        SEEN.append(value)
        return FailResult(error_message="no prices") if "euros" in value else PassResult()


ORDERS = list(itertools.permutations(range(3)))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_beside_one_that_fixes_and_one_that_raises(mode: str, order: tuple[int, ...]) -> None:
    def ordered(on_fail: str) -> list[Any]:
        validators = [SentenceGateValidator(on_fail=on_fail), Seats(on_fail="fix"), Prices(on_fail="exception")]
        return [validators[place] for place in order]

    # Theirs raises first, at the second sentence; ours at a sentence before theirs; nobody.
    reading = run(mode, EN.text, *ordered("fix"))
    assert isinstance(reading.error, ValidationError)
    assert not isinstance(reading.error, SentenceWithheldError)
    assert reading.text == "The hall has 40 chairs."
    reading = run(mode, EN.first + EN.bad + EN.second, *ordered("exception"))
    assert isinstance(reading.error, SentenceWithheldError)
    assert reading.text == "The hall has 40 chairs."
    assert not any("2019" in text for text in SEEN)
    reading = run(mode, EN.first + EN.last, *ordered("exception"))
    assert reading.error is None
    assert reading.text.rstrip() == "The hall has 40 chairs. The hall stays open to all."


@pytest.mark.parametrize("run_sync", ["true", "false"])
@pytest.mark.parametrize("on_fail", ["fix", "filter", "refrain"])
def test_a_whole_text_beside_one_that_fixes(on_fail: str, run_sync: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUARDRAILS_RUN_SYNC", run_sync)
    for ours_first in (True, False):
        validators = [SentenceGateValidator(on_fail=on_fail), Seats(on_fail="fix")]
        guard = Guard().use(*(validators if ours_first else reversed(validators)))
        shown = guard.validate(EN.text, metadata=EN.metadata).validated_output
        assert "2019" not in shown
        assert shown.startswith("The hall has 40 chairs")


@pytest.mark.parametrize("run_sync", ["true", "false"])
def test_a_whole_text_beside_one_that_raises(run_sync: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUARDRAILS_RUN_SYNC", run_sync)
    guard = Guard().use(SentenceGateValidator(on_fail="fix"), Prices(on_fail="exception"))
    with pytest.raises(ValidationError, match="no prices"):
        guard.validate(EN.good, metadata=EN.metadata)
    outcome = guard.validate(EN.first + EN.last, metadata=EN.metadata)
    assert outcome.validation_passed


@pytest.mark.parametrize("theirs", [Seats(on_fail="fix"), Seats(on_fail="noop"), Prices(on_fail="exception")])
@pytest.mark.parametrize("ours_first", [True, False])
def test_a_bare_callable_is_refused_before_any_text(ours_first: bool, theirs: Any) -> None:
    """Guardrails' merge of what the two make of raw text lost text, and mixed withheld characters in."""
    for items in (cut(EN.good, 5), as_chunks([EN.good])):
        provider = Provider(items)
        validators = [SentenceGateValidator(on_fail="fix"), theirs]
        guard = Guard().use(*(validators if ours_first else reversed(validators)))
        reading = read(guard, provider, provider, EN.metadata)
        assert isinstance(reading.error, UnboundStreamError)
        assert "sentence_stream" in str(reading.error)
        assert reading.text == ""


def test_two_of_ours_are_refused() -> None:
    reading = run("sync", EN.good, SentenceGateValidator(), SentenceGateValidator("de"))
    assert isinstance(reading.error, MetadataError)
    assert reading.text == ""
