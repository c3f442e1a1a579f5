"""Every value must stand in a source that the sentence cites."""

from __future__ import annotations

from collections.abc import Iterator

from guardrails_plugins.core.checks.base import CheckContext
from guardrails_plugins.core.outcome import Code, Violation
from guardrails_plugins.core.sentence import Sentence

RULE = "verbatim_support"


def verbatim_support(sentence: Sentence, context: CheckContext) -> Iterator[Violation]:
    """`value_unsupported` for a value found nowhere, `value_miscited` for one that only a source
    holds which the sentence does not cite."""
    values = context.values
    if not values:
        return
    policy = context.policy
    cited: frozenset[int] | None = context.cited
    if not cited:
        if policy.citations == "required" and _stops_already(context):
            return
        cited = None
    with_noun = policy.short_numbers == "with_noun"
    for value in values:
        supported, elsewhere = context.index.support(
            value, cited, equivalences=policy.equivalences, with_noun=with_noun
        )
        if supported or _in_question(value, context):
            continue
        code = Code.VALUE_MISCITED if elsewhere else Code.VALUE_UNSUPPORTED
        yield Violation(code, context.to_raw(value.span), value.kind, RULE, elsewhere)


def _stops_already(context: CheckContext) -> bool:
    """Without a source to look in, the citation violation says it all, if it stops the sentence.

    Where the policy only flags it, values are judged against all sources instead, so that
    flagging one code never lets an invented value through under another.
    """
    policy = context.policy
    if not context.markers:
        return policy.stops(Code.CITATION_MISSING)
    malformed = any(m.malformed for m in context.markers)
    return policy.stops(Code.CITATION_MALFORMED if malformed else Code.CITATION_OUT_OF_RANGE)


def _in_question(value: object, context: CheckContext) -> bool:
    if context.question is None:
        return False
    supported, _ = context.question.support(value, None, equivalences=context.policy.equivalences)  # type: ignore[arg-type]
    return supported
