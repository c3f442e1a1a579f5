"""Numbers: grouping, decimals, magnitudes, percent, currency, ordinals, fractions, signs."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

import regex

from guardrails_plugins.core.values.lexicon import Lexicon
from guardrails_plugins.core.values.model import NONE, Reading
from guardrails_plugins.core.values.scan import Scan
from guardrails_plugins.core.values.units import SIGN_CONTEXT, read_unit

# At most 16 groups: no number has more, and an endless row of groups is read piece by piece.
NUMBER = re.compile(r"\d++(?:[.,']\d++){0,16}+")
_BLANK_GROUPS = re.compile(r"\d{1,3}+(?: \d{3}(?!\d)){1,16}+(?:[.,]\d++)?+")
_GROUPS = re.compile(r"\d{1,3}+(?:([.,'])\d{3})(?:\1\d{3}){0,16}+")
_INDIAN = re.compile(r"\d{1,2}+(?:,\d{2}(?!\d)){1,16}+,\d{3}")
_FRACTION = re.compile(r"(?:(\d{1,4}+) )?(\d{1,3}+)/(\d{1,3}+)(?![\d/])")
_ORDINAL_SUFFIX = regex.compile(r"-?([\p{L}\p{M}º°ª]{1,4})(?![\p{L}\p{M}])")
_BEFORE_POINT = frozenset(" \n([{\"'$€£¥₹+-~≈<>=/|:")
_DENOMINATORS = frozenset({2, 4, 5, 8, 10, 16, 20, 25, 50, 100})
_HAN_CHAIN = re.compile(r"(?:\d++(?:\.\d++)?[亿億万萬千百兆]{1,2})(?:零?\d++(?:\.\d++)?[万萬千百]{0,2})++")
_HAN_POWER = {"百": 2, "千": 3, "万": 4, "萬": 4, "亿": 8, "億": 8, "兆": 12}


class Plain(NamedTuple):
    """A number without unit: its canonical digits and the equivalences that reading them so needs."""

    canonical: str
    needs: frozenset[str]
    surface: str


class Quantity(NamedTuple):
    """A number with what belongs to it: where it starts and ends, and its unit."""

    start: int
    end: int
    plain: tuple[Plain, ...]
    percent: bool
    currency: str
    exponent: int
    ordinal: bool
    suffix_end: int


def read_plain(token: str, lexicon: Lexicon) -> tuple[Plain, ...]:
    """The readings of a digit token; none when it is a list or a version (``1,2,3``, ``1.2.3``)."""
    if token.isdigit():
        return (_plain(token, "", NONE, token),)
    body = token.replace(" ", "'")
    grouped = NONE
    if "'" in body:
        whole = body.replace(",", ".").split(".", 1)[0]
        if not _GROUPS.fullmatch(whole):
            return ()
        grouped, body = frozenset({"thousands"}), body.replace("'", "")
    dots, commas = body.count("."), body.count(",")
    if dots + commas == 0:
        return (_plain(body, "", grouped, token),)
    if dots and commas:
        return _mixed(body, token, grouped)
    separator = "." if dots else ","
    whole, _, rest = body.partition(separator)
    if dots + commas > 1:
        if _GROUPS.fullmatch(body) or _INDIAN.fullmatch(body):
            return (_plain(body.replace(separator, ""), "", frozenset({"thousands"}), token),)
        return ()
    if grouped or len(rest) != 3 or len(whole) > 3 or whole.startswith("0"):
        if len(whole) >= 4 and len(rest) >= 4:
            return ()
        return (_plain(whole, rest, grouped, token),)
    as_decimal = _plain(whole, rest, NONE, token)
    as_group = _plain(whole + rest, "", frozenset({"thousands"}), token)
    if not lexicon.decimal:
        return as_group, as_decimal
    return (as_decimal,) if lexicon.decimal == separator else (as_group,)


def _mixed(body: str, token: str, grouped: frozenset[str]) -> tuple[Plain, ...]:
    last = max(body.rfind("."), body.rfind(","))
    whole, rest = body[:last], body[last + 1 :]
    other = "," if body[last] == "." else "."
    if body[last] in whole or not (_GROUPS.fullmatch(whole) or (other == "," and _INDIAN.fullmatch(whole))):
        return ()
    return (_plain(whole.replace(other, ""), rest, grouped | {"thousands"}, token),)


def _plain(whole: str, rest: str, needs: frozenset[str], surface: str) -> Plain:
    surface = surface.replace(",", ".") if rest and surface.count(",") + surface.count(".") == 1 else surface
    if len(whole) > 1 and whole[0] == "0":
        return Plain(f"={whole}.{rest}" if rest else f"={whole}", needs, surface)
    trimmed = rest.rstrip("0")
    if trimmed != rest:
        needs = needs | {"zeros"}
    return Plain(f"{whole}.{trimmed}" if trimmed else whole, needs, surface)


def shifted(canonical: str, exponent: int) -> str:
    """A canonical number times a power of ten, exactly, by moving its point."""
    if not exponent or canonical.startswith("="):
        return canonical if not exponent else f"{canonical}e{exponent}"
    whole, _, rest = canonical.partition(".")
    rest = rest.ljust(exponent, "0")
    whole, rest = (whole + rest[:exponent]).lstrip("0") or "0", rest[exponent:].rstrip("0")
    return f"{whole}.{rest}" if rest else whole


def read_quantity(scan: Scan, start: int) -> Quantity | None:
    """The number that starts with the digit at `start`, with sign, magnitude, percent and currency."""
    text, lexicon = scan.text, scan.lexicon
    match = _BLANK_GROUPS.match(text, start) if lexicon.blank_groups else None
    match = match or NUMBER.match(text, start)
    assert match is not None  # a digit stands there
    token = match.group()
    if text[start - 1 : start] == "." and token.isdigit() and (start < 2 or text[start - 2] in _BEFORE_POINT):
        return with_unit(scan, start - 1, match.end(), (_plain("0", token, NONE, f"0.{token}"),))  # .5 is 0.5
    plain = read_plain(token, lexicon)
    return with_unit(scan, start, match.end(), plain) if plain else None


def with_unit(scan: Scan, start: int, end: int, plain: tuple[Plain, ...]) -> Quantity:
    """A number at ``[start, end)`` with what belongs to it."""
    unit = read_unit(scan, start, end)
    ordinal, suffix_end = _ordinal(scan, end) if not unit.exponent else (False, unit.end)
    if unit.half:
        plain = tuple(_and_a_half(p) for p in plain)
    last = max(unit.end, suffix_end)
    return Quantity(unit.begin, last, plain, unit.percent, unit.currency, unit.exponent, ordinal, suffix_end)


def _and_a_half(plain: Plain) -> Plain:
    """``2 and a half``: the half of a whole number is its decimal."""
    if not plain.canonical.isdigit():
        return plain
    return Plain(f"{plain.canonical}.5", plain.needs | {"fraction"}, f"{plain.surface} 1/2")


def _ordinal(scan: Scan, end: int) -> tuple[bool, int]:
    suffix = _ORDINAL_SUFFIX.match(scan.lower, end)
    if suffix is not None and suffix.group(1) in scan.lexicon.ordinal_suffixes:
        return True, suffix.end()
    if scan.text[max(0, end - 12) : end].rstrip("0123456789 ").endswith("第"):
        return True, end
    return False, end


def is_negative(scan: Scan, quantity: Quantity) -> bool:
    """Whether a minus stands before it: behind a blank, a bracket or the start, before a digit or sign."""
    text, start = scan.text, quantity.start
    if text[start : start + 1] == "-":
        return True
    return start > 0 and text[start - 1] == "-" and SIGN_CONTEXT.search(text, max(0, start - 2), start) is not None


def quantity_readings(q: Quantity, *, negative: bool, extra: frozenset[str] = NONE, tag: str = "") -> list[Reading]:
    """The readings of a quantity; a percentage also reads as one only where it says so."""
    readings = []
    sign = "-" if negative else ""
    for plain in q.plain:
        needs = plain.needs | extra
        if q.exponent:
            needs |= {"magnitude"}
        if q.ordinal:
            needs |= {"ordinal"}
        mark = f"e{q.exponent}" if q.exponent else "o" if q.ordinal else ""
        surface = f"{sign}{plain.surface}{mark}{tag}"
        key = sign + shifted(plain.canonical, q.exponent)
        readings.append(Reading(f"%:{key}" if q.percent else f"n:{key}", surface, needs, q.currency))
    return readings


def read_fraction(text: str, start: int) -> tuple[Plain | Reading, int] | None:
    """``1/2``, ``2 1/2`` (``½`` folds to the first): a number where the denominator allows, else a value as written."""
    match = _FRACTION.match(text, start)
    if match is None:
        return None
    whole, top, bottom = match.groups()
    surface = match.group()
    if int(bottom) not in _DENOMINATORS or int(top) >= int(bottom):
        return (Reading(f"f:{int(top)}/{int(bottom)}", surface), match.end()) if whole is None else None
    value = Decimal(int(whole or 0)) + Decimal(int(top)) / Decimal(int(bottom))
    return Plain(f"{value.normalize():f}", frozenset({"fraction"}), surface), match.end()


def read_han_chain(text: str, start: int) -> tuple[Plain, int] | None:
    """``1亿2000万``, ``3万5千``: parts of one number."""
    match = _HAN_CHAIN.match(text, start)
    if match is None or len(match.group()) > 40:
        return None
    total = Decimal(0)
    for digits, powers in regex.findall(r"(\d++(?:\.\d++)?)([亿億万萬千百兆]*+)", match.group()):
        total += Decimal(digits).scaleb(sum(_HAN_POWER[p] for p in powers))
    return Plain(f"{total.normalize():f}", frozenset({"magnitude"}), match.group()), match.end()
