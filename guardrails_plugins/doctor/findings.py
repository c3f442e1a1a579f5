"""What a doctor can find, in order of harm."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any


class Harm(enum.IntEnum):
    """The harms, worst first."""

    SHOWS_FIRST = 1
    LOSES_TEXT = 2
    FAILS_OPEN = 3
    READS_ON = 4
    MIXES_CALLERS = 5
    NO_STREAMING = 6
    NOT_RUN = 7


TITLES = {
    Harm.SHOWS_FIRST: "shows text before it is checked",
    Harm.LOSES_TEXT: "loses or alters text of a good answer",
    Harm.FAILS_OPEN: "lets text through when a check breaks",
    Harm.READS_ON: "goes on reading the model after a block",
    Harm.MIXES_CALLERS: "mixes the text of callers",
    Harm.NO_STREAMING: "raises StreamingNotSupportedError when a stream is asked for",
    Harm.NOT_RUN: "could not be run",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One harm: what was seen, and the line to change."""

    harm: Harm
    seen: str
    change: str

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"harm": self.harm.name.lower(), "title": TITLES[self.harm], "seen": self.seen, "change": self.change}


@dataclass(slots=True)
class Seen:
    """What one probe showed."""

    text: str = ""
    blocked: bool = False
    error: str | None = None
    written: int = 0
    verdict_at_piece: int | None = None

    @property
    def pieces_after(self) -> int:
        """Pieces that the model wrote after the verdict."""
        return 0 if self.verdict_at_piece is None else self.written - self.verdict_at_piece


CLEAN = (
    "The harbour library opened in 1931 [S1]. It keeps old maps in a long room [S1]. Readers may borrow 12 books [S1]."
)
SOURCE = "The harbour library opened in 1931. It keeps old maps in a long room. Readers may borrow 12 books."
CANARIES = ("QX7731ZK", "VJ4409WB")
"""Identifiers that no source holds: the sentence that has one is the one to block."""


def violating(canary: str) -> str:
    """The good answer with a sentence in its middle that must not be seen."""
    first, rest = CLEAN.split("[S1]. ", 1)
    return f"{first}[S1]. The secret number of the library is {canary} [S1]. {rest} " + f"{rest} " * 30


def leaked(text: str, canary: str) -> int:
    """Characters of the violating sentence that stand in a text."""
    sentence = f"The secret number of the library is {canary}"
    size = len(sentence)
    while size and sentence[:size] not in text:
        size -= 1
    # A few letters at its start are those of any sentence.
    return size if size > len("The ") else 0
