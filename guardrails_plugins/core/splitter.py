"""`SentenceSplitter`: pieces in, sentences out. What is held stands in `held`, the rules in `boundary`.

Timeline, fed ``He left.`` / `` [S1] S`` / ``he``::

    buffer              decision
    He left.            a terminator at the end: what follows decides, wait
    He left. [S1] S     markers belong to the sentence before; a capital: boundary
    She                 nothing of interest: the piece is only kept

A whole text is "feed everything, then flush", so cutting cannot matter: every decision is a
function of the text up to the character that decides it, and is taken when that one is there.
"""

from __future__ import annotations

import re

from guardrails_plugins.core.errors import BoundError, FrameError, StreamClosedError
from guardrails_plugins.core.held import Held
from guardrails_plugins.core.languages.profile import resolve_language
from guardrails_plugins.core.marks import TERMINATORS
from guardrails_plugins.core.sentence import Rule, Sentence

_INTEREST_SEARCH = re.compile(rf"[{TERMINATORS}\n\r]").search
# A piece whose only event is a terminator at its end, or before one blank: what follows decides.
_UNDECIDED = re.compile(rf"[^{TERMINATORS}\n\r]*+[{TERMINATORS}] ?").fullmatch
_NOT_BLANK_SEARCH = re.compile(r"\S").search
_NOT_BLANK_OR_BREAK_SEARCH = re.compile(r"[\S\n\r]").search
_ALWAYS_SEARCH = re.compile(r"").search
_ENDLESS = 1 << 60
BLOCK = 4096
"""Code points of a longer piece that are read at a time: what is held is copied at each boundary."""


class SentenceSplitter:
    """Cuts one stream into sentences.

    `language` is a BCP 47 tag; `max_chars` the code points, counted from a sentence's first
    character, after which a text without a boundary is cut; `marker` the citation style.
    Raises `LanguageError`, `BoundError` or `MarkerStyleError`.
    """

    __slots__ = ("_append", "_closed", "_held", "_pieces", "_room", "_search")

    def __init__(self, language: str = "en", *, max_chars: int = 1000, marker: str = "[S{n}]") -> None:
        if isinstance(max_chars, bool) or not isinstance(max_chars, int) or max_chars < 1:
            raise BoundError(f"max_chars must be a whole number of at least 1, not {max_chars!r}")
        self._held = Held(resolve_language(language), max_chars, marker)
        self._pieces: list[str] = []
        self._append = self._pieces.append
        self._closed = False
        self._search = _NOT_BLANK_SEARCH
        self._room = _ENDLESS

    def __repr__(self) -> str:
        held = self._held
        return f"SentenceSplitter(language={held.language!r}, max_chars={held.max_chars}, position={held.base})"

    @property
    def pending(self) -> str:
        """The raw text that is held: no boundary has been found in it yet."""
        return self._held.text + "".join(self._pieces)

    def feed(self, text: str) -> list[Sentence]:
        """Take a piece of any length; returns the sentences whose boundary it decides.

        Raises `StreamClosedError` after `flush` and `FrameError` for anything but a string.
        """
        # Most pieces hold nothing that could end a sentence: one search, one append.
        try:
            room = self._room - len(text)
            if room > 0 and self._search(text) is None:
                self._room = room
                self._append(text)
                return []
        except TypeError:  # not text: `_feed` says so
            pass
        return self._feed(text)

    def _feed(self, text: str) -> list[Sentence]:
        if not isinstance(text, str):
            raise FrameError(f"a splitter is fed text (str), not {type(text).__name__}")
        if self._closed:
            raise StreamClosedError("the splitter was flushed; use a new one for the next text")
        if len(text) > BLOCK:
            blocks = (text[at : at + BLOCK] for at in range(0, len(text), BLOCK))
            return [sentence for block in blocks for sentence in self.feed(block)]
        pieces, held = self._pieces, self._held
        if self._search is _INTEREST_SEARCH:
            held.scan = held.bound + 1 - self._room  # nothing of interest stands in what was kept
            if len(text) < self._room and _UNDECIDED(text) is not None:
                self._append(text)
                self._search, self._room = _ALWAYS_SEARCH, 0
                return []
        if pieces:
            self._append(text)
            text = "".join(pieces)
            pieces.clear()
        held.text = held.text + text if held.text else text
        sentences: list[Sentence] = []
        while True:
            step = held.step()
            if step is None:
                break
            end, rule = step
            if rule is None:
                held.scan = end
            else:
                sentences.append(held.release(end, rule))
        # Choose what the next pieces are searched for, and how much may be kept unread.
        text, size = held.text, len(held.text)
        if held.first < 0:
            self._search, self._room = _NOT_BLANK_SEARCH, _ENDLESS
        elif held.scan < size and text[-1].isspace():
            code = held.fence or text[held.first] in "`~"  # a line of code ends at its line break
            self._search, self._room = _NOT_BLANK_OR_BREAK_SEARCH if code else _NOT_BLANK_SEARCH, _ENDLESS
        elif held.scan < size or size > held.bound:
            self._search, self._room = _ALWAYS_SEARCH, 0
        else:
            self._search, self._room = _INTEREST_SEARCH, held.bound - size + 1
        return sentences

    def flush(self) -> Sentence | None:
        """End the text: what is left is one sentence (false when it is only whitespace); None when nothing is.

        Raises `StreamClosedError` when called twice.
        """
        if self._closed:
            raise StreamClosedError("the splitter was flushed already")
        held = self._held
        held.text += "".join(self._pieces)
        sentence = None
        if held.text:
            held.locate_first()
            held.classify(len(held.text))
            sentence = held.sentence(len(held.text), Rule.FLUSH, trailing=True)
        self.discard()
        return sentence

    def discard(self) -> None:
        """Drop what is held and close: a later `feed` raises `StreamClosedError`."""
        self._held.text = ""
        self._pieces.clear()
        self._closed = True
        self._search = _ALWAYS_SEARCH
