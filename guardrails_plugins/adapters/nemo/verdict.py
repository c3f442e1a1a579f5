"""How a gated answer ended, in the words of NeMo's stream and of its rails."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from guardrails_plugins.adapters.nemo.settings import FLOW
from guardrails_plugins.core.outcome import State

TERMINAL_TYPES = frozenset({"guardrails_violation", "internal_error", "generation_error", "downstream_error"})
"""`error.type` of the JSON items that end a NeMo stream."""

ERROR_STATES = frozenset({State.WITHHELD, State.FAILED})
"""States that become NeMo's error frame, and a `RailOutcome.block` in a flow."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The end of an answer. `notice` is for the reader, `detail` for the developer; no answer text in either."""

    state: State
    codes: tuple[str, ...] = ()
    notice: str | None = None
    withheld_chars: int = 0
    detail: str | None = None

    @property
    def blocks(self) -> bool:
        """Whether NeMo is to act on it as on a violated rail."""
        return self.state in ERROR_STATES

    @property
    def reason(self) -> str:
        """One line for logs and for the frame."""
        parts = [f"Blocked by {FLOW} rails"]
        if self.codes:
            parts.append(f" ({', '.join(self.codes)})")
        text = "".join(parts) + "."
        return " ".join(p for p in (text, self.detail, self.notice) if p)

    @property
    def metadata(self) -> dict[str, Any]:
        """What the log of the activated rail and the frame say in fields."""
        return {
            "state": self.state.value,
            "codes": list(self.codes),
            "notice": self.notice,
            "withheld_chars": self.withheld_chars,
        }


def frame(verdict: Verdict) -> str:
    """NeMo's guardrails_violation item, with our codes and notice in `message` (all that its server keeps)."""
    error = {
        "message": verdict.reason,
        "type": "guardrails_violation",
        "param": FLOW,
        "code": "content_blocked",
        "sentence_gate": verdict.metadata,
    }
    return json.dumps({"error": error})


def terminal_type(item: str) -> str | None:
    """The error type of an item that ends a stream, or None for text."""
    if not item.startswith("{") or '"error"' not in item[:40]:
        return None
    try:
        kind = json.loads(item)["error"]["type"]
    except (ValueError, TypeError, KeyError):
        return None
    return kind if kind in TERMINAL_TYPES else None


def unambiguous(text: str) -> tuple[str, ...]:
    """Cut a sentence that looks like a JSON object in two, so that nobody takes it for an error frame."""
    stripped = text.strip()
    if not (stripped.startswith("{") and stripped.endswith("}") and len(stripped) > 1):
        return (text,)
    cut = text.index("{") + 1
    return text[:cut], text[cut:]
