"""An answer over documents does not speak in the first person."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import regex

from guardrails_plugins.core.checks.base import CheckContext
from guardrails_plugins.core.checks.person_lists import WORD, PersonLists, person_lists
from guardrails_plugins.core.normalize import fold, normalize
from guardrails_plugins.core.outcome import Code, Violation
from guardrails_plugins.core.sentence import Sentence

RULE = "grammatical_person"

SHOUTED_WORDS = 4
"""From so many words on, a sentence wholly in capitals has no acronyms (SPEC section 4)."""

# What a Roman numeral one stands behind. Regnal names (Elizabeth I) are known by what follows.
NUMBERED_NOUNS = frozenset(
    {"act", "annex", "appendix", "article", "band", "book", "buch", "capítulo", "category", "chapitre", "chapter",
     "class", "clause", "division", "figure", "grade", "group", "kapitel", "klasse", "level", "livre", "livro",
     "model", "nivel", "nível", "number", "parte", "part", "partie", "phase", "schedule", "section", "stage", "step",
     "stufe", "table", "teil", "tier", "title", "tome", "tomo", "type", "volume", "vol", "war", "world", "i", "ii",
     "iii", "factor", "form", "formula", "goal", "generation", "mark", "method", "option", "plan", "pillar",
     "region", "round", "series", "session", "suite", "ste", "apt", "apartment", "unit", "gate", "zone",
     "zona", "tipo", "fase", "grado", "grau", "artículo", "artigo", "libro", "anexo", "anhang", "abschnitt",
     "artikel", "annexe", "titre", "niveau", "titel", "guerra", "guerre", "krieg", "weltkrieg", "mundial",
     "mondiale"}
)  # fmt: skip
# Before a name and a numeral: King George I ruled.
REGNAL_TITLES = frozenset(
    {"king", "queen", "emperor", "empress", "pope", "patriarch", "tsar", "czar", "tsarina", "prince", "princess",
     "duke", "sultan", "shah", "kaiser", "caliph", "pharaoh", "saint"}
)  # fmt: skip
# In an answer of another language the letter is the pronoun only where English stands around it:
# two of these words in the sentence, or one of those behind it.
_ENGLISH = frozenset(
    {"the", "and", "that", "of", "to", "is", "you", "this", "it", "with", "for", "was", "are", "not", "your", "my"}
)
_BEHIND_I = frozenset(
    {"am", "was", "have", "had", "will", "would", "can", "cannot", "can't", "could", "couldn't", "do", "don't", "did",
     "didn't", "should", "must", "may", "might", "think", "believe", "know", "hope", "need", "want", "found", "find",
     "see", "saw", "suggest", "recommend", "apologize", "understand", "also", "just", "only", "really"}
)  # fmt: skip
# What a person does, and a phase, a type or a group does not.
_NO_NUMERAL_DOES = frozenset(
    {"am", "read", "saw", "think", "thought", "like", "liked", "love", "loved", "want", "wanted", "know", "knew",
     "wrote", "bought", "need", "needed", "mentioned", "said", "recommend", "suggest", "prefer"}
)  # fmt: skip
_REGNAL_NEXT = re.compile(r"\s*+(?:[,.;:)\]/&]|['’]s\b|of\b|and II\b|or II\b|&|[–-]\s*+I|\(|$)")
_NAMES_BEFORE = regex.compile(r"[\p{L}\p{M}]++(?=[^\p{L}\p{M}]*+$)")
_ETAL = re.compile(r"\s++et\s++al\b")
_QUOTED = re.compile(r"“[^“”]*+”|\"[^\"]*+\"|«[^«»]*+»|„[^„“”]*+[“”]|»[^«»]*+«|「[^「」]*+」|『[^『』]*+』")
_SENTENCE_START = re.compile(r"(?:^|[.!?…:;؟。！？\n][\"'”’»)\]]*+\s*+|[\"“”„«»‘(\[*_/|>—–]\s*+|(?:^|\s)-\s*+)$")


class _Word(NamedTuple):
    """A word of the shown form: its span, its text, its first-to-last part in matching form."""

    start: int
    end: int
    text: str
    folded: str


def grammatical_person(sentence: Sentence, context: CheckContext) -> Iterable[Violation]:
    """`first_person` for each listed word that stands for the speaker.

    Dropped first: acronyms (two or more capitals), the surname before ``et al.``, Roman
    numerals, capitalised words inside a proper name, and quotations that a cited source holds.
    """
    if not context.policy.person:
        return ()
    lists = person_lists(context.language)
    text = context.shown
    if not lists.may_occur(text):
        return ()
    english = context.language == "en"
    found = list(_found(text, lists, english))
    folded, offsets = fold(text)
    if offsets is not None:  # invisible characters may part a word, and may have hidden it
        places = [(offsets[start], offsets[end - 1] + 1) for start, end in _found(folded, lists, english)]
        found = sorted({*found, *places})
    return [
        Violation(Code.FIRST_PERSON, context.to_raw((start, end)), "word", RULE)
        for start, end in found
        if not _quoted(text, start, end, context)
    ]


def _found(text: str, lists: PersonLists, english: bool) -> Iterator[tuple[int, int]]:
    yield from _fragments(text, lists)
    words = [part for match in WORD.finditer(text) for part in _parts(match)]
    shouted = _is_shouted(text, words)
    for i, word in enumerate(words):
        length = _phrase_length(words, i, lists)
        if length and not _is_excepted(text, words, i, length, lists) and _counts(text, words, i, shouted, english):
            yield word.start, words[i + length - 1].end


def _parts(match: regex.Match[str]) -> Iterator[_Word]:
    """A word as it stands; one with ZWNJ (a blank in matching form) as its parts."""
    start = match.start()
    for part in match.group().split("\u200c"):
        text = part.rstrip("'’")
        folded = normalize(part if part[:-1].casefold() in ("j", "m") else text)
        yield _Word(start, start + len(text), text, folded)
        start += len(part) + 1


def _phrase_length(words: list[_Word], i: int, lists: PersonLists) -> int:
    folded = words[i].folded
    for phrase in lists.words.get(folded, ()):
        if tuple(w.folded for w in words[i : i + len(phrase)]) == phrase:
            return len(phrase)
    return 1 if lists.prefixes and folded.startswith(lists.prefixes) else 0


def _fragments(text: str, lists: PersonLists) -> Iterator[tuple[int, int]]:
    if text.isascii():
        return
    for fragment in lists.fragments:
        at = text.find(fragment)
        while at >= 0:
            if not _inside_exception(text, at, at + len(fragment), lists):
                yield at, at + len(fragment)
            at = text.find(fragment, at + 1)


def _inside_exception(text: str, start: int, end: int, lists: PersonLists) -> bool:
    longest = max(map(len, lists.exceptions), default=0)
    low = max(0, start - longest)
    around = text[low : end + longest].casefold().replace("’", "'")
    for exception in lists.exceptions:
        at = around.find(exception)
        while at >= 0:
            if at <= start - low and end - low <= at + len(exception):
                return True
            at = around.find(exception, at + 1)
    return False


def _is_excepted(text: str, words: list[_Word], i: int, length: int, lists: PersonLists) -> bool:
    return bool(lists.exceptions) and _inside_exception(text, words[i].start, words[i + length - 1].end, lists)


def _is_shouted(text: str, words: list[_Word]) -> bool:
    return len(words) >= SHOUTED_WORDS and text.isupper()


def _counts(text: str, words: list[_Word], i: int, shouted: bool, english: bool) -> bool:
    """Whether a listed word stands for the speaker rather than for a name, a numeral or an acronym."""
    word = words[i]
    if len(word.text) > 1 and word.text.isupper() and not shouted:
        return False
    if _ETAL.match(text, word.end):
        return False
    if word.text in ("i", "I"):
        return (english or _is_english(words, i)) and _is_pronoun_i(text, words, i)
    capitalised = word.text[:1].isupper() and word.text[1:2] not in "'’" and not word.text.isupper()
    # A capital inside a sentence is a proper name or a title: My Fair Lady, Me Too.
    return not capitalised or _SENTENCE_START.search(text, 0, word.start) is not None


def _is_english(words: list[_Word], i: int) -> bool:
    following = words[i + 1].folded if i + 1 < len(words) else ""
    return following in _BEHIND_I or sum(word.folded in _ENGLISH for word in words) > 1


def _is_pronoun_i(text: str, words: list[_Word], i: int) -> bool:
    word = words[i]
    before, after = text[max(0, word.start - 1) : word.start], text[word.end : word.end + 1]
    if (
        before == after == "_"
        and not (text[word.end + 1 : word.end + 2] + text[word.start - 2 : word.start - 1]).isalnum()
    ):
        return True  # emphasis
    if after in (")", "]", "/", "^", "_", "=") or before in ("/", "_", "^", "=", "&", "."):
        return False
    if after == "." and (text[word.end + 1 : word.end + 2].isalpha() or word.start == 0 or before in ("\n", "(")):
        return False  # i.e., an initial, a numbered heading
    if word.text == "i":
        return after.isspace() and before not in ("(", "*", "$", "`")
    if text[: word.start].rstrip().endswith("+"):
        return False  # a key: Windows + I
    previous = words[i - 1] if i else None
    if previous is None or text[previous.end : word.start].strip(" \u00a0*_"):
        return True
    if previous.folded in NUMBERED_NOUNS and previous.text.islower() and i + 1 < len(words):
        return words[i + 1].folded in _NO_NUMERAL_DOES  # the book I read
    if previous.folded in NUMBERED_NOUNS or (
        i > 1 and words[i - 2].folded in REGNAL_TITLES and previous.text.istitle()
    ):
        return False
    return not (previous.text[:1].isupper() and previous.start > 0 and _REGNAL_NEXT.match(text, word.end))


def _quoted(text: str, start: int, end: int, context: CheckContext) -> bool:
    cited = context.cited or None
    for quoted in _QUOTED.finditer(text):
        if quoted.start() < start and end < quoted.end():
            inner = normalize(quoted.group()[1:-1]).strip(" .,;:!?…")
            return bool(inner) and context.index.contains_quote(inner, cited)
    return False
