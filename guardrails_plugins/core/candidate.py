"""A candidate for a boundary, and the words and letters around it that the rules ask for."""

from __future__ import annotations

import re
from dataclasses import dataclass

import regex

from guardrails_plugins.core.citations import BLANK_CHARS
from guardrails_plugins.core.lexicon import Lexicon
from guardrails_plugins.core.sentence import Rule

WORD_LOOKAHEAD = 32
"""Code points of the next word that are looked at, at most (SPEC 0.7)."""
ABBREVIATION_LOOKBACK = 32
"""Code points before a dot in which an abbreviation can stand."""

_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]++(?:['’\-‐‑\u200c][\p{L}\p{M}\p{N}]++)*+")
_SKIPPED = re.compile(r"[*_\"'“”„«»‘’‹›(\[（「『¿¡]*+")
_BEFORE_DOT = regex.compile(r"(?r)[\p{L}\p{M}\p{N}.'’\-‐‑/&\u200c\u200e\u200f]*+")


@dataclass(slots=True)
class Candidate:
    """A run of terminators and its surroundings; positions lie in `text`.

    `first`: the sentence's first character; `body`: the first one behind a list marker;
    `start`: the run's first terminator; `run`: the terminators; `closers`: what closes behind
    them; `next`: the first character that is neither whitespace nor marker; `marked`: markers
    follow the run; `newlines`: a line break stands between the run and `next` (two always end it).
    """

    text: str
    first: int
    body: int
    start: int
    run: str
    closers: str
    next: int
    marked: bool
    newlines: bool
    lexicon: Lexicon
    rule: Rule = Rule.TERMINATOR


def next_word(c: Candidate) -> str | None:
    """The word that begins behind the whitespace (quotes and emphasis skipped); None while it may go on."""
    skipped = _SKIPPED.match(c.text, c.next, c.next + WORD_LOOKAHEAD)
    start = skipped.end() if skipped is not None else c.next
    limit = c.next + WORD_LOOKAHEAD
    found = _WORD.match(c.text, start, limit)
    end = found.end() if found is not None else start
    if end >= len(c.text) and end < limit:
        return None
    # An inner apostrophe or hyphen may still turn out to be inner.
    if end + 1 >= len(c.text) and end < limit and c.text[end] in "'’-‐‑\u200c":
        return None
    return found.group() if found is not None else ""


def token_before(text: str, first: int, dot: int) -> str:
    """The word that ends with the dot at `dot`, dot included."""
    found = _BEFORE_DOT.match(text, max(first, dot - ABBREVIATION_LOOKBACK), dot)
    start = found.start() if found is not None else dot
    return text[start : dot + 1].lstrip("'’-‐‑/&")


def longest_abbreviation(c: Candidate, token: str) -> str:
    """The token with the words before it, where together they are one listed abbreviation (``и т. д.``)."""
    known = c.lexicon
    start = c.start + 1 - len(token)
    before = c.text[max(c.first, start - ABBREVIATION_LOOKBACK) : start].replace("\u00a0", " ").replace("\u202f", " ")
    parts = before.rstrip(" ").rsplit(" ", 3) if before.endswith(" ") else []
    for count in range(len(parts), 0, -1):
        whole = " ".join([*parts[-count:], token]).lstrip('(«"“„[*_')
        if whole in known.never_final or whole in known.may_end or whole in known.before_number:
            return whole
    return token


def opening(c: Candidate) -> str:
    """The sentence's first character behind a list marker, blanks and emphasis."""
    return c.text[c.body : c.body + WORD_LOOKAHEAD].lstrip(BLANK_CHARS + "*_")[:1]


def first_letter(c: Candidate) -> str | None:
    """The character behind the quotes and emphasis at `next`; None while it has not arrived, "" behind too many."""
    skipped = _SKIPPED.match(c.text, c.next, c.next + WORD_LOOKAHEAD)
    at = skipped.end() if skipped is not None else c.next
    if at >= c.next + WORD_LOOKAHEAD:
        return ""
    return c.text[at] if at < len(c.text) else None
