"""What the installed Guardrails does by itself, as the page says; a change here means a change there."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from guardrails import AsyncGuard, Guard
from guardrails.errors import ValidationError
from guardrails.validator_base import FailResult, PassResult, Validator, register_validator

from tests.adapters.guardrails_ai.support import Provider, Reading, cut, read, read_async

pytestmark = pytest.mark.framework
TEXT = "It opens at nine. Late fees ended in 2019. More text here. The tail has 2019 too"


@register_validator(name="test/no-2019", data_type="string")
class No2019(Validator):  # type: ignore[misc]
    """Fails on 2019, with Guardrails' own way of cutting sentences."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.judged: list[str] = []

    def _validate(self, value: Any, metadata: dict[str, Any]) -> Any:
        self.judged.append(value)
        return FailResult(error_message="2019", fix_value="(fixed)") if "2019" in value else PassResult()


def run(on_fail: str, text: str = TEXT) -> tuple[Reading, No2019]:
    validator, provider = No2019(on_fail=on_fail), Provider(cut(text, 7))
    return read(Guard().use(validator), provider, provider, {}), validator


def test_raw_pieces_are_shown_before_they_are_judged() -> None:
    reading, _ = run("exception")
    assert isinstance(reading.error, ValidationError)
    assert "Late fees ended i" in reading.text


@pytest.mark.parametrize(("on_fail", "error"), [("filter", TypeError), ("refrain", TypeError), ("reask", ValueError)])
def test_some_kinds_break(on_fail: str, error: type[Exception]) -> None:
    reading, _ = run(on_fail)
    assert isinstance(reading.error, error)
    assert "Late fees ended i" in reading.text


def test_the_last_sentence_is_not_judged() -> None:
    reading, validator = run("noop")
    assert reading.text == TEXT
    assert not any("tail" in text for text in validator.judged)


def test_an_async_guard_loses_the_last_sentence() -> None:
    provider = Provider(cut(TEXT, 7))

    class Envelope:
        completion_stream: Any

    async def llm(*, messages: Any = None, **kwargs: Any) -> Any:
        envelope = Envelope()
        envelope.completion_stream = await provider.generate(messages=messages, **kwargs)
        return envelope

    reading = asyncio.run(read_async(AsyncGuard().use(No2019(on_fail="noop")), llm, provider, {}))
    assert reading.error is None
    assert "tail" not in reading.text
    assert all(outcome.validation_passed for outcome in reading.outcomes)


def test_other_scripts_are_never_judged() -> None:
    for text in ("開館は九時です。料金は2019年に終わりました。", "सभागार खुला है। शुल्क 2019 में समाप्त हुआ। "):
        reading, validator = run("exception", text)
        assert reading.text == text
        assert validator.judged == []


def test_the_next_caller_gets_what_was_held_for_the_last() -> None:
    validator = No2019(on_fail="fix")
    guard = Guard().use(validator)
    first = Provider(cut("A secret half", 7), fail_at=1)
    read(guard, first, first, {})
    second = Provider(cut("It opens at nine. More.", 7))
    assert "A secre" in read(guard, second, second, {}).text
