"""The words of a language that the splitter's rules know, merged with the English ones."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from guardrails_plugins.core.languages.profile import LanguageProfile, load_profile


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The words of a language (and of English) that the rules know.

    `endings` are the last four characters of each abbreviation (all of a shorter one), dot
    included: a word that does not end so is none.
    """

    never_final: frozenset[str]
    before_number: frozenset[str]
    may_end: frozenset[str]
    spaced: dict[str, tuple[str, ...]]
    openers: frozenset[str]
    number_words: frozenset[str]
    ordinal_followers: frozenset[str]
    headings: frozenset[str]
    has_case: bool
    units: frozenset[str]
    endings: frozenset[str]


@functools.cache
def lexicon(language: str) -> Lexicon:
    """The lexicon of a two-letter code; English abbreviations and openers belong to every one."""
    profile, english = load_profile(language), load_profile("en")
    both = (profile, english)
    never = {w for p in both for w in p.abbreviations.never_final}
    number = {w for p in both for w in p.abbreviations.before_number} - never
    may = {w for p in both for w in p.abbreviations.may_end} - set(profile.abbreviations.never_final)
    spaced: dict[str, list[str]] = {}
    for entry in (*never, *may, *number):
        if " " in entry:
            spaced.setdefault(entry.split(" ", 1)[0], []).append(entry)
    followers: set[str] = set()
    if profile.numbers.ordinal_dot:
        months = (m for names in profile.dates.months for m in names)
        followers = {w.rstrip(".") for w in (*profile.numbers.ordinal_followers, *months, *profile.dates.weekdays)}
    return Lexicon(
        never_final=_capitalised(never),
        before_number=_capitalised(number),
        may_end=_capitalised(may),
        spaced={k: tuple(sorted(v, key=len, reverse=True)) for k, v in spaced.items()},
        openers=frozenset(w for p in both for w in p.openers),
        number_words=frozenset(w.casefold() for p in both for w in p.numbers.words),
        ordinal_followers=frozenset(followers),
        headings=frozenset(w.casefold() for p in both for w in p.headings),
        has_case=profile.has_case,
        endings=_endings((*_capitalised(never), *_capitalised(number), *_capitalised(may), *spaced)),
        units=frozenset(w.casefold().rstrip(".") for p in both for w in _unit_words(p)),
    )


def _unit_words(profile: LanguageProfile) -> Iterator[str]:
    """First words of what belongs to the number before it: magnitudes, percent, currencies, months."""
    numbers = profile.numbers
    for words in (
        numbers.magnitudes,
        numbers.magnitude_suffixes,
        numbers.percent,
        numbers.currencies,
        *profile.dates.months,
    ):
        yield from (word.split(" ")[0] for word in words)


def _capitalised(entries: set[str]) -> frozenset[str]:
    return frozenset(entries | {e[:1].upper() + e[1:] for e in entries})


def _endings(entries: Iterable[str]) -> frozenset[str]:
    return frozenset(e[-4:] for e in entries if e.endswith("."))
