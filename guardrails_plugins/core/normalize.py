"""The matching form: for comparing only, never for release (SPEC section 2).

Steps, in order: zero-width and bidi controls go; superscripts and fractions are kept apart
from the digits beside them; NFKC; every decimal digit becomes ASCII; Arabic and Persian
letter shapes, dashes and quotes are folded; emphasis and tags between digits go; case is folded.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable

import regex

_CONTROLS = "\\x00-\\x08\\x0e-\\x1b\\x7f"
_ZERO_WIDTH = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200d\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff"
    "\ufe00-\ufe0f\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff" + _CONTROLS
)
"""Controls, and what Unicode has as Default_Ignorable_Code_Point (UAX #44): nothing of it is seen."""
_ARABIC_MARKS = "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0640"
_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉"
_FRACTIONS = "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞⅟↉"
# Digits in circles of which NFKC knows no plain form (UCD: Numeric_Value alone).
_CIRCLED = "\u24eb-\u24ff\u2776-\u2793"
_THOUSANDS_BLANK = "\u00a0\u2007\u2009\u202f"

# Anything in here makes folding change lengths or look at neighbours; all else is one to one. The
# second one takes all that could be a mark or emphasis behind a digit, known punctuation apart.
_SPECIAL = re.compile(
    f"[{_ZERO_WIDTH}{_ARABIC_MARKS}{_SUPERSCRIPTS}{_SUBSCRIPTS}{_FRACTIONS}{_CIRCLED}{_THOUSANDS_BLANK}\u066c\u200c]"
)
_BEHIND_DIGIT = re.compile(
    r"\d(?:[*_~`<]|[^\w\x00-\x7f\xa0-\xbf\u060c\u061b\u066a-\u066c\u06d4\u0964\u2010-\u205e\u3000-\u303f\uff00-\uffee])"
)
_ASCII_SPECIAL = re.compile(r"[0-9][*_~`<]")
_ASCII_CONTROL = re.compile(rf"[{_CONTROLS}]")

# One pass over what needs a look at its neighbours. Named groups say what becomes of a match.
_STEP = regex.compile(
    rf"(?P<drop>(?<=\p{{Nd}})[\p{{M}}{_ZERO_WIDTH}]++|[{_ZERO_WIDTH}{_ARABIC_MARKS}\u066c]++|(?<=\p{{Nd}})\u200c++(?=\p{{Nd}}))"
    r"|(?P<space>\u200c++)"
    rf"|(?P<group>(?<=\p{{Nd}})[{_THOUSANDS_BLANK}](?=\p{{Nd}}{{3}}(?!\p{{Nd}})))"
    rf"|(?P<circled>[{_CIRCLED}])"
    rf"|(?P<fraction>[{_FRACTIONS}])"
    rf"|(?P<power>[{_SUPERSCRIPTS}]++)"
    rf"|(?P<index>[{_SUBSCRIPTS}]++)"
)
_BETWEEN_DIGITS = regex.compile(
    r"(?<=[0-9])(?:(?:\*{2,3}|__|~~|`|</?[A-Za-z]{1,8}>)++|(?P<mark>[*_])(?:(?=[0-9]++(?P=mark))|(?<=(?P=mark)[0-9]{1,20}(?P=mark))))(?=[0-9])"
    # what closes such emphasis behind the digits
    r"|(?<=[0-9](?:\*{1,3}|_{1,2}|~~|`|<[A-Za-z]{1,8}>)[0-9]{1,20})(?:\*{1,3}|_{1,2}|~~|`|</[A-Za-z]{1,8}>)"
)

_FOLDED = {
    # Full-width forms, as NFKC has them: one character each. Those that fold further stand below.
    **{chr(c): chr(c - 0xFEE0) for c in range(0xFF01, 0xFF5F)},
    "｀": "'",
    "ي": "ی", "ى": "ی", "ك": "ک", "ة": "ه", "ۀ": "ه", "أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا",
    "٫": ".", "⁄": "/", "∕": "/",
    **dict.fromkeys("‐‑‒–—―−﹣－", "-"),
    **dict.fromkeys("‘’‚‛′`´ʼ＇", "'"),
    **dict.fromkeys("“”„‟«»‹›″＂「」『』", '"'),
}  # fmt: skip


def _digits() -> dict[str, str]:
    return {c: str(unicodedata.decimal(c)) for c in map(chr, _decimal_points())}


def _decimal_points() -> list[int]:
    """Code points of category Nd: they come in runs of ten that begin with a zero (UAX #44)."""
    # Every zero has an even code point.
    starts = (cp for cp in range(0x660, min(sys.maxunicode, 0x1FBFF), 2) if unicodedata.decimal(chr(cp), -1) == 0)
    return [cp + i for cp in starts for i in range(10)]


_CHARS = _FOLDED | _digits()
_TABLE = str.maketrans(_CHARS)
# Beyond the BMP all characters are taken: a class of single ones there is searched one by one.
_CHANGES = re.compile("[" + "".join(re.escape(chr(c)) for c in _TABLE if c <= 0xFFFF) + "\U00010000-\U0010ffff]")


def _change(match: re.Match[str]) -> str:
    char = match.group()
    return _CHARS.get(char, char)


def normalize(text: str) -> str:
    """The matching form of a text; idempotent. Used alike for sources and for answers."""
    previous = None
    form = text
    # Case folding can undo a composition; a second pass settles it.
    while form != previous:
        previous, form = form, fold(form)[0].casefold()
        if text.isascii():
            break
    return form


def fold(text: str) -> tuple[str, list[int] | None]:
    """The matching form without case folding, and for each of its characters (and the end) the
    position in `text` that it comes from; None when positions are the same."""
    if text.isascii():
        controls = _ASCII_CONTROL.search(text) is not None
        if not controls and _ASCII_SPECIAL.search(text) is None:
            return text.replace("`", "'") if "`" in text else text, None
        if not controls:
            return _between_digits(text, None)
    if _SPECIAL.search(text) is None and _BEHIND_DIGIT.search(text) is None:
        form = _CHANGES.sub(_change, text)  # few characters change: quicker than to translate all
        if unicodedata.is_normalized("NFKC", form):
            return form, None
    folded, offsets = _fold_parts(text)
    return _between_digits(folded, offsets)


def _fold_parts(text: str) -> tuple[str, list[int] | None]:
    """Fold piece by piece, remembering where each folded character comes from."""
    out: list[str] = []
    offsets: list[int] = []
    position = 0

    def add(piece: str, start: int, end: int) -> None:
        out.append(piece)
        offsets.extend(min(start + i, end - 1) for i in range(len(piece)))

    for match in _STEP.finditer(text):
        _add_plain(text, position, match.start(), add)
        start, position = match.span()
        piece = _replacement(text, match, start, position)
        if piece:
            add(piece, start, position)
    _add_plain(text, position, len(text), add)
    offsets.append(len(text))
    return "".join(out), offsets


def _replacement(text: str, match: regex.Match[str], start: int, end: int) -> str:
    kind = match.lastgroup
    before, after = text[start - 1 : start], text[end : end + 1]
    plain = unicodedata.normalize("NFKC", match.group())
    if kind == "space":
        return " "
    if kind == "group":
        return "'"
    if kind == "circled":
        return f"{unicodedata.numeric(match.group()):.0f}"
    if kind == "fraction":
        return (" " if before.isdecimal() else "") + plain.replace("⁄", "/")
    if kind == "power":
        return ("^" if before.isalnum() or before in (")", "]") else "") + plain + (" " if after.isdecimal() else "")
    if kind == "index":
        return ("^" if before.isdecimal() else "") + plain
    return ""


# Text that NFKC may change only as a whole: a base with its marks, or a run of Hangul jamo.
_CLUSTER = regex.compile(r"\X|.", regex.DOTALL)


def _add_plain(text: str, start: int, end: int, add: Callable[[str, int, int], None]) -> None:
    if start >= end:
        return
    piece = text[start:end].translate(_TABLE)
    if unicodedata.is_normalized("NFKC", piece):
        add(piece, start, end)
        return
    for match in _CLUSTER.finditer(piece):
        folded = unicodedata.normalize("NFKC", match.group()).translate(_TABLE)
        add(folded, start + match.start(), start + match.end())


def _between_digits(text: str, offsets: list[int] | None) -> tuple[str, list[int] | None]:
    cuts = [m.span() for m in _BETWEEN_DIGITS.finditer(text)]
    result = text
    if cuts:
        kept, where, position = [], [], 0
        source = offsets if offsets is not None else list(range(len(text) + 1))
        for start, end in cuts:
            kept.append(text[position:start])
            where.extend(source[position:start])
            position = end
        kept.append(text[position:])
        where.extend(source[position:])
        result, offsets = "".join(kept), where
    return result.replace("`", "'"), offsets
