"""Identifiers and phone numbers: tokens that match whole."""

from __future__ import annotations

import re

import regex

# Cased scripts only: in the others letters are written on to a number (``و2019``, ``2019年``).
_CASED = r"[\p{Latin}\p{Greek}\p{Cyrillic}]"
_PART = r"[\p{Latin}\p{Greek}\p{Cyrillic}\p{M}\d]"
IDENTIFIER = regex.compile(rf"{_PART}++(?:[-_.']{_PART}++)*+")
_LEFT = regex.compile(rf"(?r)(?:{_PART}++[-_.]?)*+")
_PHONE = re.compile(
    r"\+?\(?\d{1,4}\)?(?:(?: - |[ .\-/])\(?\d{1,5}\)?){2,6}(?!\d)"
    r"|\(\d{2,5}\)[ -]?\d{2,4}(?:[ -]\d{2,5}){0,4}(?!\d)"
    r"|\+\d{7,15}(?!\d)|\d{3}-\d{4}(?![\d-])"
    # an area code with its zero, then the number; ten digits in two halves, as in India
    r"|0\d{1,4}(?:[ /]|-| - )\d{5,9}(?![\d-])|0\d{1,4}-\d{4,9}(?![\d-])|[6-9]\d{4} \d{5}(?![ \d])"
)
_STARTS_WITH_WORD = regex.compile(rf"{_CASED}[\p{{L}}\p{{M}}]*+-\d")
_GLUED = re.compile(r"\d++(?:[·\\_]\d++)++(?:[.,]\d++){0,16}+|\d++(?:[.,]\d++){0,16}+ ?[‰‱]")
# Digits with a letter inside that looks like one, or as a machine writes numbers: one token.
_LETTER_INSIDE = regex.compile(r"0x[0-9a-f]++(?![\p{L}\d])|\d++[oliıeοоіӏ]\d++(?![\p{L}\d])")
_UNITS = frozenset(
    {"km", "m", "cm", "mm", "nm", "μm", "ft", "in", "mi", "kg", "g", "mg", "lb", "lbs", "oz", "l", "ml", "gb", "mb",
     "kb", "tb", "hz", "khz", "mhz", "ghz", "v", "kv", "w", "kw", "mw", "gw", "kwh", "mwh", "c", "f", "k", "ma",
     "mah", "psi", "bpm", "mph", "kph", "rpm", "db", "cal", "kcal", "pm", "am", "px", "dpi", "fps"}
)  # fmt: skip
_DIGITS_FIRST = regex.compile(r"\d++(?:[.,]\d++)*+-?([\p{L}\p{M}]++)(.*)")
_HAS_CASED = regex.compile(_CASED)
_DIGITS = re.compile(r"[0-9]++")
_BLANK = ("", " ", "\n")
_JOINERS = frozenset("-_.'")
MIN_PHONE_DIGITS = 7
MAX_PHONE_DIGITS = 15


def glued_end(text: str, start: int) -> int:
    """The end of digits that other signs join to one token (``4·5``, ``1_200``, ``2o19``, ``5‰``); 0 for others."""
    if _HAS_CASED.match(text[start - 1 : start]) is not None:
        return 0
    match = _GLUED.match(text, start) or _LETTER_INSIDE.match(text, start)
    return match.end() if match is not None else 0


def identifier_span(text: str, start: int) -> tuple[int, int] | None:
    """The span of the identifier around the digit at `start`; None when the digits are a number.

    An identifier has letters of a cased script and begins with one or holds a capital
    (``COVID-19``, ``2D``, ``v0.24.1``); ``10km``, ``20-minute`` and ``mid-2019`` are numbers.
    """
    before = text[start - 1 : start]
    digits = _DIGITS.match(text, start)
    assert digits is not None
    after = text[digits.end() : digits.end() + 1]
    if before in _BLANK and not (after.isalpha() or after in _JOINERS):
        return None
    joined = before.isalpha() or (before in ("-", "_", ".") and start > 1 and text[start - 2].isalnum())
    begin = start
    if joined:
        left = _LEFT.match(text, max(0, start - 40), start)
        begin = left.start() if left is not None else start
    match = IDENTIFIER.match(text, begin, start + 64)
    assert match is not None  # a digit stands there
    token = match.group()
    if _HAS_CASED.search(token) is None:
        return None
    end = match.end()
    return (begin, end) if _is_identifier(token, text, begin) else None


def _is_identifier(token: str, text: str, begin: int) -> bool:
    head = token[0]
    if head.isdigit():
        # Digits first: an identifier only when a capital is joined to them and they are no quantity.
        match = _DIGITS_FIRST.match(token)
        if match is None:
            return any(c.isalpha() for c in token) and any(c.isupper() for c in token)
        letters, rest = match.groups()
        return (
            any(c.isupper() for c in letters) and letters.lower() not in _UNITS and "-" not in token[: match.start(1)]
        ) or (any(c.isdigit() for c in rest) and any(c.isupper() for c in letters))
    parts = re.split(r"[-_./]", token, maxsplit=1)
    word = parts[0]
    if any(c.isdigit() for c in word):
        return _HAS_CASED.match(word) is not None
    # A word joined to digits by a hyphen: lower case is a word (mid-2019), a capital a name (COVID-19).
    return word != word.lower() and not (word.istitle() and len(word) > 1 and _is_prefix(word))


def _is_prefix(word: str) -> bool:
    return word.lower() in (
        "mid",
        "pre",
        "post",
        "non",
        "early",
        "late",
        "under",
        "over",
        "sub",
        "re",
        "anti",
        "ex",
        "around",
    )


def identifier_number_start(text: str, begin: int, end: int) -> bool:
    """Whether a capital word joined to digits may only be a word at the start of its sentence."""
    return (
        begin == 0 and _STARTS_WITH_WORD.match(text, begin, end) is not None and text[begin + 1 : begin + 2].islower()
    )


def phone_span(text: str, start: int) -> tuple[int, int, str] | None:
    """The span and digits of the phone number (or other long digit groups) that holds the digit at `start`."""
    begin = start
    while begin and text[begin - 1] in "+(" and start - begin < 2:
        begin -= 1
    for at in dict.fromkeys((begin, start)):
        match = _PHONE.match(text, at)
        if match is None:
            continue
        token = match.group()
        if token.count(")") > token.count("("):
            token = token[: token.index(")")]
        digits = re.sub(r"\D", "", token)
        groups = re.findall(r"\d+", token)
        if MIN_PHONE_DIGITS <= len(digits) <= MAX_PHONE_DIGITS and _is_phone(token, groups):
            return match.start(), match.start() + len(token), digits
    return None


def _is_phone(token: str, groups: list[str]) -> bool:
    if token.startswith("+") or "(" in token or token.count("-") >= 2:
        return True
    if [len(g) for g in groups] == [3, 3, 4]:
        return True
    if len(groups) == 2:
        if groups[0][0] == "0" and len(groups[1]) >= (4 if "-" in token else 5):
            return True
        return [len(g) for g in groups] in ([3, 4], [5, 5]) and ("-" in token or len(groups[0]) == 5)
    if len(groups) >= 4 and all(len(g) == 2 for g in groups):
        return True  # 01.23.45.67.89
    # Groups of three with blanks or dots are a number with thousands; a phone has other groups.
    return (
        len(groups) > 2
        and "." not in token.replace(". ", "")
        and "/" not in token
        and not all(len(g) == 3 for g in groups[1:])
    )
