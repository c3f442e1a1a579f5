"""What a gated stream yields. No event carries text of a blocked sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from guardrails_plugins.core.outcome import State, Violation
from guardrails_plugins.core.sentence import Span
from guardrails_plugins.core.usage import Usage


@dataclass(frozen=True, slots=True)
class SentenceEvent:
    """A passed sentence, `text` exactly as it is to be shown (whitespace before it included).

    `span` is its place in the raw stream; `cited` the sources it cites, from 1; `violations`
    those that the policy only flags.
    """

    text: str
    cited: tuple[int, ...] = ()
    span: Span = Span(0, 0)  # noqa: RUF009 - an immutable tuple
    violations: tuple[Violation, ...] = ()
    type: Literal["sentence"] = "sentence"


@dataclass(frozen=True, slots=True)
class GuardEvent:
    """The gate stopped the answer: why, what to tell the reader, and how much was withheld (code points)."""

    codes: tuple[str, ...]
    notice: str | None
    withheld_chars: int
    state: State
    violations: tuple[Violation, ...] = ()
    type: Literal["guard"] = "guard"


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """The stream broke outside the gate. `code` is ``timeout``, ``provider_error`` or ``bad_frame``;
    `message` names the kind of error, never its text, which may quote the answer."""

    code: str
    message: str
    type: Literal["error"] = "error"


@dataclass(frozen=True, slots=True)
class DoneEvent:
    """The last event. `state` is the gate's (`failed` after an error), `released_chars` counts the
    code points shown, `tool_calls` stand only after a clean end, `unknown_events` counts dropped
    events of a known protocol that this version does not know."""

    state: State
    usage: Usage
    notice: str | None = None
    released_chars: int = 0
    finish_reason: str | None = None
    tool_calls: tuple[Mapping[str, Any], ...] = field(default=())
    unknown_events: int = 0
    type: Literal["done"] = "done"


GateEvent = SentenceEvent | GuardEvent | ErrorEvent | DoneEvent
