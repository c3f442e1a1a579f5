"""A number that stands alone among words: most values of most answers, and the quick way to read them."""

from __future__ import annotations

import re

import regex

from guardrails_plugins.core.sentence import Span
from guardrails_plugins.core.values.lexicon import FIRST_EAST_ASIAN
from guardrails_plugins.core.values.model import Reading, Value
from guardrails_plugins.core.values.numbers import NUMBER, read_plain
from guardrails_plugins.core.values.scan import Scan

_RUN = re.compile(r"[^\W\d_]++")
_NOUN = regex.compile(r"[ -]?(\p{Han}|[\p{L}\p{M}']{2,})")
_OPENING = "([\"'"
_CLOSING = frozenset(",;:!?)]\"'")
_AT_END = ".!?…)]\"'*_"
_YEAR_SIGN = "年"


def read_alone(scan: Scan, start: int) -> Value | None:
    """The number at `start` when nothing around it can change how it is read, else None.

    A blank and a word stand before it, punctuation or a blank and a word behind it, and
    neither word is a month, unit, currency, joiner or other word of `Lexicon.attached`.
    """
    text, attached = scan.text, scan.lexicon.attached
    if not start:
        return None
    if text[start - 1] != " ":
        return _read_among_ideographs(scan, start) if text[start - 1] >= FIRST_EAST_ASIAN else None
    if start < 2:
        return None
    match = NUMBER.match(text, start)
    assert match is not None
    end, size = match.end(), len(text)
    if end < size:
        following = text[end]
        if following == " ":
            word = _RUN.match(scan.lower, end + 1)
            if word is None or word.group() in attached or text[end + 1] >= FIRST_EAST_ASIAN:
                return None
        elif following == "." or following == "…":
            if text[end:].strip(_AT_END):
                return None
        elif following not in _CLOSING or not (end + 1 == size or text[end + 1] == " "):
            return None
    before = scan.lower[scan.lower.rfind(" ", 0, start - 1) + 1 : start - 1].lstrip(_OPENING)
    if not before.isalpha() or before in attached or before[-1] >= FIRST_EAST_ASIAN:
        return None
    return _number(scan, start, end)


def _read_among_ideographs(scan: Scan, start: int) -> Value | None:
    """``阅览室有116把椅子``: neither the ideograph before nor the one behind can belong to a number."""
    text, edges = scan.text, scan.lexicon.edges
    before = text[start - 1]
    if before in edges or not before.isalpha():
        return None
    match = NUMBER.match(text, start)
    assert match is not None
    end = match.end()
    following = text[end : end + 2]
    if following < FIRST_EAST_ASIAN or following[0] in edges:
        return None
    if following[0] == _YEAR_SIGN:  # a month may follow a year
        if len(following) < 2 or following[1] == " " or following[1].isdigit():
            return None
    elif not following[0].isalpha():
        return None
    return _number(scan, start, end)


def _number(scan: Scan, start: int, end: int) -> Value | None:
    text = scan.text
    plain = read_plain(text[start:end], scan.lexicon)
    if not plain:
        return None
    readings = tuple([Reading(f"n:{p.canonical}", p.surface, p.needs) for p in plain])
    return Value("number", Span(start, end), readings, noun_after(text, end), len(plain[0].canonical) == 1)


def noun_after(text: str, end: int) -> str:
    """The word behind a number that ends at `end`, folded; "" when none follows."""
    following = text[end : end + 1]
    if not following or following in ".,;:)":
        return ""
    match = _NOUN.match(text, end, end + 40)
    return noun_stem(match.group(1)) if match is not None else ""


def noun_stem(word: str) -> str:
    """A counted noun without the plural ending that most of the ten languages add in writing."""
    word = word.casefold()
    return word[:-1] if len(word) > 3 and word.endswith("s") else word
