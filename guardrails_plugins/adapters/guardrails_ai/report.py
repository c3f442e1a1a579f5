"""The truth about a call, where Guardrails' own `validation_passed` is a constant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from guardrails_plugins.adapters.guardrails_ai.errors import MetadataError
from guardrails_plugins.core.outcome import State, Violation


@dataclass(frozen=True, slots=True)
class GateReport:
    """What the gate decided in one call of a guard; holds no text of the answer.

    `passed` is true when no sentence broke a rule that the policy stops at and no check broke.
    `state` is the gate's (``completed``, ``withheld``, ``refused``, ``truncated``, ``failed``, or
    ``open`` while the stream runs or after the reader left). `violations` have spans in the raw
    model stream; those that the policy only flags are among them. Lengths are code points.
    """

    passed: bool
    state: State
    violations: tuple[Violation, ...] = ()
    notice: str | None = None
    released_chars: int = 0
    withheld_chars: int = 0

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of `violations`, each once, in order."""
        return tuple(dict.fromkeys(v.code for v in self.violations))


def gate_report(guard: Any, outcome: Any = None) -> GateReport:
    """The report of the call that `outcome` came from, or of the guard's last call.

    Guardrails keeps ten calls by default (`history_max_length`). Raises `MetadataError` when the
    call is no longer kept, or no validator of ours judged it.
    """
    calls = list(guard.history)
    if outcome is not None:
        calls = [call for call in calls if call.id == outcome.call_id]
    if not calls:
        raise MetadataError("this guard's history no longer holds that call; raise history_max_length")
    for iteration in reversed(list(calls[-1].iterations)):
        for log in reversed(iteration.outputs.validator_logs):
            report = report_of(log)
            if report is not None:
                return report
    raise MetadataError("no SentenceGateValidator judged that call")


def report_of(log: Any) -> GateReport | None:
    """The report that one entry of Guardrails' validator log belongs to, or None."""
    carrier = getattr(log.value_before_validation, "session", None) or log.validation_result
    report = getattr(carrier, "gate_report", None)
    return report if isinstance(report, GateReport) else None
