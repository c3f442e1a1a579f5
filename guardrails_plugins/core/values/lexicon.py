"""The words around numbers, merged from the language files and looked up by matching form."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass

from guardrails_plugins.core.languages.profile import LANGUAGES, LanguageProfile, load_profile
from guardrails_plugins.core.normalize import normalize

JOINERS = frozenset(
    {"to", "and", "or", "bis", "und", "oder", "à", "et", "ou", "a", "y", "e", "до", "и", "или", "تا", "و", "إلى", "الی",
     "से", "और", "至", "到", "和", "或"}
)  # fmt: skip
"""Words between two numbers that share a unit, or are listed."""
_RUN = re.compile(r"[^\W\d_]++")
_HAN_EDGES = "第之月日号號点點时時分半百千万萬亿億兆"
"""Ideographs that the readers of dates, times and large numbers know without a list."""
_YEAR = "年"

FIRST_EAST_ASIAN = "\u2e80"
"""From here on scripts have no blanks between words: what follows a number may belong to it."""


def head_of(text: str, position: int = 0) -> str:
    """The run of letters that starts at `position`, or the one character there (East Asian ones too); "" at the end."""
    char = text[position : position + 1]
    if char >= FIRST_EAST_ASIAN:
        return char
    run = _RUN.match(text, position)
    return run.group() if run is not None else char


@dataclass(frozen=True, slots=True)
class Words:
    """Entry in matching form to its meaning; `longest` is the most words an entry has.

    `heads` are the entries' first runs of letters (or first signs), `tails` their last two
    characters: text with neither beside a number holds no entry there.
    """

    entries: Mapping[str, str]
    longest: int
    heads: frozenset[str]
    tails: frozenset[str]

    @classmethod
    def of(cls, *mappings: Mapping[str, str]) -> Words:
        """The mappings merged; the first to name an entry wins."""
        merged: dict[str, str] = {}
        for mapping in mappings:
            for word, meaning in mapping.items():
                merged.setdefault(normalize(word), meaning)
        longest = max((w.count(" ") + w.count("-") + 1 for w in merged), default=1)
        return cls(merged, longest, frozenset(map(head_of, merged)), frozenset(w[-2:] for w in merged))


@dataclass(frozen=True, slots=True)
class Lexicon:
    """What the readers of values know of one language, English, and (in sources) of those in other scripts.

    `decimal` is "" where the language is unknown: both readings of an ambiguous number stand.
    `attached`: the first and last runs of letters of all that can belong to a number beside it;
    `edges`: the first and last characters of all that can where no blank stands between.
    Months map to ``g:9``, ``p:6``, ``i:9`` (Gregorian, Persian, Islamic).
    """

    code: str
    decimal: str
    blank_groups: bool
    order: str
    magnitudes: Words
    suffixes: Mapping[str, int]
    percent: Words
    fillers: Words
    halves: Words
    currencies: Words
    currency_signs: Mapping[str, str]
    ordinal_suffixes: frozenset[str]
    ordinal_dot: bool
    months: Words
    connectors: frozenset[str]
    year_words: frozenset[str]
    am: Words
    hour: Words
    minute: Words
    noon: Words
    mentions: Words
    number_words: Mapping[str, str]
    domain_endings: frozenset[str]
    attached: frozenset[str]
    edges: frozenset[str]


@functools.cache
def answer_lexicon(code: str) -> Lexicon:
    """The lexicon of an answer in a language: its own words and the English ones."""
    return _lexicon(code, (code, "en"), load_profile(code).numbers.decimal)


@functools.cache
def source_lexicon(code: str, known: bool) -> Lexicon:
    """The lexicon of a source: `code` first, then English, then the languages of other scripts.

    Those share no word with it; the other Latin ones would (Spanish ``miles`` is thousands, French
    ``cents`` hundreds). With `known` false the language is only a guess, and an ambiguous number
    keeps both readings.
    """
    apart = [c for c in LANGUAGES if load_profile(c).script != "latin"]
    return _lexicon(code, (code, "en", *apart), load_profile(code).numbers.decimal if known else "")


def _lexicon(code: str, codes: tuple[str, ...], decimal: str) -> Lexicon:
    profiles = [load_profile(c) for c in dict.fromkeys(codes)]
    own = profiles[0]
    suffixes: dict[str, int] = {}
    for profile in profiles:
        for word, exponent in profile.numbers.magnitude_suffixes.items():
            suffixes.setdefault(word, exponent)
    words = _words(profiles)
    return Lexicon(
        code=code,
        decimal=decimal,
        blank_groups=not decimal or own.numbers.plain_blank_groups,
        order=own.dates.order,
        magnitudes=words["magnitudes"],
        suffixes=suffixes,
        percent=words["percent"],
        fillers=words["fillers"],
        halves=words["halves"],
        currencies=words["currencies"],
        currency_signs=_signs(profiles),
        ordinal_suffixes=frozenset(normalize(s).lstrip("-") for p in profiles for s in p.numbers.ordinal_suffixes),
        ordinal_dot=own.numbers.ordinal_dot,
        months=words["months"],
        connectors=frozenset(normalize(w) for p in profiles for w in p.dates.connectors),
        year_words=frozenset(normalize(w) for p in profiles for w in (*p.dates.year_words, *p.dates.connectors)),
        am=words["am"],
        hour=words["hour"],
        minute=words["minute"],
        noon=Words.of(
            *({**dict.fromkeys(p.clock.noon, "720"), **dict.fromkeys(p.clock.midnight, "0")} for p in profiles)
        ),
        mentions=words["mentions"],
        number_words={normalize(w): n for p in reversed(profiles) for w, n in p.numbers.words.items()},
        domain_endings=frozenset(e for c in LANGUAGES for e in load_profile(c).domain_endings),
        attached=_attached(words, suffixes, profiles),
        edges=_edges(words, suffixes, profiles),
    )


def _words(profiles: list[LanguageProfile]) -> dict[str, Words]:
    return {
        "magnitudes": Words.of(*({w: str(e) for w, e in p.numbers.magnitudes.items()} for p in profiles)),
        "percent": Words.of(*(dict.fromkeys(p.numbers.percent, "%") for p in profiles)),
        "fillers": Words.of(*(dict.fromkeys(p.numbers.fillers, "+") for p in profiles)),
        "halves": Words.of(*(dict.fromkeys(p.numbers.halves, "5") for p in profiles)),
        "currencies": Words.of(*(p.numbers.currencies for p in profiles)),
        "months": Words.of(*map(_months, profiles)),
        "am": Words.of(*({**dict.fromkeys(p.clock.am, "am"), **dict.fromkeys(p.clock.pm, "pm")} for p in profiles)),
        "hour": Words.of(*(dict.fromkeys(p.clock.hour, "h") for p in profiles)),
        "minute": Words.of(*(dict.fromkeys(p.clock.minute, "m") for p in profiles)),
        "mentions": Words.of(*(dict.fromkeys(p.source_mentions, "s") for p in profiles[:2])),
    }


def _attached(
    words: Mapping[str, Words], suffixes: Mapping[str, int], profiles: list[LanguageProfile]
) -> frozenset[str]:
    entries = [e for w in words.values() for e in w.entries]
    entries += [e.casefold() for e in suffixes]
    entries += [normalize(c) for p in profiles for c in p.dates.connectors]
    runs = [r for r in map(_RUN.findall, entries) if r]
    return frozenset({*(r[0] for r in runs), *(r[-1] for r in runs), *"hmbt第"})


def _edges(words: Mapping[str, Words], suffixes: Mapping[str, int], profiles: list[LanguageProfile]) -> frozenset[str]:
    entries = [e for w in words.values() for e in w.entries]
    entries += [normalize(e) for e in suffixes]
    entries += [normalize(e) for p in profiles for e in (*p.dates.connectors, *p.numbers.ordinal_suffixes)]
    entries += [normalize(e) for p in profiles for e in p.numbers.currencies]
    listed = {c for e in (*entries, *JOINERS) if e for c in (e[0], e[-1])}
    return frozenset(listed | set(_HAN_EDGES)) - {_YEAR}


def _signs(profiles: list[LanguageProfile]) -> dict[str, str]:
    signs: dict[str, str] = {}
    for profile in profiles:
        for word, code in profile.numbers.currencies.items():
            if (not word[-1].isalpha() and word[-1] != ".") or (len(word) == 3 and word.isupper()):
                signs.setdefault(normalize(word), code)
    return signs


def _months(profile: LanguageProfile) -> dict[str, str]:
    dates = profile.dates
    calendars = (("g", dates.months), ("p", dates.persian_months), ("i", dates.islamic_months))
    return {w: f"{c}:{i + 1}" for c, months in calendars for i, names in enumerate(months) for w in names}
