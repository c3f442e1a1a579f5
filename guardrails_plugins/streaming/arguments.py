"""What the drivers are given, looked at before the provider's stream is touched."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from guardrails_plugins.core.errors import ArgumentError, BoundError, StreamClosedError
from guardrails_plugins.core.gate import SentenceGate
from guardrails_plugins.core.outcome import State
from guardrails_plugins.core.usage import UsageMeter


def validate(gate: Any, checks: Any, prompt_text: Any, meter: Any, **seconds: Any) -> None:
    """Raises `ArgumentError` or `BoundError` naming the argument, `StreamClosedError` for a gate that has ended."""
    if not isinstance(gate, SentenceGate):
        raise ArgumentError(f"gate must be a SentenceGate, not {type(gate).__name__}")
    if gate.state is not State.OPEN:
        raise StreamClosedError(f"the gate has ended ({gate.state.value}); use a new SentenceGate for each answer")
    if isinstance(checks, (str, bytes)) or not isinstance(checks, Sequence) or not all(map(callable, checks)):
        raise ArgumentError("checks must be a list of callables (sentence event, gate) -> bool")
    if prompt_text is not None and not isinstance(prompt_text, str):
        raise ArgumentError(f"prompt_text must be text (str), not {type(prompt_text).__name__}")
    if meter is not None and not isinstance(meter, UsageMeter):
        raise ArgumentError(f"meter must be a UsageMeter, not {type(meter).__name__}")
    for name, value in seconds.items():
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ArgumentError(f"{name} must be a number of seconds, not {type(value).__name__}")
        if not value > 0 or math.isinf(value):
            raise BoundError(f"{name} must be more than 0 seconds and finite, not {value!r}; None is no limit")
