"""A sentence that states something needs a marker."""

from __future__ import annotations

from collections.abc import Iterable

import regex

from guardrails_plugins.core.checks.base import CheckContext
from guardrails_plugins.core.outcome import Code, Violation
from guardrails_plugins.core.sentence import Kind, Sentence

RULE = "citation_required"

# A word (SPEC, preamble): letters and marks with inner apostrophes, hyphens and ZWNJ. Han is
# counted by ideograph, since no blanks stand between its words.
_WORD = regex.compile(r"[\p{L}\p{M}--\p{Han}]++(?:['’\-‐‑\u200c][\p{L}\p{M}--\p{Han}]++)*+", regex.V1)
_HAN = regex.compile(r"\p{Han}")
HAN_PER_WORDS = (3, 2)
"""Three ideographs count as two words."""


def citation_required(sentence: Sentence, context: CheckContext) -> Iterable[Violation]:
    """`citation_missing` for a sentence of `min_words` or more, or with a value, without a marker."""
    return (Violation(Code.CITATION_MISSING, sentence.span, rule=RULE),) if needs_marker(sentence, context) else ()


def needs_marker(sentence: Sentence, context: CheckContext) -> bool:
    """Whether the sentence lacks a marker that the policy asks for."""
    if context.markers or context.borrowed:
        return False
    policy = context.policy
    if policy.citations != "required":
        return False
    if context.values:
        return True
    if sentence.kind is Kind.HEADING and policy.headings:
        return False
    return has_words(context.shown, policy.min_words, skip=sentence.item_prefix)


def has_words(text: str, count: int, *, skip: int = 0) -> bool:
    """Whether the text behind its first `skip` characters has `count` words or more."""
    if len(text) - skip < count:
        return False
    ideographs, words = HAN_PER_WORDS
    total = len(_WORD.findall(text, skip)) * ideographs
    if not text.isascii():
        total += len(_HAN.findall(text, skip)) * words
    return total >= count * ideographs
