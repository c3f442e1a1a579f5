"""Guardrails' result objects with our report on them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from guardrails.actions.filter import Filter
from guardrails.actions.reask import FieldReAsk
from guardrails.actions.refrain import Refrain
from guardrails_ai.types import ErrorSpan, FailResult, PassResult
from pydantic import PrivateAttr

from guardrails_plugins.adapters.guardrails_ai.kinds import REASKS, OnFailKind, message_of
from guardrails_plugins.adapters.guardrails_ai.report import GateReport
from guardrails_plugins.core.outcome import Violation
from guardrails_plugins.core.sentence import Span


class GatePass(PassResult):  # type: ignore[misc]
    """A pass that knows its report; the report is no field, so no log or span writes it."""

    _gate_report: GateReport | None = PrivateAttr(default=None)

    @property
    def gate_report(self) -> GateReport | None:
        """The report of the call, whole text only."""
        return self._gate_report


class GateFail(FailResult):  # type: ignore[misc]
    """A failure that knows its report; its message names rules, never text."""

    _gate_report: GateReport | None = PrivateAttr(default=None)

    @property
    def gate_report(self) -> GateReport | None:
        """The report of the call, whole text only."""
        return self._gate_report


def passed(
    text: str | None, *, override: str | None = None, report: GateReport | None = None, **fields: Any
) -> GatePass:
    """A pass of `text`; `override` replaces it where Guardrails honours that."""
    if override is not None:
        fields["value_override"] = override
    result = GatePass(validated_chunk=text, **fields)
    result._gate_report = report
    return result


def failed(
    chunk: Any,
    fix: Any,
    violations: Iterable[Violation],
    *,
    spans: Iterable[tuple[Span, str]] = (),
    report: GateReport | None = None,
) -> GateFail:
    """A failure whose correction is `fix`, with error spans inside `chunk`."""
    result = GateFail(
        error_message=message_of(v.code for v in violations),
        fix_value=fix,
        validated_chunk=chunk,
        error_spans=[ErrorSpan(start=span.start, end=span.end, reason=code) for span, code in spans],
    )
    result._gate_report = report
    return result


def whole_text_fix(kind: OnFailKind, *, value: str, earlier: str, fixed: str, violations: Iterable[Violation]) -> Any:
    """What stands in place of a whole text that failed.

    `earlier` are the sentences before the failing one, `fixed` the same with the notice. A text
    of which nothing passed is filtered as Guardrails filters; a reask carries only `earlier`.
    """
    if kind is OnFailKind.NOOP:
        return value
    if kind is OnFailKind.FIX:
        return fixed
    if kind in REASKS:
        # A result of its own: one that held the FieldReAsk that holds it could not be written out.
        reason = FailResult(
            error_message=message_of(v.code for v in violations),
            fix_value=fixed if kind is OnFailKind.FIX_REASK else None,
        )
        return FieldReAsk(incorrect_value=earlier, fail_results=[reason])
    if earlier.strip():
        return earlier
    return Filter() if kind is OnFailKind.FILTER else Refrain()
