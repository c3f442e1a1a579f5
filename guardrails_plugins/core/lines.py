"""What a line of a Markdown answer is: list item, heading, table row, fence or prose."""

from __future__ import annotations

import functools
import re

import regex

from guardrails_plugins.core.citations import BLANK_CHARS, BLANKS, MarkerStyle
from guardrails_plugins.core.languages.profile import load_profile
from guardrails_plugins.core.marks import CLOSERS, TERMINATORS
from guardrails_plugins.core.sentence import Kind

_B = f"[{BLANKS}]"
MAX_ITEM_NUMBER_DIGITS = 3
"""A list of more than 999 items is no list of an answer; longer digit runs are values."""

_BULLET = re.compile(rf"[-*•‣◦·–—+]{_B}")
_NUMBERED = re.compile(
    rf"(?P<mark>\*\*|__|\*|_)?(?:(?P<open>[(（])(?P<a>\d{{1,3}})[)）]|(?P<b>\d{{1,3}})(?:[.)](?!\d)|[、．）]))(?:\*\*|__|\*|_)?{_B}{{0,8}}+"
)
_LETTERED = regex.compile(rf"(?:\*\*|__)?(?:[(（]?\p{{L}}\p{{M}}?[)）])(?:\*\*|__)?{_B}{{1,8}}+")
_HEADING = re.compile(rf"#{{1,6}}+(?:{_B}|[\n\r]|\Z)")
_HEADING_SIGNS = re.compile(rf"#{{1,6}}+{_B}++(?![\n\r])")
_FENCE = re.compile(r"```|~~~")
_BOLD_LINE = re.compile(rf"(?:\*\*[^*\n\r]++\*\*|__[^_\n\r]++__):?{_B}*+")
_STRONG_END = re.compile(rf"(?:[{TERMINATORS}:：][{CLOSERS}」』】》]*+|[\]］】])[*_]*+$")

STEP_WORD_CHARS = 16
"""Code points in which a step word (``Step``, ``Schritt``) is looked for."""
LINE_LOOKAHEAD = 120
"""Code points of a next line that are waited for to see whether it is wholly bold."""


@functools.cache
def step_pattern(language: str) -> re.Pattern[str]:
    """``Step 1:`` in the language and in English, as a list marker."""
    words = {w for tag in (language, "en") for w in load_profile(tag).lists.step_words}
    listed = "|".join(re.escape(w) for w in sorted(words, key=len, reverse=True))
    return re.compile(
        rf"(?:\*\*|__)?(?:第{_B}?(?:\d{{1,3}}|[一二三四五六七八九十]{{1,3}})步|(?:{listed}){_B}{{0,2}}(?P<a>\d{{1,3}}))"
        rf"{_B}?(?:\*\*|__)?{_B}?[:：.)](?:\*\*|__)?{_B}{{0,8}}+",
        re.IGNORECASE,
    )


@functools.cache
def step_heads(language: str) -> tuple[str, ...]:
    """The words with which such a list marker begins, in lower case."""
    words = {w for tag in (language, "en") for w in load_profile(tag).lists.step_words}
    return (*sorted(w.lower() for w in words), "第")


def item_prefix(text: str, position: int, last_number: int, language: str) -> tuple[int, int]:
    """The end of the list marker at `position` (`position` itself when there is none) and its
    number (0 for one without). Blanks and emphasis behind the marker are not part of it: more
    of them may still arrive.

    A number is a list marker only when it is 1 or one more than the last item's
    (`last_number`); any other is a value of its sentence.
    """
    bullet = _BULLET.match(text, position)
    if bullet is not None:
        return position + 1, 0
    for pattern in (_NUMBERED, step_pattern(language)):
        match = pattern.match(text, position)
        if match is not None:
            groups = match.groupdict()
            digits = groups.get("a") or groups.get("b")
            number = int(digits) if digits else last_number + 1
            if number in (1, last_number + 1) and _has_gap(text, match):
                return _without_gap(text, match), number
            return position, 0
    lettered = _LETTERED.match(text, position)
    return (_without_gap(text, lettered), 0) if lettered is not None else (position, 0)


def _without_gap(text: str, match: re.Match[str] | regex.Match[str]) -> int:
    return match.start() + len(match.group().rstrip(BLANK_CHARS).rstrip("*_").rstrip(BLANK_CHARS))


def _has_gap(text: str, match: re.Match[str]) -> bool:
    """``1.`` needs a blank, a line end or emphasis behind it; ``1、`` and ``第一步：`` do not."""
    end = match.end()
    last = text[end - 1]
    return last in "、．）：" or last.isspace() or end >= len(text) or text[end].isspace() or last in ":)"


def line_kind(text: str, position: int) -> Kind:
    """The kind of the line that starts at `position`, as its first characters show (list items apart)."""
    head = text[position : position + 1]
    if head == "#" and _HEADING.match(text, position):
        return Kind.HEADING
    if head == "|":
        return Kind.ROW
    if head in ("`", "~") and _FENCE.match(text, position):
        return Kind.CODE
    return Kind.PROSE


def heading_text(text: str, position: int) -> int:
    """Where the text of the heading at `position` begins, behind its signs and blanks."""
    match = _HEADING_SIGNS.match(text, position)
    return match.end() if match is not None else position


def is_bold_line(line: str) -> bool:
    """Whether a line is wholly bold, and so a heading."""
    return _BOLD_LINE.fullmatch(line) is not None


def ends_strongly(text: str, first: int, end: int, style: MarkerStyle, false_dot: int) -> bool:
    """Whether the line that ends at `end`, of a sentence that begins at `first`, ended in a terminator, a
    marker or a colon; a dot at `false_dot` is that of an abbreviation."""
    line = text[max(first, end - 64) : end].rstrip()
    found = _STRONG_END.search(line)
    if found is None:
        return False
    if line[found.start()] in "]］】":
        return any(m.span.end >= len(line) - len(line[found.start() + 1 :]) for m in style.find(line))
    return false_dot < 0 or text[false_dot + 1 : end].strip() != ""


def starts_structure(text: str, position: int, last_number: int, language: str) -> bool | None:
    """Whether the line at `position` is an item, heading, row or fence; None when its end is too near to tell.

    Whitespace at the end of `text` says nothing yet: what follows it decides.
    """
    text = text.rstrip()
    line_end = _line_end(text, position)
    known = line_end < len(text) or len(text) - position >= LINE_LOOKAHEAD
    head = text[position]
    if head == "|":
        return True
    if head in "#`~-*•‣◦·–—+(（_" or head.isdigit() or head.isalpha():
        if not known and len(text) - position < 32 and not _rules_out(text, position, language):
            return None
        if line_kind(text, position) is not Kind.PROSE:
            return True
        if item_prefix(text, position, last_number, language)[0] > position:
            return True
        if head in "*_" and text[position + 1 : position + 2] == head:
            return is_bold_line(text[position:line_end].rstrip()) if known else None
    return False


_PLAIN_START = regex.compile(
    rf"(?:\p{{L}}[\p{{L}}\p{{M}}'’]{{1,31}}+{_B}{{1,3}}+[^\d\s{BLANKS}]|\p{{L}}[\p{{L}}\p{{M}}'’]{{0,31}}+[^\p{{L}}\p{{M}}\s\d{BLANKS})）:：]|\d{{4}})"
)


def _rules_out(text: str, position: int, language: str) -> bool:
    """Whether the first characters of a line already say that it is prose or already show its mark."""
    head = text[position]
    rest = len(text) - position
    if head.isalpha():
        start = text[position : position + STEP_WORD_CHARS].lower()
        prose = start[1:2].isalpha() or start[1:2].isspace()
        if prose and not any(w.startswith(start) or start.startswith(w) for w in step_heads(language)):
            return True
        return _PLAIN_START.match(text, position) is not None
    if head.isdigit():
        return re.match(r"\d{1,3}[^\d.)、．）]|\d{4}|\d{1,3}[.)、．）]\D", text[position : position + 8]) is not None
    if head in "#":
        return re.match(r"#{1,6}[^#]|#{7}", text[position : position + 8]) is not None
    if head in "`~":
        return rest >= 3
    if head in "(（":
        return rest >= 6
    if head in "*_":
        if rest >= 2 and text[position + 1] in "(（":
            return rest >= 7
        return rest >= 2 and text[position + 1] != head and not text[position + 1].isdigit()
    return rest >= 2


def _line_end(text: str, position: int) -> int:
    ends = [at for at in (text.find("\n", position), text.find("\r", position)) if at >= 0]
    return min(ends, default=len(text))
