"""A number that stands alone among words: most values of most answers, and the quick way to read them."""

from __future__ import annotations

import re

import regex

from guardrails_plugins.core.sentence import Span
from guardrails_plugins.core.values.lexicon import FIRST_EAST_ASIAN, JOINERS
from guardrails_plugins.core.values.model import Reading, Value
from guardrails_plugins.core.values.numbers import NUMBER, read_plain
from guardrails_plugins.core.values.scan import Scan

_RUN = re.compile(r"[^\W\d_]++")
_NOUN = regex.compile(r"[ -]?(\p{Han}|[\p{L}\p{M}']{2,})")
_OPENING = "([\"'"
_CLOSING = frozenset(",;:!?)]\"'")
_WORD_ENDS = frozenset(" ,.;:!?)")
NOUN_CHARS = 40
"""Code points behind a number in which its noun is looked for."""
_AT_END = ".!?…)]\"'*_"
_YEAR_SIGN = "年"


def read_alone(scan: Scan, start: int) -> Value | None:
    """The number at `start` when nothing around it can change how it is read, else None.

    A blank and a word stand before it, punctuation or a blank and a word behind it, and
    neither word is a month, unit, currency or other word of `Lexicon.attached`, nor joins it to
    another number.
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
            if word is None or text[end + 1] >= FIRST_EAST_ASIAN:
                return None
            after = word.group()
            if after in attached or after in JOINERS:
                return None
        elif following == "." or following == "…":
            if text[end:].strip(_AT_END):
                return None
        elif following not in _CLOSING or not (end + 1 == size or text[end + 1] == " "):
            return None
    blank = scan.lower.rfind(" ", 0, start - 1)
    before = scan.lower[blank + 1 : start - 1].lstrip(_OPENING)
    if not before.isalpha() or before in attached or before[-1] >= FIRST_EAST_ASIAN:
        return None
    if before in JOINERS and blank > 0 and not text[blank - 1].isalpha():
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
    token = text[start:end]
    if token.isdigit() and token[0] != "0":
        return Value(
            "number", Span(start, end), (Reading("n:" + token, token),), noun_after(text, end), end - start == 1
        )
    plain = read_plain(token, scan.lexicon)
    if not plain or (scan.lexicon.decimal == "," and "." in token):  # 18.00 may be a time
        return None
    readings = tuple([Reading(f"n:{p.canonical}", p.surface, p.needs) for p in plain])
    return Value("number", Span(start, end), readings, noun_after(text, end), len(plain[0].canonical) == 1)


def noun_after(text: str, end: int) -> str:
    """The word behind a number that ends at `end`, folded; "" when none follows."""
    following = text[end : end + 1]
    if not following or following in ".,;:)":
        return ""
    if following == " ":
        # A word that a blank or punctuation follows holds no mark: the quick pattern reads all of it.
        word = _RUN.match(text, end + 1, end + NOUN_CHARS)
        if word is not None:
            last = word.end()
            run = word.group()
            if last - end > 2 and text[last : last + 1] in _WORD_ENDS and run[0] < FIRST_EAST_ASIAN and run.isalpha():
                return noun_stem(run)
    match = _NOUN.match(text, end, end + NOUN_CHARS)
    return noun_stem(match.group(1)) if match is not None else ""


def noun_stem(word: str) -> str:
    """A counted noun without the plural ending that most of the ten languages add in writing."""
    word = word.casefold()
    return word[:-1] if len(word) > 3 and word.endswith("s") else word
