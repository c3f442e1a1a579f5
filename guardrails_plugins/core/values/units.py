"""What belongs to a number: magnitude, percent and currency, and what may stand between them and it."""

from __future__ import annotations

import re
from typing import NamedTuple

import regex

from guardrails_plugins.core.values.lexicon import Words
from guardrails_plugins.core.values.scan import Scan

_SUFFIX = regex.compile(r" ?([\p{L}\p{M}]{1,5}\.?)(?![\p{L}\p{M}])")
_MONEY = re.compile(r" ?[$€£¥₹₽]")
_MONEY_SUFFIXES = {"k": 3, "K": 3, "m": 6, "M": 6, "b": 9, "B": 9, "bn": 9, "t": 12, "T": 12}
"""Letters that are a magnitude beside a currency sign only (``£20m``): elsewhere ``m`` is a metre."""
_THOUSAND_EUROS = "T"  # in German accounts: T€
SIGN_CONTEXT = re.compile(
    r"(?:^|[\s(\[{:=,;\"'|/$€£¥₹₽<>~≈≤≥→…约約为為是至到达達近、于於在从從比温溫低高仅僅即和或及])-$"
)
"""A hyphen behind one of these is a minus. Chinese sets no blank before it."""
# Between a number and its unit: a plus, what closes around the number, what opens around the unit.
_BETWEEN = re.compile(r"(?:\+|-?(?=[\"')\]]))?[\"')\]]{0,2}(?: ?[\"'\[(])?")
_PERCENT_SIGNS = ("%", "٪", "％", "﹪")


class Unit(NamedTuple):
    """A number's unit: where it begins and ends with it; `half` when "and a half" stands between."""

    begin: int
    end: int
    percent: bool
    currency: str
    exponent: int
    half: bool


def read_unit(scan: Scan, start: int, end: int) -> Unit:
    """The unit of the number at ``[start, end)``."""
    begin, sign = _sign_before(scan, start)
    half = scan.after(end, scan.lexicon.halves)
    at = half[1] if half is not None else end
    exponent, at = _magnitudes(scan, at, money=bool(sign))
    percent, at = _percent(scan, start, at)
    if sign:
        return Unit(begin, at, percent, sign, exponent, half is not None)
    currency, at = _currency_after(scan, begin, at)
    return Unit(begin, at, percent, currency, exponent, half is not None)


def _beyond(scan: Scan, end: int) -> tuple[int, bool] | None:
    """Where a unit may begin behind a filler (``20+ million``, ``20 or so million``, ``20多万``), and
    whether a bracket has to close behind it."""
    filler = scan.after(end, scan.lexicon.fillers)
    if filler is not None:
        return filler[1], False
    match = _BETWEEN.match(scan.text, end)
    if match is None or match.end() == end:
        return None
    return match.end(), match.group()[-1] == "("


def _entry(scan: Scan, at: int, words: Words) -> tuple[str, int] | None:
    """The entry at `at`, or behind a filler there."""
    found = scan.after(at, words)
    if found is not None:
        return found
    beyond = _beyond(scan, at)
    if beyond is None:
        return None
    found = scan.after(beyond[0], words)
    if found is None or (beyond[1] and scan.text[found[1] : found[1] + 1] != ")"):
        return None
    return found[0], found[1] + beyond[1]


def _magnitudes(scan: Scan, end: int, *, money: bool) -> tuple[int, int]:
    exponent = 0
    for _ in range(2):
        found = _entry(scan, end, scan.lexicon.magnitudes)
        if found is not None:
            exponent, end = exponent + int(found[0]), found[1]
            continue
        suffix = _suffix(scan, end, money) or (
            _suffix(scan, end + 1, money) if scan.text[end : end + 1] == "+" else None
        )
        if suffix is None:
            break
        exponent, end = exponent + suffix[0], suffix[1]
    return exponent, end


def _suffix(scan: Scan, end: int, money: bool) -> tuple[int, int] | None:
    suffix = _SUFFIX.match(scan.text, end)
    if suffix is None:
        return None
    word, known = suffix.group(1), scan.lexicon.suffixes
    at_money = _MONEY.match(scan.text, suffix.end()) is not None
    value = known.get(word, known.get(word.rstrip(".")))
    if value is None and at_money and word == _THOUSAND_EUROS:
        value = 3
    if value is None and (money or at_money):
        value = _MONEY_SUFFIXES.get(word.rstrip("."))
    if value is None:
        return None
    if len(word) == 1 and word.isascii() and word != "M" and suffix.group()[0] == " " and not (money or at_money):
        return None
    return value, suffix.end() - (word.endswith(".") and word not in known)


def _percent(scan: Scan, start: int, end: int) -> tuple[bool, int]:
    text = scan.text
    beyond = _beyond(scan, end)
    for at in (end, end + (text[end : end + 1] in (" ", "-", "+")), end if beyond is None else beyond[0]):
        if text[at : at + 1] in _PERCENT_SIGNS:
            return True, at + 1
    found = _entry(scan, end, scan.lexicon.percent)
    if found is not None:
        return True, found[1]
    before = text[max(0, start - 5) : start].rstrip(" ")
    return before.endswith("百分之") or (before.endswith(("%", "٪")) and not before[:-1][-1:].isdigit()), end


def _sign_before(scan: Scan, start: int) -> tuple[int, str]:
    """Where the number begins with its minus and the currency in front, and that currency."""
    begin = start
    if begin and scan.text[begin - 1] == "-" and SIGN_CONTEXT.search(scan.text, max(0, begin - 2), begin):
        begin -= 1
    signs, lower = scan.lexicon.currency_signs, scan.lower
    for gap in (0, 1):
        if gap and lower[begin - 1 : begin] != " ":
            break
        for size in (4, 3, 2, 1):
            at = begin - gap - size
            if (
                at >= 0
                and lower[at : at + size] in signs
                and not (lower[at].isalpha() and at and lower[at - 1].isalpha())
            ):
                code = signs[lower[at : at + size]]
                if at and scan.text[at - 1] == "-":
                    at -= 1
                return at, code
    return begin, ""


def _currency_after(scan: Scan, begin: int, end: int) -> tuple[str, int]:
    found = _entry(scan, end, scan.lexicon.currencies)
    if found is None:
        return "", end
    code, end = found
    if "/" in code:  # one of several: the word in front says which (港币100元)
        front = scan.before(begin, scan.lexicon.currencies)
        code = front[0] if front is not None else code
    return code, end
