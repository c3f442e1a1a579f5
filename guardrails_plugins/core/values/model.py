"""`Value`, its readings, and the names of the equivalences."""

from __future__ import annotations

import enum
from typing import NamedTuple

from guardrails_plugins.core.sentence import Span


class Equivalence(enum.StrEnum):
    """Rules under which two spellings count as one value; each can be switched in the policy."""

    ZEROS = "zeros"
    THOUSANDS = "thousands"
    MAGNITUDE = "magnitude"
    CLOCK = "clock"
    DATE = "date"
    ORDINAL = "ordinal"
    FRACTION = "fraction"
    RANGE = "range"
    SOURCE_MENTION = "source_mention"
    NUMBER_WORDS = "number_words"
    QUESTION = "question"


EQUIVALENCES: frozenset[str] = frozenset(e.value for e in Equivalence)
"""All names."""
EQUIVALENCES_DEFAULT: frozenset[str] = EQUIVALENCES - {"number_words", "question"}
"""Those that are on unless the policy says otherwise. Number words and values of the question
stay off: measured on real answers they let more wrong values through than they release right ones."""

NONE: frozenset[str] = frozenset()


class Reading(NamedTuple):
    """One way to read a value. `key` is what it denotes, `surface` how it is written,
    `needs` the equivalences by which `key` differs from `surface`, `unit` a currency or a
    scheme that must agree where both sides state one."""

    key: str
    surface: str
    needs: frozenset[str] = NONE
    unit: str = ""

    def __repr__(self) -> str:
        return f"Reading(length={len(self.surface)})"


class Value(NamedTuple):
    """A value of a text. `span` lies in the text it was extracted from; it is supported when one
    of its readings is. `noun` is the folded word behind a number. The repr carries no text."""

    kind: str
    span: Span
    readings: tuple[Reading, ...]
    noun: str = ""
    short: bool = False

    def __repr__(self) -> str:
        return f"Value(kind={self.kind!r}, span={tuple(self.span)})"
