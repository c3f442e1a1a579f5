"""What can happen to a stream, and the states that it moves between."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from guardrails_plugins.core.outcome import State


class Event(enum.StrEnum):
    """What can happen to a stream."""

    PASSED = "passed"
    VIOLATED = "violated"
    REFUSAL = "refusal"
    BROKE = "broke"
    ENDED = "ended"
    CUT = "cut"
    FILTERED = "filtered"


TRANSITIONS: Mapping[tuple[State, Event], State] = {
    (State.OPEN, Event.PASSED): State.OPEN,
    (State.OPEN, Event.VIOLATED): State.WITHHELD,
    (State.OPEN, Event.REFUSAL): State.REFUSED,
    (State.OPEN, Event.BROKE): State.FAILED,
    (State.OPEN, Event.ENDED): State.COMPLETED,
    (State.OPEN, Event.CUT): State.TRUNCATED,
    (State.OPEN, Event.FILTERED): State.WITHHELD,
}
"""A pair that is not here is an error."""

NOTICE_OF = {
    State.WITHHELD: "withheld",
    State.REFUSED: "refused",
    State.TRUNCATED: "truncated",
    State.FAILED: "error",
}
"""The notice that a reader gets where the answer ended other than completely."""
