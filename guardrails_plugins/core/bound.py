"""Where a text without a boundary is cut."""

from __future__ import annotations

import regex

from guardrails_plugins.core.citations import MarkerStyle

OVERRUN = 64
"""Code points by which a token that starts before the bound may overrun it."""

_SPACE = regex.compile(r"\s++")
_TOKEN = regex.compile(r"[\p{L}\p{M}\p{N}_.,:/@%&=?#~+\-'’€$£¥₹٫٬\u200b-\u200f\u2060\ufeff*]")
_HAN = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")
_CJK_COMMAS = "，、"
_UNIT_SIDE = regex.compile(r"[\p{N}%٪$€£¥₹(（\[［【]")


def cut_position(text: str, first: int, bound: int, style: MarkerStyle) -> int:
    """The end of the piece, in ``(first, bound + OVERRUN]``.

    The last whitespace before the bound, save one inside a token (a number and its unit, a
    marker); without whitespace behind the last CJK comma; else at the bound or at the end of
    the token that stands across it.
    """
    markers = [m.span for m in style.find(text[first : bound + OVERRUN])]
    spans = [(s + first, e + first) for s, e in markers]
    gaps = [m.span() for m in _SPACE.finditer(text, first, bound + 1) if m.start() > first]
    for start, end in reversed(gaps):
        if _is_safe(text, start, end, spans):
            return start
    if not gaps:
        comma = max(text.rfind(c, first, bound) for c in _CJK_COMMAS)
        if comma > first:
            return _past_markers(comma + 1, spans)
    for match in _SPACE.finditer(text, bound, bound + OVERRUN):
        if _is_safe(text, *match.span(), spans):
            return match.start()
        if not gaps:
            break
    if gaps:
        start = gaps[-1][0]
        return start if not any(s < start < e for s, e in spans) else _token_end(text, bound, spans)
    return _token_end(text, bound, spans)


def _is_safe(text: str, start: int, end: int, markers: list[tuple[int, int]]) -> bool:
    """Whether a cut at this whitespace parts no token and leaves its markers with the text before them."""
    if any(s <= end and start < e for s, e in markers if s < end < e or s == end or s < start < e):
        return False
    before = text[start - 1]
    after = text[end : end + 1]
    return not (_UNIT_SIDE.match(before) or (after and _UNIT_SIDE.match(after)))


def _past_markers(position: int, markers: list[tuple[int, int]]) -> int:
    for start, end in markers:
        if start <= position < end:
            position = end
    return position


def _token_end(text: str, bound: int, markers: list[tuple[int, int]]) -> int:
    for start, end in markers:
        if start < bound < end:
            return end
    end = bound
    limit = min(len(text), bound + OVERRUN)
    if _HAN.match(text[bound - 1]) and bound < len(text) and _HAN.match(text[bound]):
        return bound
    while end < limit and _TOKEN.match(text[end - 1]) and _TOKEN.match(text[end]):
        end += 1
    if end >= limit:
        return bound  # no token is that long: a run of one kind of character
    return _past_markers(end, markers)
