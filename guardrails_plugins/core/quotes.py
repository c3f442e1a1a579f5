"""Quotations: titles around Chinese and Japanese terminators, and the spaced guillemets of French."""

from __future__ import annotations

import re

from guardrails_plugins.core.citations import BLANKS
from guardrails_plugins.core.marks import TERMINATORS

_PAIRS = {"「": "」", "『": "』", "“": "”", "‘": "’", "《": "》", "〈": "〉", "（": "）", "(": ")"}
_CLOSERS = {close: opener for opener, close in _PAIRS.items()}
_QUOTE = re.compile(r"[「」『』“”‘’《》〈〉（）()]")
QUOTE_SEARCH = _QUOTE.search
_SPACED_GUILLEMET = re.compile(rf"[{BLANKS}]{{1,2}}»")
TITLES = "《〈"
COMMAS = "，、,"
_TERMINATORS = frozenset(TERMINATORS)


class QuoteState:
    """The quotations open at a position of one sentence. Each character is read once."""

    __slots__ = ("_open", "_read")

    def __init__(self) -> None:
        self._open: list[str] = []
        self._read = -1

    def close(self, text: str, first: int, start: int, end: int) -> int | None:
        """Where a boundary at the terminators ``text[start:end]`` would end, closing marks included.

        -1 when they end nothing (inside a title or a quotation that goes on, or before a
        comma); None when the character that decides has not arrived.
        """
        self._read_to(text, first, start)
        if any(o in TITLES for o in self._open):
            return -1
        opened = list(self._open)
        at = end
        while True:
            if at >= len(text):
                return None
            char = text[at]
            if char in _CLOSERS and opened and opened[-1] == _CLOSERS[char]:
                opened.pop()
            elif char == '"':
                if text.count('"', first, at) % 2 == 0:
                    break  # it opens the next quotation
            elif char not in _TERMINATORS and char not in "*_":
                break
            at += 1
        if opened and any(o in "「『“‘" for o in opened):
            return -1
        return -1 if text[at] in COMMAS else at

    def _read_to(self, text: str, first: int, position: int) -> None:
        for match in _QUOTE.finditer(text, max(first, self._read), position):
            char = match.group()
            if char in _PAIRS:
                self._open.append(char)
            elif self._open and self._open[-1] == _CLOSERS[char]:
                self._open.pop()
            elif _CLOSERS[char] in self._open:
                del self._open[self._open.index(_CLOSERS[char]) :]
        self._read = position


def behind_guillemet(text: str, first: int, tail: int) -> int:
    """French sets a blank before the closing guillemet (``? »``): it closes all the same. `tail` where none does."""
    spaced = _SPACED_GUILLEMET.match(text, tail)
    opened = text.count("«", first, tail) > text.count("»", first, tail)
    return spaced.end() if spaced is not None and opened else tail
