"""Where a text without a boundary is cut."""

from __future__ import annotations

import re

import regex

from guardrails_plugins.core.citations import BLANK_CHARS, MAX_MARKER_CHARS, MarkerStyle
from guardrails_plugins.core.marks import LINE_BREAK

OVERRUN = 64
"""Code points by which a token that starts before the bound may overrun it."""
_LOOKBACK = 256
"""Code points before the bound in which a token that stands across it can start."""

_SPACE = re.compile(r"[\s\x1c-\x1f]++")
# The characters of numbers, URLs, addresses and identifiers; scripts without blanks apart.
_RUN = r"[[\w\p{M}.,:/'’@%&=?#~+\-$€£¥₹٫٬]--[\p{Han}\p{Hiragana}\p{Katakana}]]"
_RUN_BEFORE = regex.compile(rf"(?r){_RUN}*+", regex.V1)
_RUN_AFTER = regex.compile(rf"{_RUN}*+", regex.V1)
_TOKEN_SIGN = regex.compile(r"[\p{Nd}@_]|://|www\.")
_HAN_UNIT = regex.compile(r"\p{Han}{1,3}")
_MARKS = regex.compile(r"[\p{M}\u200c\u200d\ufe0f]*+")
_WORD = regex.compile(r"[\p{L}\p{M}]++")
_CURRENCY = regex.compile(r"\p{Sc}")
_CJK_COMMAS = "，、"


def cut_position(
    text: str, first: int, bound: int, style: MarkerStyle, units: frozenset[str] = frozenset()
) -> int | None:
    """The end of the piece, in ``(first, bound + OVERRUN]``; None while what follows could change it.

    The last whitespace before the bound, save one inside a token (a number and its unit, a
    marker; `units` are the words that belong to a number before them); without whitespace
    behind the last CJK comma; else at the bound, or at the end of the token that stands
    across it. Markers directly behind the cut belong to the piece.
    """
    end = _position(text, first, bound, style, units)
    while end is not None and end < bound + OVERRUN:
        if end >= len(text):
            return None
        marker = style.match(text, end)
        if not marker:
            return end
        end = marker if marker > 0 else None
    return end


def _position(text: str, first: int, bound: int, style: MarkerStyle, units: frozenset[str]) -> int | None:
    markers = _markers(text, first, bound, style)
    if markers is None:
        return None
    gaps = [m.span() for m in _SPACE.finditer(text, first, bound + 1) if m.start() > first]
    if gaps and gaps[-1][1] >= bound + 1:
        found = _SPACE.match(text, gaps[-1][0])
        gaps[-1] = (gaps[-1][0], found.end() if found is not None else gaps[-1][1])
        if gaps[-1][1] >= len(text) or style.match(text, gaps[-1][1]) < 0:
            return None
    for start, end in reversed(gaps):
        safe = _is_safe(text, first, start, end, markers, units)
        if safe is None:
            return None
        if safe:
            return start
    if gaps:
        return _past_unit(text, gaps[-1][1], bound, markers)
    comma = max(text.rfind(c, first, bound) for c in _CJK_COMMAS)
    if comma > first:
        return _past(comma + 1, markers)
    return _across(text, bound, markers)


def _past_unit(text: str, gap: int, bound: int, markers: list[tuple[int, int]]) -> int | None:
    """Every blank stands inside a token or behind a leading marker: what follows the last one is kept with it."""
    run = _RUN_AFTER.match(text, gap, bound + OVERRUN)
    end = max(run.end() if run is not None else gap, gap + 1)
    if end <= bound:
        return _across(text, bound, markers)
    return _past(end, markers) if end < len(text) or end == bound + OVERRUN else None


def _markers(text: str, first: int, bound: int, style: MarkerStyle) -> list[tuple[int, int]] | None:
    """The markers near the bound; None while one may still be arriving across it."""
    start = max(first, bound - MAX_MARKER_CHARS)
    for opener in "[［【":
        at = text.rfind(opener, start, bound + 1)
        if at >= 0 and style.match(text, at) < 0:
            return None
    return [(s + first, e + first) for s, e in style.spans(text[first : bound + OVERRUN])]


def _is_safe(
    text: str, first: int, start: int, end: int, markers: list[tuple[int, int]], units: frozenset[str]
) -> bool | None:
    """Whether a cut at this whitespace parts no token and leaves markers with the text before them;
    None while the word behind it may go on."""
    for s, e in markers:
        if (s < end and start < e) or (s == end and LINE_BREAK.search(text, start, end) is None):
            return False
        if e == start and _leads(text, first, s, markers):
            return False  # the blanks behind it go with it
    before, after = text[start - 1], text[end : end + 1]
    if _CURRENCY.match(before):
        return not after.isdecimal()
    if not before.isdecimal():
        return True
    word = _WORD.match(text, end, end + OVERRUN)
    if word is None:
        return not (after.isdecimal() or after in "%٪‰" or _CURRENCY.match(after))
    folded = word.group().casefold()
    if word.end() >= len(text) and any(unit.startswith(folded) for unit in units):
        return None
    return folded not in units


def _leads(text: str, first: int, position: int, markers: list[tuple[int, int]]) -> bool:
    """Whether only markers and blanks stand before a marker on its line."""
    starts = {e: s for s, e in markers}
    while position > first:
        position = first + len(text[first:position].rstrip(BLANK_CHARS))
        if position not in starts:
            break
        position = starts[position]
    return position <= first or text[position - 1] in "\r\n"


def _past(position: int, markers: list[tuple[int, int]]) -> int:
    for start, end in markers:
        if start <= position < end:
            position = end
    return position


def _across(text: str, bound: int, markers: list[tuple[int, int]]) -> int | None:
    """The bound, or the end of what must not be parted there.

    What stands across the bound is a token when its part up to the bound says so (a digit,
    ``@``, ``_``, a scheme); then its end is waited for.
    """
    for start, stop in markers:
        if start < bound < stop:
            return stop
    limit = bound + OVERRUN
    before = _RUN_BEFORE.match(text, max(0, bound - _LOOKBACK), bound)
    start = before.start() if before is not None else bound
    end = bound
    if start < bound and _TOKEN_SIGN.search(text, start, bound + 1):
        run = _RUN_AFTER.match(text, bound, limit)
        end = run.end() if run is not None else bound
        if text[end - 1].isdecimal():
            unit = _HAN_UNIT.match(text, end, limit)
            end = unit.end() if unit is not None else end
    marks = _MARKS.match(text, end, limit)
    end = marks.end() if marks is not None else end
    if end >= limit:
        return bound  # no token is that long: it is a run of one kind of character
    return None if end >= len(text) and end > bound else _past(end, markers)
