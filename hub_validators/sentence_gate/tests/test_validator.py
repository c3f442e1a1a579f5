"""The validator as it is found in Guardrails' namespace and through its hub import."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import guardrails_ai.sentence_gate as package
import pytest
from guardrails import Guard
from guardrails.validator_base import get_validator_class
from guardrails_ai.sentence_gate import SentenceGateValidator, SentenceWithheldError, sentence_stream

from guardrails_plugins.adapters import guardrails_ai as adapter

SOURCE = "The hall has 40 seats. Members pay 12 euros."
GOOD = "The hall has 40 seats [S1]. Members pay 12 euros [S1]."
BAD = GOOD + " Fees ended in 2019 [S1]."


def llm(text: str) -> Any:
    def call(*, messages: Any = None, **kwargs: Any) -> Iterator[str]:
        return (text[i : i + 5] for i in range(0, len(text), 5))

    return call


def stream(guard: Guard, text: str) -> Iterator[str]:
    outcomes = guard(
        sentence_stream(llm(text)),
        messages=[{"role": "user", "content": "What about the hall?"}],
        metadata={"sources": [SOURCE]},
        stream=True,
    )
    return (outcome.validated_output for outcome in outcomes)


def test_success() -> None:
    guard = Guard().use(SentenceGateValidator(on_fail="exception"))
    assert "".join(stream(guard, GOOD)) == "The hall has 40 seats. Members pay 12 euros."
    assert guard.validate(GOOD, metadata={"sources": [SOURCE]}).validation_passed


def test_failure() -> None:
    guard = Guard().use(SentenceGateValidator(on_fail="exception"))
    seen: list[str] = []
    with pytest.raises(SentenceWithheldError):
        seen.extend(stream(guard, BAD))
    assert "".join(seen) == "The hall has 40 seats. Members pay 12 euros."


def test_the_hub_import_finds_it() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from guardrails.hub import SentenceGateValidator as found
    assert found is SentenceGateValidator
    assert get_validator_class("sentence-gate/sentence_gate") is SentenceGateValidator


def test_everything_is_the_adapter_s_own() -> None:
    assert package.__all__ == adapter.__all__
    for name in package.__all__:
        assert getattr(package, name) is getattr(adapter, name)
