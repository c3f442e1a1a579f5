"""RULES: what ends a sentence.

Each rule looks at one candidate (a run of terminators with what follows it) and answers
`BREAK`, `NO_BREAK` or `NEED_MORE`, or None to leave it to the next. The first answer stands.
An answer never changes when more text arrives: a rule that cannot know yet says `NEED_MORE`.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from dataclasses import dataclass

import regex

from guardrails_plugins.core.citations import BLANK_CHARS
from guardrails_plugins.core.lexicon import Lexicon
from guardrails_plugins.core.sentence import Rule

WORD_LOOKAHEAD = 32
"""Code points of the next word that are looked at, at most (SPEC 0.7)."""
ABBREVIATION_LOOKBACK = 32
"""Code points before a dot in which an abbreviation can stand."""

FAR = 8
"""Code points from a sentence's start behind which a dot cannot be that of a list marker."""

CJK_TERMINATORS = "。！？"
DOTS = ".…"
CLOSING_QUOTES = "\"'”’»«“›‹"
CLOSING_BRACKETS = ")]}）］"


class Answer(enum.Enum):
    """What a rule says of a candidate."""

    BREAK = "break"
    NO_BREAK = "no_break"
    NEED_MORE = "need_more"


@dataclass(slots=True)
class Candidate:
    """A run of terminators and its surroundings; positions lie in `text`.

    `first`: the sentence's first character; `body`: the first one behind a list marker;
    `start`: the run's first terminator; `run`: the terminators; `closers`: what closes behind
    them; `next`: the first character that is neither whitespace nor marker; `marked`: markers
    follow the run; `newlines`: a line break stands between the run and `next` (two always end it).
    """

    text: str
    first: int
    body: int
    start: int
    run: str
    closers: str
    next: int
    marked: bool
    newlines: bool
    lexicon: Lexicon
    rule: Rule = Rule.TERMINATOR


_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]++(?:['’\-‐‑\u200c][\p{L}\p{M}\p{N}]++)*+")
_SKIPPED = re.compile(r"[*_\"'“”„«»‘’‹›(\[（「『¿¡]*+")
_BEFORE_DOT = regex.compile(r"(?r)[\p{L}\p{M}\p{N}.'’\-‐‑/&\u200c\u200e\u200f]*+")
_INITIALS = regex.compile(r"(?:\p{Lu}\p{M}*+\.[‐-]?+)++")
# Where letters have no case: a letter of the Arabic script, a bare Devanagari letter (one with a
# vowel sign may be a word, as था is), or several of either joined by dots.
_CASELESS_INITIAL = regex.compile(
    r"\p{Arabic}\p{M}*+\.|[\u0905-\u0914\u0915-\u0939]\.|(?:[\p{Arabic}\p{Devanagari}]\p{M}*+\.){2,8}+"
)
_ORDINAL_NUMBER = regex.compile(r"(?r)(?<![\p{L}\p{N}.,])\p{Nd}{1,3}+")
_LIST_NUMBER = regex.compile(r"(?:\*\*|__|\*|_)?+(?:\p{Nd}{1,4}+|\p{L}\p{M}?|[ivxIVX]{1,4})")


def next_word(c: Candidate) -> str | None:
    """The word that begins behind the whitespace (quotes and emphasis skipped); None while it may go on."""
    skipped = _SKIPPED.match(c.text, c.next, c.next + WORD_LOOKAHEAD)
    start = skipped.end() if skipped is not None else c.next
    limit = c.next + WORD_LOOKAHEAD
    found = _WORD.match(c.text, start, limit)
    end = found.end() if found is not None else start
    if end >= len(c.text) and end < limit:
        return None
    # An inner apostrophe or hyphen may still turn out to be inner.
    if end + 1 >= len(c.text) and end < limit and c.text[end] in "'’-‐‑\u200c":
        return None
    return found.group() if found is not None else ""


def list_marker(c: Candidate) -> Answer | None:
    """``1.`` at the start of a sentence belongs to what follows it, list marker or not."""
    if c.run != "." or c.newlines or c.closers.strip("*_") or c.marked:
        return None
    if c.start - c.first >= FAR:
        return None
    head = _LIST_NUMBER.match(c.text, c.first, c.start)
    return Answer.NO_BREAK if head is not None and head.end() == c.start else None


def line_break(c: Candidate) -> Answer | None:
    """A line break behind a terminator ends the sentence, whatever closes between them."""
    if c.newlines:
        c.rule = Rule.NEWLINE
        return Answer.BREAK
    return None


def continuation(c: Candidate) -> Answer | None:
    """A comma, semicolon or colon after the whitespace shows that the sentence goes on."""
    return Answer.NO_BREAK if not c.newlines and c.text[c.next] in ",;:，；：、،؛" else None


def lower_case(c: Candidate) -> Answer | None:
    """A dot or ellipsis before a lower-case letter ends nothing (``et al. and``)."""
    if c.run.strip(DOTS) or c.newlines:
        return None
    char = c.text[c.next]
    if char not in "*_":
        return Answer.NO_BREAK if char.islower() else None
    letter = _first_letter(c)
    if letter is None:
        return Answer.NEED_MORE
    return Answer.NO_BREAK if letter.islower() else None


def abbreviation(c: Candidate) -> Answer | None:
    """Abbreviations by class; see the language files."""
    if c.run != "." or c.closers.strip("*_"):
        return None
    token = token_before(c.text, c.first, c.start)
    known = c.lexicon
    spaced = _spaced(c, token)
    if spaced is not None:
        return spaced
    whole = _longest(c, token)
    if whole in known.never_final:
        return None if c.marked else Answer.NO_BREAK
    if c.newlines or c.marked:
        return None
    if whole in known.before_number:
        return _before_number(c)
    if whole in known.may_end:
        return _before_opener(c)
    return None


def initial(c: Candidate) -> Answer | None:
    """Single initials and dotted capitals (``J. K. Rowling``, ``U.S. GDP``) end a sentence only before an opener."""
    if c.run != "." or c.closers or c.newlines or c.marked:
        return None
    token = token_before(c.text, c.first, c.start)
    if not (_INITIALS.fullmatch(token) or _CASELESS_INITIAL.fullmatch(token)):
        return None
    return _before_opener(c)


def ordinal(c: Candidate) -> Answer | None:
    """In German a number with a dot before a month or another listed word (``am 17. September``)."""
    if c.run != "." or c.closers or c.newlines or c.marked or not c.lexicon.ordinal_followers:
        return None
    if _ORDINAL_NUMBER.match(c.text, max(c.first, c.start - 4), c.start) is None:
        return None
    word = next_word(c)
    if word is None:
        return Answer.NEED_MORE
    return Answer.NO_BREAK if word in c.lexicon.ordinal_followers else None


def closing_bracket(c: Candidate) -> Answer | None:
    """After ``.)`` a line break or a marker ends the sentence; a capital only where the bracket
    opened at the sentence's start."""
    last = c.closers.rstrip("*_")[-1:]
    if not last or last not in CLOSING_BRACKETS:
        return None
    c.rule = Rule.CLOSER
    if c.marked:
        return Answer.BREAK
    if _opening(c) not in ("(", "[", "{", "（", "［"):
        return Answer.NO_BREAK
    letter = _first_letter(c)
    if letter is None:
        return Answer.NEED_MORE
    return Answer.BREAK if letter.isalpha() and not letter.islower() else Answer.NO_BREAK


def closing_quote(c: Candidate) -> Answer | None:
    """After ``?»`` or ``."`` a capital ends the sentence; in scripts without capitals a quote that
    opened at the sentence's start does."""
    last = c.closers.rstrip("*_")[-1:]
    if not last or last not in CLOSING_QUOTES:
        return None
    c.rule = Rule.CLOSER
    if c.marked:
        return Answer.BREAK
    letter = _first_letter(c)
    if letter is None:
        return Answer.NEED_MORE
    if letter.isupper():
        return Answer.BREAK
    if letter.islower() or not letter.isalpha():
        return Answer.NO_BREAK
    return Answer.BREAK if _opening(c) in tuple("\"'“„«»‘”") else Answer.NO_BREAK


def terminator(c: Candidate) -> Answer | None:
    """Nothing spoke against it."""
    return Answer.BREAK


RULES: tuple[Callable[[Candidate], Answer | None], ...] = (
    list_marker,
    abbreviation,
    line_break,
    continuation,
    lower_case,
    initial,
    ordinal,
    closing_bracket,
    closing_quote,
    terminator,
)


def judge(c: Candidate) -> Answer:
    """The first answer that a rule gives."""
    for rule in RULES:
        answer = rule(c)
        if answer is not None:
            return answer
    raise AssertionError("the last rule always answers")


def is_plain(text: str, first: int, dot: int, endings: frozenset[str]) -> bool:
    """Whether the single terminator at `dot`, before a blank, is one at which every rule but the last is silent.

    Most boundaries are: a word or number that is no abbreviation, or a marker, then the
    terminator, one blank, and what can begin a sentence. `endings`: see `Lexicon`.
    """
    following = text[dot + 2 : dot + 3]
    if not following.isalnum():
        return False
    char = text[dot]
    if char != ".":
        return char not in CJK_TERMINATORS and (char != "…" or not following.islower())
    if following.islower() or dot - first < FAR:
        return False
    if text[dot - 2 : dot].isalpha():
        return text[dot - 3 : dot + 1] not in endings and text[dot - 2 : dot + 1] not in endings
    return text[dot - 1] == "]" or text[dot - 4 : dot].isdigit()  # four digits are no ordinal


def token_before(text: str, first: int, dot: int) -> str:
    """The word that ends with the dot at `dot`, dot included."""
    found = _BEFORE_DOT.match(text, max(first, dot - ABBREVIATION_LOOKBACK), dot)
    start = found.start() if found is not None else dot
    return text[start : dot + 1].lstrip("'’-‐‑/&")


def _longest(c: Candidate, token: str) -> str:
    """The token with the words before it, where together they are one listed abbreviation (``и т. д.``)."""
    known = c.lexicon
    start = c.start + 1 - len(token)
    before = c.text[max(c.first, start - ABBREVIATION_LOOKBACK) : start].replace("\u00a0", " ").replace("\u202f", " ")
    parts = before.rstrip(" ").rsplit(" ", 3) if before.endswith(" ") else []
    for count in range(len(parts), 0, -1):
        whole = " ".join([*parts[-count:], token]).lstrip('(«"“„[*_')
        if whole in known.never_final or whole in known.may_end or whole in known.before_number:
            return whole
    return token


def _spaced(c: Candidate, token: str) -> Answer | None:
    """``z.`` of ``z. B.``: the dot is inside an abbreviation written with blanks."""
    if c.newlines or c.marked:
        return None
    for entry in c.lexicon.spaced.get(token, ()):
        rest = entry[len(token) + 1 :]
        ahead = c.text[c.next : c.next + len(rest)].replace("\u00a0", " ").replace("\u202f", " ")
        if ahead == rest:
            return Answer.NO_BREAK
        if c.next + len(rest) > len(c.text) and rest.startswith(ahead):
            return Answer.NEED_MORE
    return None


def _before_number(c: Candidate) -> Answer | None:
    if c.text[c.next].isdigit():
        return Answer.NO_BREAK
    word = next_word(c)
    if word is None:
        return Answer.NEED_MORE
    if (
        any(ch.isdigit() for ch in word)
        or word.casefold() in c.lexicon.number_words
        or regex.fullmatch("[IVXLC]+", word)
    ):
        return Answer.NO_BREAK
    return None


def _before_opener(c: Candidate) -> Answer | None:
    word = next_word(c)
    if word is None:
        return Answer.NEED_MORE
    if len(word) == 1 and c.text[c.next : c.next + 2] == f"{word}.":
        return Answer.NO_BREAK  # another initial
    if _opens(word, c.lexicon.openers) or (not word and c.text[c.next] in "-*•#|"):
        c.rule = Rule.OPENER
        return Answer.BREAK
    return Answer.NO_BREAK


def _opens(word: str, openers: frozenset[str]) -> bool:
    """An opener, also with an elided one before it (``L'équipe``)."""
    if word in openers:
        return True
    head, apostrophe, _ = word.replace("’", "'").partition("'")
    return bool(apostrophe) and f"{head}'" in openers


def _opening(c: Candidate) -> str:
    """The sentence's first character behind a list marker, blanks and emphasis."""
    return c.text[c.body : c.body + WORD_LOOKAHEAD].lstrip(BLANK_CHARS + "*_")[:1]


def _first_letter(c: Candidate) -> str | None:
    """The character behind the quotes and emphasis at `next`; None while it has not arrived, "" behind too many."""
    skipped = _SKIPPED.match(c.text, c.next, c.next + WORD_LOOKAHEAD)
    at = skipped.end() if skipped is not None else c.next
    if at >= c.next + WORD_LOOKAHEAD:
        return ""
    return c.text[at] if at < len(c.text) else None
