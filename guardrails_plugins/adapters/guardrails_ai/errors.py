"""What can be wrong with a use of the adapter, and the error that `on_fail="exception"` raises."""

from __future__ import annotations

from guardrails.errors import ValidationError

from guardrails_plugins.core.errors import GateError
from guardrails_plugins.core.outcome import Violation


class MetadataError(GateError, ValueError):
    """`metadata` (or `on_fail`, `policy`) of a guard is missing something or of the wrong type."""


class StreamingKindError(GateError, ValueError):
    """The kind of `on_fail` cannot be had while streaming."""


class UnboundStreamError(GateError, RuntimeError):
    """A gated stream is read by a guard without our validator, or an AsyncGuard by itself cannot end one."""


class SentenceWithheldError(ValidationError):  # type: ignore[misc]
    """A sentence was withheld under ``on_fail="exception"``; what was released before it stays.

    `codes` and `violations` (spans in the raw model stream) say why, `state` is the gate's, and
    `notice` the fixed text for the reader. Nothing of the sentence itself is kept.
    """

    def __init__(self, message: str, *, violations: tuple[Violation, ...], state: str, notice: str | None) -> None:
        super().__init__(message)
        self.violations = violations
        self.state = state
        self.notice = notice

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of `violations`, each once, in order."""
        return tuple(dict.fromkeys(v.code for v in self.violations))
