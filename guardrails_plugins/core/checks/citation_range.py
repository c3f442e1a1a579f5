"""Markers must be well formed and point at a source that exists."""

from __future__ import annotations

from collections.abc import Iterable

from guardrails_plugins.core.checks.base import CheckContext
from guardrails_plugins.core.citations import marker_style
from guardrails_plugins.core.outcome import Code, Violation
from guardrails_plugins.core.sentence import Kind, Sentence, Span

RULE = "citation_range"


def citation_range(sentence: Sentence, context: CheckContext) -> Iterable[Violation]:
    """`citation_out_of_range` for a marker without a source, `citation_malformed` for a broken or
    disguised one. Look-alikes are searched in the shown form, so that a marker removed from
    between two halves cannot leave one behind."""
    if context.policy.citations == "off":
        return ()
    violations: list[Violation] = []
    count = len(context.index)
    for marker in context.markers:
        numbers = marker.numbers
        if not marker.malformed and numbers and numbers[0] >= 1 and numbers[-1] <= count:
            continue
        start = sentence.span.start
        span = Span(start + marker.span[0], start + marker.span[1])
        code = Code.CITATION_MALFORMED if marker.malformed else Code.CITATION_OUT_OF_RANGE
        violations.append(Violation(code, span, rule=RULE))
    posing = marker_style(context.policy.marker).look_alikes(context.shown, code=sentence.kind is Kind.CODE)
    if posing:
        violations += [Violation(Code.CITATION_MALFORMED, context.to_raw(found), rule=RULE) for found in posing]
    return violations
