"""Markers behind a terminator belong to its sentence (SPEC section 1, lookahead)."""

from __future__ import annotations

import re

from guardrails_plugins.core.citations import BLANKS, MarkerStyle
from guardrails_plugins.core.marks import CLOSERS, LINE_BREAK, TERMINATORS

TAIL = re.compile(rf"[{TERMINATORS}{CLOSERS}]*+")
"""What may close behind a terminator, further terminators included."""
_BLANK_RUN = re.compile(rf"[{BLANKS}]*+")
_SPACE_RUN = re.compile(r"[\s\x1c-\x1f]*+")


def absorb(text: str, tail: int, style: MarkerStyle, limit: int) -> tuple[int, int, int] | None:
    """Skip markers behind `tail`, on the same line or alone on the next ones, over `limit` code points at most.

    Returns where the sentence ends, where the next text starts and the line breaks between
    them; None while that is undecided.
    """
    last, size = tail, len(text)
    while True:
        blank = _BLANK_RUN.match(text, last)
        at = blank.end() if blank is not None else last
        marker = style.match(text, at) if last - tail <= limit else 0
        if marker < 0:
            return None
        if marker:
            closed = TAIL.match(text, marker)
            last = closed.end() if closed is not None else marker
            continue
        space = _SPACE_RUN.match(text, at)
        upto = space.end() if space is not None else at
        if upto >= size:
            return None
        newlines = len(LINE_BREAK.findall(text, at, upto)) if upto > at else 0
        if newlines != 1 or last - tail > limit:
            return last, upto, newlines
        alone = _markers_alone(text, upto, style)
        if alone is None:
            return None
        if not alone:
            return last, upto, newlines
        last = alone


def _markers_alone(text: str, position: int, style: MarkerStyle) -> int | None:
    """The end of the markers at `position` when nothing else stands on their line, else 0; None while undecided."""
    end = 0
    while True:
        blank = _BLANK_RUN.match(text, position)
        at = blank.end() if blank is not None else position
        marker = style.match(text, at)
        if marker < 0:
            return None
        if not marker:
            if at >= len(text):
                return None
            return end if text[at] in "\n\r" else 0
        position = end = marker
