"""Whole texts: `guard.validate`, `guard.parse`, calls without streaming, fields of a structured output."""

from __future__ import annotations

from typing import Any

from guardrails_ai.types import ValidationResult

from guardrails_plugins.adapters.guardrails_ai.correction import corrected, log_failure, withhold
from guardrails_plugins.adapters.guardrails_ai.kinds import OnFailKind, with_notice
from guardrails_plugins.adapters.guardrails_ai.metadata import Request
from guardrails_plugins.adapters.guardrails_ai.report import GateReport
from guardrails_plugins.adapters.guardrails_ai.results import failed, passed, whole_text_fix
from guardrails_plugins.adapters.guardrails_ai.session import Settings
from guardrails_plugins.core.outcome import GateOutcome, State, Violation
from guardrails_plugins.core.whole import check_text


def judge_whole(value: Any, request: Request, settings: Settings) -> ValidationResult:
    """The result for a whole text. Raises `SentenceWithheldError` under ``exception``."""
    outcome = check_text(
        value, request.sources, language=request.language, policy=settings.gate_policy, question=request.question
    )
    blocking = settings.blocking(outcome.violations)
    report = _report(outcome, passes=not blocking and outcome.state not in (State.WITHHELD, State.FAILED))
    if outcome.state is State.REFUSED:
        # No violation, but the token is never shown, and under the asynchronous service a pass changes nothing.
        return failed(value, outcome.text or outcome.notice or "", (), report=report)
    if report.passed:
        return passed(value, override=outcome.text, report=report)
    log_failure(blocking, outcome.withheld_chars)
    if settings.kind is OnFailKind.EXCEPTION:
        withhold(blocking, outcome.state.value, outcome.notice)
    if settings.kind is OnFailKind.CUSTOM:
        fix: Any = _with_corrections(outcome, settings)
    else:
        fixed = outcome.text + with_notice(outcome.text, outcome.notice)
        fix = whole_text_fix(settings.kind, value=value, earlier=outcome.text, fixed=fixed, violations=blocking)
    spans = tuple((v.span, v.code) for v in blocking)
    return failed(value, fix, blocking, spans=spans, report=report)


def _report(outcome: GateOutcome, *, passes: bool) -> GateReport:
    return GateReport(
        passed=passes,
        state=outcome.state,
        violations=outcome.violations,
        notice=outcome.notice,
        released_chars=len(outcome.text),
        withheld_chars=outcome.withheld_chars,
    )


def _with_corrections(outcome: GateOutcome, settings: Settings) -> str:
    """The text with the callable's word in place of each failing sentence."""
    parts: list[str] = []
    for sentence in outcome.sentences:
        blocking = settings.blocking(sentence.violations)
        if not blocking:
            parts.append(sentence.text)
            continue
        text, ends = _corrected(sentence.text, blocking, settings)
        parts.append(text)
        if ends:
            return "".join(parts)
    if outcome.stopped:
        parts.append(_corrected("", settings.blocking(outcome.violations), settings)[0])
    return "".join(parts)


def _corrected(text: str, violations: tuple[Violation, ...], settings: Settings) -> tuple[str, bool]:
    instead, ends = corrected(violations, settings)
    return (text[: len(text) - len(text.lstrip())] + instead if instead else ""), ends
