"""What is held of a stream: the text of the current sentence, what is known of it, and the next decision.

`Held.step` finds the next event (a terminator, a line break, the bound) and asks `boundary`,
`lines`, `quotes` and `bound` about it. Every decision is a function of the text up to the
character that decides it.
"""

from __future__ import annotations

import re

from guardrails_plugins.core.absorb import TAIL, absorb
from guardrails_plugins.core.bound import cut_position
from guardrails_plugins.core.boundary import CJK_TERMINATORS, DOTS, Answer, is_plain, judge
from guardrails_plugins.core.candidate import Candidate
from guardrails_plugins.core.citations import OPENERS, marker_style
from guardrails_plugins.core.lexicon import lexicon
from guardrails_plugins.core.lines import (
    STEP_WORD_CHARS,
    ends_strongly,
    heading_text,
    is_bold_line,
    item_prefix,
    line_kind,
    starts_structure,
    step_heads,
)
from guardrails_plugins.core.marks import LINE_BREAK, TERMINATORS
from guardrails_plugins.core.quotes import QUOTE_SEARCH, QuoteState, behind_guillemet
from guardrails_plugins.core.sentence import Kind, Rule, Sentence, Span

_NOT_BLANK_SEARCH = re.compile(r"\S").search
_EVENT_SEARCH = re.compile(rf"[{TERMINATORS}]++|[\n\r]").search
_CJK = frozenset(CJK_TERMINATORS)
# Looking a member up in an enum costs as much as ten local names.
_PROSE, _TERMINATOR, _CJK_TERMINATOR, _BOUND = Kind.PROSE, Rule.TERMINATOR, Rule.CJK_TERMINATOR, Rule.BOUND
_PLAIN_KINDS = (Kind.PROSE, Kind.ITEM)


class Held:
    """The current sentence of one stream.

    `text` is the raw text that is held, `base` its place in the stream; `first` its first
    non-blank character (-1: none yet), `scan` where the search for the next event goes on,
    `bound` where it is cut at the latest, `body` its first character behind a list marker
    (-1: not known yet). Positions lie in `text`, in code points.
    """

    __slots__ = (
        "base",
        "body",
        "bound",
        "endings",
        "false_dot",
        "fence",
        "first",
        "glued",
        "kind",
        "language",
        "last_heading",
        "last_number",
        "lexicon",
        "line_start",
        "max_chars",
        "number",
        "quotes",
        "scan",
        "step_heads",
        "style",
        "text",
    )

    def __init__(self, language: str, max_chars: int, marker: str) -> None:
        self.language = language
        self.lexicon = lexicon(language)
        self.endings = self.lexicon.endings
        self.step_heads = step_heads(language)
        self.style = marker_style(marker)
        self.max_chars = max_chars
        self.text = ""
        self.base = 0
        self.bound = 0
        self.fence = False
        self.last_number = 0
        self.last_heading = 0
        self.begin(True, False)

    def begin(self, line_start: bool, glued: bool) -> None:
        """Reset what is known of the current sentence. `glued`: it continues a piece cut at the bound."""
        self.first = -1
        self.scan = 0
        self.body = -1
        self.number = 0
        self.false_dot = -1
        self.line_start = line_start
        self.glued = glued
        self.kind = _PROSE
        self.quotes: QuoteState | None = None

    def step(self) -> tuple[int, Rule | None] | None:
        """The next decision: a boundary (its end, its rule), a position to go on from (and None), or None to wait."""
        text, first = self.text, self.first
        if first < 0:
            if not self.locate_first():
                return None
            first = self.first
        scan = self.scan
        found = _EVENT_SEARCH(text, scan if scan > first else first)
        if found is None:
            if len(text) > self.bound:
                return self._cut()
            self.scan = len(text)
            return None
        start, end = found.span()
        if end > self.bound:
            return self._cut() if len(text) > self.bound else None
        if text[start] in "\n\r":
            return self._at_newline(start)
        size = len(text)
        if end >= size:
            return None  # the run may go on
        if text[end] == " " and end + 1 == size:
            return None  # what follows decides
        if end - start == 1 and text[end] not in "*_":  # emphasis may still belong to a list marker
            if self.body < 0:
                self.classify(start)
            if self.kind in _PLAIN_KINDS:
                quick = self._plain_end(start, end)
                if quick >= 0:
                    return (quick, _CJK_TERMINATOR if text[start] in _CJK else _TERMINATOR) if quick else None
        return self._at_terminator(start, end)

    def _plain_end(self, start: int, end: int) -> int:
        """Where the sentence ends at a single terminator behind which one blank, or a marker between
        two blanks, or an ideograph follows: most do. 0 when that is undecided, -1 to ask all rules."""
        text, following = self.text, self.text[end]
        if following != " ":
            ends = text[start] in _CJK and following.isalnum() and self.quotes is None
            return end if ends and QUOTE_SEARCH(text, self.first, start) is None else -1
        if text[end + 1] not in OPENERS:
            return end if is_plain(text, self.first, start, self.endings) else -1
        last = self.style.match(text, end + 1)
        if last <= 0 or text[start] in _CJK:
            return 0 if last < 0 else -1
        following = text[last : last + 2]
        if following in ("", " "):
            return 0
        # Behind a marker no abbreviation, initial or number holds a sentence together.
        lower = following[-1].islower() and text[start] in DOTS
        return last if following[0] == " " and following[-1].isalnum() and not lower else -1

    def locate_first(self) -> bool:
        found = _NOT_BLANK_SEARCH(self.text)
        if found is None:
            return False
        first = self.first = found.start()
        self.bound = first + self.max_chars
        if first and not (first == 1 and self.text[0] == " ") and LINE_BREAK.search(self.text, 0, first):
            self.line_start, self.glued = True, False
        return True

    def classify(self, upto: int) -> None:
        """Find the list marker and the kind of line, once the characters up to an event are there."""
        if self.body >= 0:
            return
        text, first = self.text, self.first
        self.body = max(first, 0)
        if first < 0:
            return
        head = text[first]
        if (
            head.isalpha()
            and text[first + 1 : first + 2] not in (")", "）")
            and not text[first : first + STEP_WORD_CHARS].lower().startswith(self.step_heads)
        ):
            if self.fence:
                self.kind = Kind.CODE
            return
        if self.fence:
            self.kind = Kind.CODE
        elif self.line_start:
            self.kind = line_kind(text, first)
        if self.kind is Kind.PROSE and not self.glued:
            end, self.number = item_prefix(text, first, self.last_number, self.language)
            if end > first:
                self.kind, self.body = Kind.ITEM, end
        elif self.kind is Kind.HEADING:
            start = heading_text(text, first)
            end, self.number = item_prefix(text, start, self.last_heading, self.language)
            if self.number and end > start:
                self.body = end

    def _at_terminator(self, start: int, end: int) -> tuple[int, Rule | None] | None:
        text = self.text
        if not _CJK.isdisjoint(text[start:end]):
            return self._at_cjk_terminator(start, end)
        found = TAIL.match(text, end)
        tail = found.end() if found is not None else end
        if tail >= len(text):  # what closes here may go on, and may belong to a list marker
            return self._cut() if tail > self.bound else None
        self.classify(start)
        if self.kind not in _PLAIN_KINDS:
            return end, None
        if "»" in text[tail : tail + 3]:
            tail = behind_guillemet(text, self.first, tail)
        if tail > self.bound:  # what closes here runs over the bound, however much more of it comes
            return self._cut()
        if tail >= len(text):
            return None
        if not text[tail].isspace():
            marker = self.style.match(text, tail)
            if marker <= 0:
                return None if marker < 0 else (end, None)
        return self._resolve(start, end, tail, False)

    def _at_cjk_terminator(self, start: int, end: int) -> tuple[int, Rule | None] | None:
        self.classify(start)
        if self.kind not in _PLAIN_KINDS:
            return end, None
        if self.quotes is None:
            self.quotes = QuoteState()
        tail = self.quotes.close(self.text, self.first, start, end)
        if tail is None:
            return None
        return self._resolve(start, end, tail, True) if tail >= 0 else (end, None)

    def _resolve(self, start: int, end: int, tail: int, cjk: bool) -> tuple[int, Rule | None] | None:
        """Markers after the terminator belong to its sentence; then the rules decide."""
        text = self.text
        absorbed = absorb(text, tail, self.style, self.max_chars)
        if absorbed is None:
            return None
        last, upto, newlines = absorbed
        if cjk:
            return last, Rule.CJK_TERMINATOR
        if newlines > 1:
            return last, Rule.BLANK_LINE
        candidate = Candidate(
            text,
            self.first,
            self.body,
            start,
            text[start:end],
            text[end:tail],
            upto,
            last > tail,
            newlines == 1,
            self.lexicon,
        )
        answer = judge(candidate)
        if answer is Answer.NEED_MORE:
            return None
        if answer is Answer.NO_BREAK:
            if newlines:
                self.false_dot = start
            return end, None
        return last, candidate.rule

    def _at_newline(self, at: int) -> tuple[int, Rule | None] | None:
        text = self.text
        self.classify(at)
        line = text[self.first : at] if self.line_start else text[self.body : at]
        line = line.rsplit("\n", 1)[-1].rsplit("\r", 1)[-1].strip()
        tail = len(text[:at].rstrip()) if at > self.first else at
        if self.fence or self.kind is Kind.CODE:
            return tail, Rule.STRUCTURE
        absorbed = absorb(text, tail, self.style, self.max_chars)
        if absorbed is None:
            return None
        last, upto, newlines = absorbed
        if newlines > 1:
            return last, Rule.BLANK_LINE
        if ends_strongly(text, self.first, last, self.style, self.false_dot):
            return last, Rule.NEWLINE
        if self.kind is not Kind.PROSE or self._is_heading(line):
            if self.kind is Kind.PROSE:
                self.kind = Kind.HEADING
            return last, Rule.STRUCTURE
        structured = starts_structure(text, upto, self.last_number, self.language)
        if structured is None:
            return None
        return (last, Rule.STRUCTURE) if structured else (max(upto, at + 1), None)

    def _is_heading(self, line: str) -> bool:
        if not line or "\n" in line:
            return False
        return is_bold_line(line) or line.rstrip(":：").casefold() in self.lexicon.headings

    def _cut(self) -> tuple[int, Rule] | None:
        end = cut_position(self.text, self.first, self.bound, self.style, self.lexicon.units)
        return None if end is None else (end, Rule.BOUND)

    def release(self, end: int, rule: Rule) -> Sentence:
        if self.body < 0:
            text = self.text
            if rule is _BOUND:  # what stands behind the cut has not always arrived
                self.text = text[:end]
            self.classify(end)
            self.text = text
        sentence = self.sentence(end, rule)
        self.base += end
        self.text = self.text[end:]
        self.begin(False, rule is _BOUND)
        return sentence

    def sentence(self, end: int, rule: Rule, *, trailing: bool = False) -> Sentence:
        raw = self.text[:end]
        first = self.first if self.first >= 0 else end
        text = raw[first:] if first else raw
        if trailing:
            text = text.rstrip()
        kind, prefix = self.kind, 0
        if kind is _PROSE:
            if trailing and self._is_heading(text):
                kind = Kind.HEADING
        elif kind is Kind.ITEM or (kind is Kind.HEADING and self.number):
            prefix = min(max(self.body - first, 0), len(text))
        elif kind is Kind.CODE and text.startswith(("```", "~~~")):
            self.fence = not self.fence
        if self.number:
            if kind is Kind.HEADING:  # numbered headings count apart from the lists under them
                self.last_heading = self.number
            else:
                self.last_number = self.number
        paragraph = first > 1 and len(LINE_BREAK.findall(raw, 0, first)) > 1
        start = self.base + first
        return Sentence(text, raw, Span(start, start + len(text)), rule, paragraph, kind, prefix)
