"""Every value must stand in a source that the sentence cites."""

from __future__ import annotations

from collections.abc import Iterable

from guardrails_plugins.core.checks.base import CheckContext
from guardrails_plugins.core.outcome import Code, Violation
from guardrails_plugins.core.sentence import Sentence

RULE = "verbatim_support"


def verbatim_support(sentence: Sentence, context: CheckContext) -> Iterable[Violation]:
    """`value_unsupported` for a value found nowhere, `value_miscited` for one that only a source
    holds which the sentence does not cite."""
    values = context.values
    if not values:
        return ()
    violations: list[Violation] = []
    policy = context.policy
    # Without a marker every source counts only where the policy does not ask for one.
    cited = context.cited if context.cited or policy.citations == "required" else None
    with_noun = policy.short_numbers == "with_noun"
    for value in values:
        supported, elsewhere = context.index.support(
            value, cited, equivalences=policy.equivalences, with_noun=with_noun
        )
        if supported or _in_question(value, context):
            continue
        code = Code.VALUE_MISCITED if elsewhere else Code.VALUE_UNSUPPORTED
        violations.append(Violation(code, context.to_raw(value.span), value.kind, RULE, elsewhere))
    return violations


def _in_question(value: object, context: CheckContext) -> bool:
    if context.question is None:
        return False
    supported, _ = context.question.support(value, None, equivalences=context.policy.equivalences)  # type: ignore[arg-type]
    return supported
