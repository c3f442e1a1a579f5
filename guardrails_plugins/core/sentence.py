"""`Span`, `Sentence` and the names of what ends one."""

from __future__ import annotations

import enum
from typing import NamedTuple


class Span(NamedTuple):
    """A half-open range ``[start, end)`` in code points."""

    start: int
    end: int


class Rule(enum.StrEnum):
    """What ended a sentence."""

    TERMINATOR = "terminator"
    CJK_TERMINATOR = "cjk_terminator"
    CLOSER = "closer"
    OPENER = "opener"
    NEWLINE = "newline"
    BLANK_LINE = "blank_line"
    STRUCTURE = "structure"
    BOUND = "bound"
    FLUSH = "flush"


class Kind(enum.StrEnum):
    """What part of a Markdown answer a sentence is."""

    PROSE = "prose"
    HEADING = "heading"
    ITEM = "item"
    ROW = "row"
    CODE = "code"


class Sentence(NamedTuple):
    """One sentence of a stream; compares by value and is true when it has text.

    `text` has its markers but no outer whitespace, `span` is its place in the stream. `raw`
    includes the whitespace before it (the last one also what trails), so that the raws joined
    equal the input. `item_prefix` counts the code points of a leading list marker in `text`
    (without the blanks behind it).
    """

    text: str
    raw: str
    span: Span
    rule: Rule
    paragraph_break: bool = False
    kind: Kind = Kind.PROSE
    item_prefix: int = 0

    def __bool__(self) -> bool:
        return bool(self.text)

    def __repr__(self) -> str:
        return f"Sentence(span={tuple(self.span)}, rule={self.rule.value!r}, kind={self.kind.value!r})"
