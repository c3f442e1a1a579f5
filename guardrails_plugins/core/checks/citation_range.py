"""Markers must be well formed and point at a source that exists."""

from __future__ import annotations

from collections.abc import Iterable

from guardrails_plugins.core.checks.base import CheckContext
from guardrails_plugins.core.citations import marker_style
from guardrails_plugins.core.outcome import Code, Violation
from guardrails_plugins.core.sentence import Sentence, Span

RULE = "citation_range"


def citation_range(sentence: Sentence, context: CheckContext) -> Iterable[Violation]:
    """`citation_out_of_range` for a marker without a source, `citation_malformed` for a broken or
    disguised one. Look-alikes are searched in the shown form, so that a marker removed from
    between two halves cannot leave one behind."""
    if context.policy.citations == "off":
        return ()
    violations: list[Violation] = []
    start, count = sentence.span.start, len(context.index)
    for marker in context.markers:
        span = Span(start + marker.span[0], start + marker.span[1])
        if marker.malformed:
            violations.append(Violation(Code.CITATION_MALFORMED, span, rule=RULE))
        elif not marker.numbers or marker.numbers[0] < 1 or marker.numbers[-1] > count:
            violations.append(Violation(Code.CITATION_OUT_OF_RANGE, span, rule=RULE))
    posing = marker_style(context.policy.marker).look_alikes(context.shown)
    violations += [Violation(Code.CITATION_MALFORMED, context.to_raw(found), rule=RULE) for found in posing]
    return violations
