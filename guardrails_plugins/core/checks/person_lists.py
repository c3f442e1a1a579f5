"""First-person lists, compiled once per answer language.

English, Persian, Arabic, Russian, Hindi and Chinese apply to every answer: English is the
language of most system prompts, and the other five use scripts in which no Latin name can
equal one of their words. German, French, Spanish and Portuguese apply to their own answers
only: their short words are names and everyday words elsewhere (``Ma et al.``).
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from dataclasses import dataclass

import regex

from guardrails_plugins.core.languages.profile import LANGUAGES, LanguageProfile, load_profile
from guardrails_plugins.core.normalize import fold, normalize

# The Word of SPEC's preamble. Han stands apart: its words have no blanks between them.
WORD = regex.compile(r"[\p{L}\p{M}--\p{Han}]++(?:['’\-‐‑\u200c][\p{L}\p{M}--\p{Han}]++)*+['’]?", regex.V1)

RUN = re.compile(r"[^\W\d_]++")
"""A run of letters. A mark ends one: a superset is enough to pass most sentences at once."""
_HAN_TEXT = "\u3001-\u3020\u4e00-\u9fff，：；？！（）"
# Whatever folding could turn into a letter, drop, or change in a letter is in neither class.
_LETTER_BUT_HAN = re.compile(rf"[^\t-\r -@\[-`{{-~{_HAN_TEXT}“”]")
_FOLDS = re.compile(rf"[^\t-\r -~А-ё{_HAN_TEXT}‐-―‘-”…«»]")
_ASCII_RUNS = bytes(c | 0x20 if chr(c).isalpha() else 0x20 for c in range(128)) + b" " * 128


@dataclass(frozen=True, slots=True)
class PersonLists:
    """`words` maps a first word in matching form to the phrases that begin with it;
    `prefixes` are elided forms (``j'``); `fragments` (Han) count anywhere, save inside one of
    `exceptions`. `runs` and `ascii_runs` hold a run of letters of each entry: text that has none
    of these runs has no listed word."""

    words: dict[str, tuple[tuple[str, ...], ...]]
    runs: frozenset[str]
    ascii_runs: frozenset[bytes]
    prefixes: tuple[str, ...]
    fragments: tuple[str, ...]
    exceptions: tuple[str, ...]
    any_fragment: re.Pattern[str]

    def may_occur(self, text: str) -> bool:
        """False when no listed word can stand in a text: most sentences are passed at once."""
        if text.isascii() and text.isprintable():
            return not self.ascii_runs.isdisjoint(text.encode().translate(_ASCII_RUNS).split())
        if self.any_fragment.search(text) is not None:
            return True
        if _LETTER_BUT_HAN.search(text) is None:
            return False
        if _FOLDS.search(text) is not None:
            text, offsets = fold(text)
            if offsets is not None:  # characters were dropped, and words may have grown together
                return True
        return not self.runs.isdisjoint(RUN.findall(text.casefold()))


@functools.cache
def person_lists(language: str) -> PersonLists:
    """The lists that apply to an answer asked for in `language` (a two-letter code)."""
    profiles = [p for p in map(load_profile, LANGUAGES) if p.person.always or p.code == language]
    words: dict[str, list[tuple[str, ...]]] = {}
    prefixes: set[str] = set()
    fragments: set[str] = set()
    exceptions: set[str] = set()
    for profile in profiles:
        exceptions.update(normalize(e) for e in profile.person.exceptions)
        for entry in _searched(profile, language):
            if profile.script == "han":
                fragments.add(entry)
            elif entry.endswith("'"):
                prefixes.add(entry)
            else:
                phrase = tuple(entry.split())
                words.setdefault(phrase[0], []).append(phrase)
    runs = _runs([*(phrase for phrases in words.values() for phrase in phrases), *((p,) for p in prefixes)])
    return PersonLists(
        words={first: tuple(sorted(set(phrases))) for first, phrases in words.items()},
        runs=runs,
        ascii_runs=frozenset(run.encode() for run in runs if run.isascii()),
        prefixes=tuple(sorted(prefixes)),
        fragments=tuple(sorted(fragments)),
        exceptions=tuple(sorted(exceptions, key=len, reverse=True)),
        any_fragment=re.compile("|".join(map(re.escape, sorted(fragments)))),
    )


def _runs(phrases: list[tuple[str, ...]]) -> frozenset[str]:
    """One run of letters of each phrase, and few in all: ``than me`` and ``it's me`` share ``me``."""
    found = [[RUN.findall(word)[0] for word in phrase] for phrase in phrases]
    shared = Counter(run for runs in found for run in set(runs))
    return frozenset(max(runs, key=lambda run: (shared[run], len(run))) for runs in found)


def _searched(profile: LanguageProfile, language: str) -> list[str]:
    left_out = {normalize(w) for w in profile.person.not_in_languages.get(language, ())}
    return [entry for entry in map(normalize, profile.person.words) if entry not in left_out]
