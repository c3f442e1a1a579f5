"""The kinds of `on_fail`, what the reader gets under each, and the words for a broken rule."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from guardrails_plugins.adapters.guardrails_ai.errors import MetadataError
from guardrails_plugins.core.outcome import Code

OUTCOME_TABLE = """\
| `on_fail` | what the reader gets at the failing sentence, streaming and not |
|---|---|
| `exception` | earlier sentences, then `ValidationError`, none of the failing text in it |
| `fix` | earlier sentences, then the withheld notice once; the stream ends |
| `filter`, `refrain` | earlier sentences; the stream ends with nothing more |
| `noop` | everything, as the kind promises (all codes `flag`), with the violations in the outcome and the log |
| a callable (`custom`) | the callable's text in place of the failing sentence; the stream goes on, or ends there when it returns `EndStream(text)` |
| `reask`, `fix_reask` | not streaming: asks again, the message names the broken rule and quotes neither sources nor the failing text; streaming: refused before any text |
"""  # noqa: E501
"""The same table stands in README.md and docs/guardrails-ai.md; a test compares them."""


class OnFailKind(enum.StrEnum):
    """The values of `on_fail`, as Guardrails spells them."""

    EXCEPTION = "exception"
    FIX = "fix"
    FILTER = "filter"
    REFRAIN = "refrain"
    NOOP = "noop"
    CUSTOM = "custom"
    REASK = "reask"
    FIX_REASK = "fix_reask"


JUDGE_ON = frozenset({OnFailKind.NOOP, OnFailKind.CUSTOM})
"""Kinds under which the gate must go on past a failing sentence: it flags, the adapter decides."""

REASKS = frozenset({OnFailKind.REASK, OnFailKind.FIX_REASK})


class EndStream(str):
    """What an `on_fail` callable returns to have its text shown and the answer ended there."""

    __slots__ = ()


Correction = Callable[[Any, Any], Any]
"""An `on_fail` callable: (value, FailResult) -> text. The value is always empty: the failing text is not handed on."""


def read_on_fail(on_fail: object, kind: str | None) -> tuple[OnFailKind, Correction | None]:
    """The kind that `on_fail` asks for, and its callable.

    `kind` is what `to_dict` saved; it wins, because Guardrails restores every validator of ours
    as `fix`. Raises `MetadataError` for an unknown name, a callable that does not take two
    arguments, or a saved callable (callables cannot be saved).
    """
    if kind is None and callable(on_fail) and not isinstance(on_fail, str):
        return OnFailKind.CUSTOM, _two_arguments(on_fail)
    name = kind if kind is not None else getattr(on_fail, "value", on_fail)
    if name is None:
        return OnFailKind.EXCEPTION, None
    known = ", ".join(OnFailKind)
    if not isinstance(name, str) or name.lower() not in tuple(OnFailKind):
        raise MetadataError(f"on_fail must be a callable or one of {known}")
    found = OnFailKind(name.lower())
    if found is OnFailKind.CUSTOM:
        if kind is not None and callable(on_fail) and not isinstance(on_fail, str):
            return found, _two_arguments(on_fail)
        raise MetadataError(
            "on_fail='custom' needs its callable: a saved guard cannot hold one, so pass on_fail=... anew"
        )
    return found, None


def _two_arguments(on_fail: Correction) -> Correction:
    try:
        inspect.signature(on_fail).bind(None, None)
    except (TypeError, ValueError):
        raise MetadataError("an on_fail callable takes two arguments: the value and the FailResult") from None
    return on_fail


RULES: dict[str, str] = {
    Code.CITATION_MISSING: "each sentence that states a fact needs the marker of the numbered source it rests on",
    Code.CITATION_OUT_OF_RANGE: "a marker points at a source that does not exist",
    Code.CITATION_MALFORMED: "a citation marker is not of the required form",
    Code.VALUE_UNSUPPORTED: "a number, date, address or identifier is in none of the sources; use only what they state",
    Code.VALUE_MISCITED: "a number, date, address or identifier is not in the source that its sentence cites",
    Code.FIRST_PERSON: "write in the third person",
    Code.CHECK_FAILED: "the answer could not be judged",
    Code.PROVIDER_FILTERED: "the provider's own filter ended the answer",
}


def message_of(codes: Iterable[str]) -> str:
    """What is wrong, by rule; quotes neither the sources nor the answer."""
    known = dict.fromkeys(codes)
    return "; ".join(f"{RULES.get(code, 'a check of this policy failed')} ({code})" for code in known)


def with_notice(shown: str, notice: str | None) -> str:
    """The notice as it follows what was already shown: a paragraph of its own, alone when nothing was."""
    if not notice:
        return ""
    return f"\n\n{notice}" if shown.strip() else notice
