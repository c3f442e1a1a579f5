"""What a failing sentence becomes, by kind: the code of `OUTCOME_TABLE`."""

from __future__ import annotations

import logging
from typing import NoReturn

from guardrails.actions.filter import Filter
from guardrails.actions.reask import ReAsk
from guardrails.actions.refrain import Refrain
from guardrails_ai.types import ValidationResult

from guardrails_plugins.adapters.guardrails_ai.errors import MetadataError, SentenceWithheldError
from guardrails_plugins.adapters.guardrails_ai.kinds import EndStream, OnFailKind, message_of
from guardrails_plugins.adapters.guardrails_ai.results import failed
from guardrails_plugins.adapters.guardrails_ai.session import Failure, Frame, Settings
from guardrails_plugins.core.outcome import Violation

logger = logging.getLogger("guardrails_plugins")


def fail_frame(frame: Frame, failure: Failure, settings: Settings) -> ValidationResult:
    """The result for a frame that failed. Raises `SentenceWithheldError` under ``exception``."""
    if settings.kind is OnFailKind.EXCEPTION:
        report = frame.session.gate_report
        withhold(failure.violations, report.state.value, report.notice)
    if not failure.last:
        log_failure(failure.violations, 0)
    fix = ""
    if settings.kind is OnFailKind.FIX:
        fix = failure.notice or ""
    elif settings.kind is OnFailKind.NOOP:
        fix = str(frame)
    elif settings.kind is OnFailKind.CUSTOM:
        text, ends = corrected(failure.violations, settings)
        fix = failure.lead + text if text else ""
        frame.session.replaced(fix, ends=ends)
    return failed(frame, fix, failure.violations, spans=failure.spans)


def log_failure(violations: tuple[Violation, ...], withheld_chars: int) -> None:
    """One record for a failure that no driver reports (a whole text, a flagged sentence): codes and length."""
    codes = ", ".join(dict.fromkeys(v.code for v in violations))
    logger.warning("withheld or flagged by %s (%d characters withheld)", codes, withheld_chars)


def withhold(violations: tuple[Violation, ...], state: str, notice: str | None) -> NoReturn:
    """Raise what ``on_fail="exception"`` promises; names rules only."""
    message = "Validation failed for field with errors: " + message_of(v.code for v in violations)
    raise SentenceWithheldError(message, violations=violations, state=state, notice=notice) from None


def corrected(violations: tuple[Violation, ...], settings: Settings) -> tuple[str, bool]:
    """The text of the user's callable, and whether it ends the answer.

    It is called once for each failing sentence, with an empty value: the failing text is not
    handed on. `Filter`, `Refrain` and None show nothing. Raises what the callable raises, and
    `MetadataError` when it returns anything else.
    """
    assert settings.correction is not None
    answer = settings.correction("", failed("", None, violations))
    if answer is None:
        return "", False
    if isinstance(answer, (Filter, Refrain)):
        return "", True
    if isinstance(answer, ReAsk) or not isinstance(answer, str):
        raise MetadataError(f"an on_fail callable returns text, EndStream(text) or None, not {type(answer).__name__}")
    return str(answer), isinstance(answer, EndStream)
