"""The demo in Guardrails AI: our validator, and one of the same check with Guardrails' own chunks."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

from guardrails import Guard, settings
from guardrails.errors import ValidationError
from guardrails.validators import FailResult, PassResult, ValidationResult, Validator, register_validator

from guardrails_plugins.adapters.guardrails_ai import SentenceGateValidator, sentence_stream
from guardrails_plugins.commands.demo import PIECE_SECONDS, Recorded, Seen
from guardrails_plugins.core.whole import check_text

settings.disable_tracing = True


@register_validator(name="sentence-gate/same-check", data_type="string")
class SameCheck(Validator):  # type: ignore[misc]  # the framework's base is untyped here
    """The gate's checks on what Guardrails' own sentence chunker hands over."""

    def _validate(self, value: Any, metadata: dict[str, Any]) -> ValidationResult:
        outcome = check_text(value, metadata["sources"])
        if outcome.stopped:
            return FailResult(error_message=", ".join(outcome.codes))
        return PassResult()


def gated(recorded: Recorded) -> Seen:
    """`SentenceGateValidator` over `sentence_stream`."""
    guard = Guard().use(SentenceGateValidator(language=recorded.language, on_fail="fix"))
    return _watch(guard, sentence_stream(_callable(recorded)), recorded, stop_is_notice=True)


def stock(recorded: Recorded) -> Seen:
    """A validator of the same check with `on_fail="exception"` and Guardrails' own streaming."""
    guard = Guard().use(SameCheck(on_fail="exception"))
    return _watch(guard, _callable(recorded), recorded, stop_is_notice=False)


def _callable(recorded: Recorded) -> Any:
    def llm(*, messages: Any = None, **_: Any) -> Iterator[str]:
        recorded.begin()
        for piece in recorded.pieces():
            time.sleep(PIECE_SECONDS)
            yield piece

    return llm


def _watch(guard: Guard, llm: Any, recorded: Recorded, *, stop_is_notice: bool) -> Seen:
    seen = Seen(recorded)
    messages = [{"role": "user", "content": recorded.question}]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for outcome in guard(llm, messages=messages, metadata={"sources": recorded.sources}, stream=True):
                text = outcome.validated_output or ""
                if stop_is_notice and outcome.validation_passed is False:
                    seen.ending = str(text).strip()
                else:
                    seen.show(str(text))
        except ValidationError:
            seen.ending = "ValidationError"
    return seen
