"""The citation marker: finding it, taking it out, and telling what only looks like one.

Styles are templates around ``{n}``: ``[S{n}]`` (the default), ``[{n}]``, ``[^{n}]``. Full-width
brackets and letters, ``【】``, either letter case and any decimal digits are accepted.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import NamedTuple

import regex

from guardrails_plugins.core.errors import FrameError, MarkerStyleError
from guardrails_plugins.core.sentence import Span

MAX_SPAN_SOURCES = 100
"""A range over more sources (``[S1-S500]``) cites nothing in particular: it is malformed."""
MAX_MARKER_CHARS = 64
"""No marker is longer; what is longer is ordinary text."""

BLANKS = " \t\u00a0\u2000-\u200a\u202f\u3000"
"""Horizontal whitespace, as a character class body."""

BLANK_CHARS = " \t\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u3000"
"""The same characters, each."""

_PAIRS = {"[": "]", "［": "］", "【": "】"}
OPENERS = frozenset(_PAIRS)
"""What a marker can begin with."""
_OPEN = r"[\[［【]"
_CLOSE = r"[\]］】]"
_TEMPLATE = re.compile(r"\[([^\[\]{}\d\s]{0,12})\{n\}\]")
_LETTER_OR_DIGIT = regex.compile(r"[\p{L}\p{M}\p{Nd}]")
_BLANKS = re.compile(rf"[{BLANKS}]*+")
_APART = frozenset(("", *" .,;:!?。，、；：！？؟۔।\n"))
"""What shows, right behind a marker, that it stands between no two letters or digits."""
_INLINE_CODE = re.compile(r"`[^`\n]++`")
_FENCE_LINE = re.compile(rf"^[{BLANKS}]*+(?:```|~~~)", re.MULTILINE)
_LOOK_ALIKE = regex.compile(
    rf"(?<![\p{{L}}\p{{M}}])[\[［【〔⟦][\s{BLANKS}]*+\^?+\p{{L}}{{0,10}}+[\s.:#№^_-]{{0,3}}+\p{{Nd}}++"
    rf"(?:\s{{0,2}}+[,;，、–-]\s{{0,2}}+\p{{L}}{{0,10}}+\s{{0,2}}+\p{{Nd}}++){{0,20}}+\s{{0,3}}+[\]］】〕⟧](?!\()"
)


class Marker(NamedTuple):
    """One marker: its span in the searched text, the sources it names (sorted), and whether it is malformed."""

    span: Span
    numbers: tuple[int, ...]
    malformed: bool


class Shown(NamedTuple):
    """A text without its markers; `cuts` are the removed ranges of the raw text, ascending."""

    text: str
    cuts: tuple[tuple[int, int], ...] = ()

    def __repr__(self) -> str:
        return f"Shown(length={len(self.text)}, cuts={len(self.cuts)})"

    def to_raw(self, position: int) -> int:
        """The raw position of the character shown at `position` (of the end, for the end)."""
        for start, end in self.cuts:
            if position < start:
                break
            position += end - start
        return position


class MarkerStyle:
    """One template, compiled. Instances are shared and read-only; see `marker_style`."""

    __slots__ = ("_digits", "_item", "_look_alikes", "_partial", "_pattern", "bare", "template")

    def __init__(self, template: str) -> None:
        match = _TEMPLATE.fullmatch(template) if isinstance(template, str) else None
        if match is None:
            raise MarkerStyleError(
                f"marker {template!r} is not supported; use square brackets around a short prefix and {{n}}, "
                "such as '[S{n}]', '[{n}]' or '[^{n}]'"
            )
        self.template = template
        prefix = match.group(1)
        self._digits = 1 + len(prefix)
        self.bare = not any(c.isalpha() for c in prefix)
        letters = "".join(f"[{_forms(c)}]" for c in prefix)
        later = f"(?:{letters})?" if letters else ""
        separator = rf"(?:[{BLANKS}]?[,，、;][{BLANKS}]?|[{BLANKS}]?[-–—‐‑－][{BLANKS}]?)"
        self._item = re.compile(r"([-–—‐‑－])?[^\d\-–—‐‑－]*(\d+)")
        not_link = r"(?!\()" if self.bare else ""
        self._pattern = re.compile(
            rf"{_OPEN}{letters}\d{{1,6}}(?:{separator}{later}\d{{1,6}}){{0,12}}+{_CLOSE}{not_link}"
        )
        # What a marker can look like before its last character: each part may stop short.
        head = "".join(f"(?:[{_forms(c)}]" for c in prefix)
        tails = ")?" * len(prefix)
        self._partial = re.compile(
            rf"{_OPEN}{head}(?:\d{{1,6}}(?:{separator}{later}\d{{1,6}}){{0,12}}(?:{separator}{later}|[{BLANKS}])?)?{tails}"
        )
        self._look_alikes = _LOOK_ALIKE

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return marker_style, (self.template,)

    def match(self, text: str, position: int) -> int:
        """The end of the marker that starts at `position`; 0 when none does; -1 when the text ends
        before that is decided."""
        if text[position : position + 1] not in OPENERS or position >= len(text):
            return 0
        found = self._pattern.match(text, position)
        if found is not None:
            if self.bare and found.end() == len(text):
                return -1  # a parenthesis may follow and make it a link
            return found.end() if _paired(text, found) else 0
        if len(text) - position >= MAX_MARKER_CHARS:
            return 0
        partial = self._partial.match(text, position)
        return -1 if partial is not None and partial.end() == len(text) else 0

    def find(self, text: str, *, code: bool = False) -> list[Marker]:
        """All markers of a text. `code` says that the text is code: a style without a letter
        (``[1]``) then has none, as it has none inside backticks."""
        at = text.find("[")
        wide = "［" in text or "【" in text
        if (at < 0 and not wide) or (code and self.bare):
            return []
        if not wide and text.find("[", at + 1) < 0 and not self.bare:  # one bracket: most sentences have one marker
            match = self._pattern.match(text, at)
            return [self._marker(text, [match], 0)] if match is not None and text[match.end() - 1] == "]" else []
        matches = [m for m in self._pattern.finditer(text) if _paired(text, m)]
        if self.bare:
            skipped = _inline_code(text)
            matches = [m for m in matches if not _within(m.start(), skipped)]
        return [self._marker(text, matches, i) for i in range(len(matches))]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """The spans of all that has the form of a marker, in code or not: what may close a code span may follow."""
        return [m.span() for m in self._pattern.finditer(text) if _paired(text, m)]

    def look_alikes(self, shown: str, *, code: bool = False) -> list[Span]:
        """Spans in a shown text that a reader would take for a marker although they are none; `code`: see `find`."""
        if not ("[" in shown or "［" in shown or "【" in shown or "〔" in shown or "⟦" in shown):
            return []
        if self.bare and code:
            return []
        skipped = _inline_code(shown) if self.bare else []
        return [Span(*m.span()) for m in self._look_alikes.finditer(shown) if not _within(m.start(), skipped)]

    def _marker(self, text: str, matches: list[re.Match[str]], i: int) -> Marker:
        start, end = matches[i].span()
        digits = text[start + self._digits : end - 1]
        # Most markers name one source.
        if digits.isdecimal():
            glued = text[start - 1] != " " and text[end : end + 1] not in _APART and _is_glued(text, matches, i)
            return Marker(Span(start, end), (int(digits),), glued)
        numbers, malformed = self._numbers(text[start:end])
        return Marker(Span(start, end), numbers, malformed or _is_glued(text, matches, i))

    def _numbers(self, marker: str) -> tuple[tuple[int, ...], bool]:
        numbers: set[int] = set()
        last = 0
        for dash, digits in self._item.findall(marker):
            n = int(digits)
            if dash:
                if not 0 < n - last < MAX_SPAN_SOURCES:
                    return tuple(sorted({*numbers, n})), True
                numbers.update(range(last, n))
            numbers.add(n)
            last = n
        return tuple(sorted(numbers)), False


@functools.lru_cache(maxsize=64)
def marker_style(template: str) -> MarkerStyle:
    """The compiled style of a template. Raises `MarkerStyleError` for one without ``{n}`` in brackets."""
    return MarkerStyle(template)


def strip(text: str, style: MarkerStyle, *, at_line_start: bool = True, code: bool = False) -> Shown:
    """The shown form of a text (SPEC section 5): markers go, with the blanks before them; at the
    start of a line with the blanks after them; a line of markers alone with its line break.

    `at_line_start` says whether the text begins at the start of a line. Stripping the raws of
    successive sentences and joining equals stripping the whole.
    """
    return strip_found(text, style.find(text, code=code), at_line_start=at_line_start)


def strip_found(text: str, markers: Sequence[Marker], *, at_line_start: bool, offset: int = 0) -> Shown:
    """`strip` for a text whose markers are known; their spans count from `offset`."""
    if not markers:
        return Shown(text)
    if len(markers) == 1:  # most sentences have one, behind their last word
        start, end = markers[0].span
        start += offset
        end += offset
        first = start - 1 if start and text[start - 1] == " " else start
        if first and not text[first - 1].isspace():
            return Shown(text[:first] + text[end:], ((first, end),))
    cuts: list[tuple[int, int]] = []
    leads = False
    for marker in markers:
        start, end = marker.span[0] + offset, marker.span[1] + offset
        floor = cuts[-1][1] if cuts else 0
        first = floor + len(text[floor:start].rstrip(BLANK_CHARS))
        if not (leads and first == floor and cuts):
            leads = text[first - 1] in "\r\n" if first else at_line_start
        if leads:
            cuts.append(_line_cut(text, first, start, end, floor))
        else:
            cuts.append((first, end))
    return _cut(text, cuts)


def strip_markers(text: str, *, marker: str = "[S{n}]") -> str:
    """The text as a reader would see it. Raises `MarkerStyleError` for a bad template, `FrameError` for no text."""
    if not isinstance(text, str):
        raise FrameError(f"markers are stripped from text (str), not {type(text).__name__}")
    if not isinstance(marker, str):
        raise MarkerStyleError(f"marker must be a text such as '[S{{n}}]', not {type(marker).__name__}")
    style = marker_style(marker)
    markers = style.find(text)
    if style.bare:
        fenced = _fenced_code(text)
        markers = [m for m in markers if not _within(m.span.start, fenced)]
    return strip_found(text, markers, at_line_start=True).text


def _line_cut(text: str, first: int, start: int, end: int, floor: int) -> tuple[int, int]:
    after = _BLANKS.match(text, end)
    rest = after.end() if after is not None else end
    if rest < len(text) and text[rest] not in "\r\n":
        return start, rest
    if first > floor and text[first - 1] in "\r\n":  # a line of markers alone
        return (first - 2 if text[max(floor, first - 2) : first] == "\r\n" else first - 1), end
    return first, end


def _cut(text: str, cuts: list[tuple[int, int]]) -> Shown:
    kept, position = [], 0
    for start, end in cuts:
        kept.append(text[position:start])
        position = end
    kept.append(text[position:])
    return Shown("".join(kept), tuple(cuts))


def _forms(char: str) -> str:
    """Either letter case and the full-width form of a template character, as a class body."""
    forms = {char, char.lower(), char.upper()}
    forms |= {chr(ord(c) + 0xFEE0) for c in forms if "!" <= c <= "~"}
    return "".join(re.escape(c) for c in sorted(forms))


def _inline_code(text: str) -> list[tuple[int, int]]:
    return [m.span() for m in _INLINE_CODE.finditer(text)] if "`" in text else []


def _fenced_code(text: str) -> list[tuple[int, int]]:
    """From a line that begins with a fence to the next one, or to the end."""
    fences = [m.start() for m in _FENCE_LINE.finditer(text)]
    return list(zip(fences[::2], [*fences[1::2], len(text)], strict=False))


def _within(position: int, spans: list[tuple[int, int]]) -> bool:
    return any(start <= position < end for start, end in spans)


def _paired(text: str, match: re.Match[str]) -> bool:
    return _PAIRS[text[match.start()]] == text[match.end() - 1]


def _is_glued(text: str, matches: list[re.Match[str]], i: int) -> bool:
    """Whether the run of markers around this one stands between two letters or digits."""
    start = matches[i].start()
    if not start or text[start - 1] == " ":
        return False
    first = last = i
    while first and matches[first - 1].end() == matches[first].start():
        first -= 1
    while last + 1 < len(matches) and matches[last].end() == matches[last + 1].start():
        last += 1
    before, after = matches[first].start() - 1, matches[last].end()
    if before < 0 or after >= len(text) or text[before] == " ":
        return False
    return bool(_LETTER_OR_DIGIT.match(text[before]) and _LETTER_OR_DIGIT.match(text[after]))
