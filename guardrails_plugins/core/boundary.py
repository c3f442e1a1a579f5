"""RULES: what ends a sentence.

Each rule looks at one candidate (a run of terminators with what follows it) and answers
`BREAK`, `NO_BREAK` or `NEED_MORE`, or None to leave it to the next. The first answer stands.
An answer never changes when more text arrives: a rule that cannot know yet says `NEED_MORE`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable

import regex

from guardrails_plugins.core.candidate import (
    Candidate,
    first_letter,
    longest_abbreviation,
    next_word,
    opening,
    token_before,
)
from guardrails_plugins.core.sentence import Rule

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


_INITIALS = regex.compile(r"(?:\p{Lu}\p{M}*+\.[‐-]?+)++")
# Where letters have no case: a letter of the Arabic script, a bare Devanagari letter (one with a
# vowel sign may be a word, as था is), or several of either joined by dots.
_CASELESS_INITIAL = regex.compile(
    r"\p{Arabic}\p{M}*+\.|[\u0905-\u0914\u0915-\u0939]\.|(?:[\p{Arabic}\p{Devanagari}]\p{M}*+\.){2,8}+"
)
_ORDINAL_NUMBER = regex.compile(r"(?r)(?<![\p{L}\p{N}.,])\p{Nd}{1,3}+")
_LIST_NUMBER = regex.compile(r"(?:\*\*|__|\*|_)?+(?:\p{Nd}{1,4}+|\p{L}\p{M}?|[ivxIVX]{1,4})")


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
    letter = first_letter(c)
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
    whole = longest_abbreviation(c, token)
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
    if opening(c) not in ("(", "[", "{", "（", "［"):
        return Answer.NO_BREAK
    letter = first_letter(c)
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
    letter = first_letter(c)
    if letter is None:
        return Answer.NEED_MORE
    if letter.isupper():
        return Answer.BREAK
    if letter.islower() or not letter.isalpha():
        return Answer.NO_BREAK
    return Answer.BREAK if opening(c) in tuple("\"'“„«»‘”") else Answer.NO_BREAK


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
