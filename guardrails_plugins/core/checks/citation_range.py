"""Markers must be well formed and point at a source that exists."""

from __future__ import annotations

from collections.abc import Iterator

from guardrails_plugins.core.checks.base import CheckContext
from guardrails_plugins.core.citations import marker_style
from guardrails_plugins.core.outcome import Code, Violation
from guardrails_plugins.core.sentence import Sentence, Span

RULE = "citation_range"


def citation_range(sentence: Sentence, context: CheckContext) -> Iterator[Violation]:
    """`citation_out_of_range` for a marker without a source, `citation_malformed` for a broken or
    disguised one. Look-alikes are searched in the shown form, so that a marker removed from
    between two halves cannot leave one behind."""
    if context.policy.citations == "off":
        return
    start = sentence.span.start
    for marker in context.markers:
        span = Span(start + marker.span[0], start + marker.span[1])
        if marker.malformed:
            yield Violation(Code.CITATION_MALFORMED, span, rule=RULE)
        elif any(not 1 <= n <= len(context.index) for n in marker.numbers):
            yield Violation(Code.CITATION_OUT_OF_RANGE, span, rule=RULE)
    for found in marker_style(context.policy.marker).look_alikes(context.shown):
        yield Violation(Code.CITATION_MALFORMED, context.to_raw(found), rule=RULE)
