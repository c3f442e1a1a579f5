"""`SentenceSplitter`: the buffer, the scan position and the bound. The rules stand in `boundary`.

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

from guardrails_plugins.core.absorb import TAIL, absorb
from guardrails_plugins.core.bound import cut_position
from guardrails_plugins.core.boundary import CJK_TERMINATORS, Answer, Candidate, is_plain, judge
from guardrails_plugins.core.citations import BLANKS, marker_style
from guardrails_plugins.core.errors import BoundError, FrameError, StreamClosedError
from guardrails_plugins.core.languages.profile import resolve_language
from guardrails_plugins.core.lexicon import lexicon
from guardrails_plugins.core.lines import (
    STEP_WORD_CHARS,
    is_bold_line,
    item_prefix,
    line_kind,
    starts_structure,
    step_heads,
)
from guardrails_plugins.core.marks import CLOSERS, LINE_BREAK, TERMINATORS
from guardrails_plugins.core.quotes import QuoteState
from guardrails_plugins.core.sentence import Kind, Rule, Sentence, Span

_INTEREST_SEARCH = re.compile(rf"[{TERMINATORS}\n\r]").search
_NOT_BLANK_SEARCH = re.compile(r"\S").search
_ALWAYS_SEARCH = re.compile(r"").search
_EVENT_SEARCH = re.compile(rf"[{TERMINATORS}]++|[\n\r]").search
_SPACED_GUILLEMET = re.compile(rf"[{BLANKS}]{{1,2}}»")
_STRONG_END = re.compile(rf"(?:[{TERMINATORS}:：][{CLOSERS}」』】》]*+|[\]］】])[*_]*+$")
_ENDLESS = 1 << 60
BLOCK = 4096
"""Code points of a longer piece that are read at a time: what is held is copied at each boundary."""
_CJK = frozenset(CJK_TERMINATORS)
# Looking a member up in an enum costs as much as ten local names.
_PROSE, _TERMINATOR, _BOUND = Kind.PROSE, Rule.TERMINATOR, Rule.BOUND
_PLAIN_KINDS = (Kind.PROSE, Kind.ITEM)


class SentenceSplitter:
    """Cuts one stream into sentences.

    `language` is a BCP 47 tag; `max_chars` the code points, counted from a sentence's first
    character, after which a text without a boundary is cut; `marker` the citation style.
    Raises `LanguageError`, `BoundError` or `MarkerStyleError`.
    """

    __slots__ = (
        "_append",
        "_base",
        "_body",
        "_bound",
        "_closed",
        "_endings",
        "_false_dot",
        "_fence",
        "_first",
        "_glued",
        "_kind",
        "_language",
        "_last_number",
        "_lexicon",
        "_line_start",
        "_max_chars",
        "_number",
        "_pieces",
        "_quotes",
        "_room",
        "_scan",
        "_search",
        "_step_heads",
        "_style",
        "_text",
    )

    def __init__(self, language: str = "en", *, max_chars: int = 1000, marker: str = "[S{n}]") -> None:
        if isinstance(max_chars, bool) or not isinstance(max_chars, int) or max_chars < 1:
            raise BoundError(f"max_chars must be a whole number of at least 1, not {max_chars!r}")
        self._language = resolve_language(language)
        self._lexicon = lexicon(self._language)
        self._endings = self._lexicon.endings
        self._step_heads = step_heads(self._language)
        self._style = marker_style(marker)
        self._max_chars = max_chars
        self._text = ""
        self._pieces: list[str] = []
        self._append = self._pieces.append
        self._base = 0
        self._fence = False
        self._last_number = 0
        self._closed = False
        self._begin(True, False)
        self._search = _NOT_BLANK_SEARCH
        self._room = _ENDLESS

    def __repr__(self) -> str:
        return f"SentenceSplitter(language={self._language!r}, max_chars={self._max_chars}, position={self._base})"

    @property
    def pending(self) -> str:
        """The raw text that is held: no boundary has been found in it yet."""
        return self._text + "".join(self._pieces)

    def feed(self, text: str) -> list[Sentence]:
        """Take a piece of any length; returns the sentences whose boundary it decides.

        Raises `StreamClosedError` after `flush` and `FrameError` for anything but a string.
        """
        # Most pieces hold nothing that could end a sentence: one search, one append.
        try:
            if self._search(text) is None and len(text) < self._room:
                self._room -= len(text)
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
        pieces = self._pieces
        if pieces:
            self._append(text)
            text = "".join(pieces)
            pieces.clear()
        self._text = text = self._text + text if self._text else text
        sentences: list[Sentence] = []
        while True:
            step = self._step()
            if step is None:
                break
            end, rule = step
            if rule is None:
                self._scan = end
            else:
                sentences.append(self._release(end, rule))
        # Choose what the next pieces are searched for, and how much may be kept unread.
        text, size = self._text, len(self._text)
        if self._first < 0 or (self._scan < size and text[-1].isspace()):
            self._search, self._room = _NOT_BLANK_SEARCH, _ENDLESS
        elif self._scan < size or size > self._bound:
            self._search, self._room = _ALWAYS_SEARCH, 0
        else:
            self._search, self._room = _INTEREST_SEARCH, self._bound - size + 1
        return sentences

    def flush(self) -> Sentence | None:
        """End the text: what is left is one sentence (false when it is only whitespace); None when nothing is.

        Raises `StreamClosedError` when called twice.
        """
        if self._closed:
            raise StreamClosedError("the splitter was flushed already")
        self._text += "".join(self._pieces)
        text = self._text
        sentence = None
        if text:
            self._locate_first()
            self._classify(len(text))
            sentence = self._sentence(len(text), Rule.FLUSH, trailing=True)
        self.discard()
        return sentence

    def discard(self) -> None:
        """Drop what is held and close: a later `feed` raises `StreamClosedError`."""
        self._text = ""
        self._pieces.clear()
        self._closed = True
        self._search = _ALWAYS_SEARCH

    # -- the machine -------------------------------------------------------------------------

    def _begin(self, line_start: bool, glued: bool) -> None:
        """Reset what is known of the current sentence. `glued`: it continues a piece cut at the bound."""
        self._first = -1
        self._scan = 0
        self._body = -1
        self._number = 0
        self._false_dot = -1
        self._line_start = line_start
        self._glued = glued
        self._kind = _PROSE
        self._quotes: QuoteState | None = None

    def _step(self) -> tuple[int, Rule | None] | None:
        """The next decision: a boundary (its end, its rule), a position to go on from (and None), or None to wait."""
        text, first = self._text, self._first
        if first < 0:
            if not self._locate_first():
                return None
            first = self._first
        scan = self._scan
        found = _EVENT_SEARCH(text, scan if scan > first else first)
        if found is None:
            if len(text) > self._bound:
                return self._cut()
            self._scan = len(text)
            return None
        start, end = found.span()
        if end > self._bound:
            return self._cut() if len(text) > self._bound else None
        if text[start] in "\n\r":
            return self._at_newline(start)
        size = len(text)
        if end >= size:
            return None  # the run may go on
        if text[end] == " ":
            if end + 1 == size:
                return None  # what follows decides
            if end - start == 1 and is_plain(text, first, start, self._endings):
                if self._body < 0:
                    self._classify(start)
                if self._kind in _PLAIN_KINDS:
                    return end, _TERMINATOR
        return self._at_terminator(start, end)

    def _locate_first(self) -> bool:
        found = _NOT_BLANK_SEARCH(self._text)
        if found is None:
            return False
        first = self._first = found.start()
        self._bound = first + self._max_chars
        if first and not (first == 1 and self._text[0] == " ") and LINE_BREAK.search(self._text, 0, first):
            self._line_start, self._glued = True, False
        return True

    def _classify(self, upto: int) -> None:
        """Find the list marker and the kind of line, once the characters up to an event are there."""
        if self._body >= 0:
            return
        text, first = self._text, self._first
        self._body = max(first, 0)
        if first < 0:
            return
        head = text[first]
        if (
            head.isalpha()
            and text[first + 1 : first + 2] not in (")", "）")
            and not text[first : first + STEP_WORD_CHARS].lower().startswith(self._step_heads)
        ):
            if self._fence:
                self._kind = Kind.CODE
            return
        if self._fence:
            self._kind = Kind.CODE
        elif self._line_start:
            self._kind = line_kind(text, first)
        if self._kind is Kind.PROSE and not self._glued:
            end, self._number = item_prefix(text, first, self._last_number, self._language)
            if end > first:
                self._kind, self._body = Kind.ITEM, end

    def _at_terminator(self, start: int, end: int) -> tuple[int, Rule | None] | None:
        text = self._text
        self._classify(start)
        if self._kind not in _PLAIN_KINDS:
            return end, None
        cjk = not _CJK.isdisjoint(text[start:end])
        if cjk:
            if self._quotes is None:
                self._quotes = QuoteState()
            tail = self._quotes.close(text, self._first, start, end)
            if tail is None:
                return None
            if tail < 0:
                return end, None
        else:
            found = TAIL.match(text, end)
            tail = found.end() if found is not None else end
            if "»" in text[tail : tail + 3]:
                tail = self._spaced_guillemet(tail)
            if tail > self._bound:  # what closes here runs over the bound, however much more of it comes
                return self._cut()
            if tail >= len(text):
                return None
            if not text[tail].isspace():
                marker = self._style.match(text, tail)
                if marker <= 0:
                    return None if marker < 0 else (end, None)
        return self._resolve(start, end, tail, cjk)

    def _spaced_guillemet(self, tail: int) -> int:
        """French sets a blank before the closing guillemet (``? »``): it closes all the same."""
        text, first = self._text, self._first
        spaced = _SPACED_GUILLEMET.match(text, tail)
        opened = text.count("«", first, tail) > text.count("»", first, tail)
        return spaced.end() if spaced is not None and opened else tail

    def _resolve(self, start: int, end: int, tail: int, cjk: bool) -> tuple[int, Rule | None] | None:
        """Markers after the terminator belong to its sentence; then the rules decide."""
        text = self._text
        absorbed = absorb(text, tail, self._style, self._max_chars)
        if absorbed is None:
            return None
        last, upto, newlines = absorbed
        if cjk:
            return last, Rule.CJK_TERMINATOR
        candidate = Candidate(
            text,
            self._first,
            self._body,
            start,
            text[start:end],
            text[end:tail],
            upto,
            last > tail,
            newlines,
            self._lexicon,
        )
        answer = judge(candidate)
        if answer is Answer.NEED_MORE:
            return None
        if answer is Answer.NO_BREAK:
            if newlines:
                self._false_dot = start
            return end, None
        return last, candidate.rule

    def _at_newline(self, at: int) -> tuple[int, Rule | None] | None:
        text = self._text
        self._classify(at)
        line = text[self._first : at] if self._line_start else text[self._body : at]
        line = line.rsplit("\n", 1)[-1].rsplit("\r", 1)[-1].strip()
        if self._fence or self._kind is Kind.CODE:
            return at, Rule.STRUCTURE
        tail = len(text[:at].rstrip()) if at > self._first else at
        absorbed = absorb(text, tail, self._style, self._max_chars)
        if absorbed is None:
            return None
        last, upto, newlines = absorbed
        if newlines > 1:
            return last, Rule.BLANK_LINE
        if self._ends_strongly(last):
            return last, Rule.NEWLINE
        if self._kind is not Kind.PROSE or self._is_heading(line):
            if self._kind is Kind.PROSE:
                self._kind = Kind.HEADING
            return last, Rule.STRUCTURE
        structured = starts_structure(text, upto, self._last_number, self._language)
        if structured is None:
            return None
        return (last, Rule.STRUCTURE) if structured else (max(upto, at + 1), None)

    def _ends_strongly(self, end: int) -> bool:
        """Whether the line that ends at `end` ended in a terminator, a marker or a colon."""
        line = self._text[max(self._first, end - 64) : end].rstrip()
        found = _STRONG_END.search(line)
        if found is None:
            return False
        if line[found.start()] in "]］】":
            return any(m.span.end >= len(line) - len(line[found.start() + 1 :]) for m in self._style.find(line))
        return self._false_dot < 0 or self._text[self._false_dot + 1 : end].strip() != ""

    def _is_heading(self, line: str) -> bool:
        if not line or "\n" in line:
            return False
        return is_bold_line(line) or line.rstrip(":：").casefold() in self._lexicon.headings

    def _cut(self) -> tuple[int, Rule] | None:
        end = cut_position(self._text, self._first, self._bound, self._style, self._lexicon.units)
        return None if end is None else (end, Rule.BOUND)

    # -- release ----------------------------------------------------------------------------

    def _release(self, end: int, rule: Rule) -> Sentence:
        if self._body < 0:
            self._classify(end)
        sentence = self._sentence(end, rule)
        self._base += end
        self._text = self._text[end:]
        self._begin(False, rule is _BOUND)
        return sentence

    def _sentence(self, end: int, rule: Rule, *, trailing: bool = False) -> Sentence:
        raw = self._text[:end]
        first = self._first if self._first >= 0 else end
        text = raw[first:] if first else raw
        if trailing:
            text = text.rstrip()
        kind, prefix = self._kind, 0
        if kind is _PROSE:
            if trailing and self._is_heading(text):
                kind = Kind.HEADING
        elif kind is Kind.ITEM:
            prefix = min(max(self._body - first, 0), len(text))
        elif kind is Kind.CODE and text.startswith(("```", "~~~")):
            self._fence = not self._fence
        if self._number:
            self._last_number = self._number
        paragraph = first > 1 and len(LINE_BREAK.findall(raw, 0, first)) > 1
        start = self._base + first
        return Sentence(text, raw, Span(start, start + len(text)), rule, paragraph, kind, prefix)
