"""First-person lists, compiled once per answer language.

English, Persian, Arabic, Russian, Hindi and Chinese apply to every answer: English is the
language of most system prompts, and the other five use scripts in which no Latin name can
equal one of their words. German, French, Spanish and Portuguese apply to their own answers
only: their short words are names and everyday words elsewhere (``Ma et al.``).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import regex

from guardrails_plugins.core.languages.profile import LANGUAGES, LanguageProfile, load_profile
from guardrails_plugins.core.normalize import normalize

# The Word of SPEC's preamble. Han stands apart: its words have no blanks between them.
WORD = regex.compile(r"[\p{L}\p{M}--\p{Han}]++(?:['’\-‐‑\u200c][\p{L}\p{M}--\p{Han}]++)*+['’]?", regex.V1)


@dataclass(frozen=True, slots=True)
class PersonLists:
    """`words` maps a first word in matching form to the phrases that begin with it;
    `ascii_words` hold one word of each that plain ASCII text can hold; `prefixes` are elided forms
    (``j'``); `fragments` (Han) count anywhere, save inside one of `exceptions`."""

    words: dict[str, tuple[tuple[str, ...], ...]]
    ascii_words: frozenset[str]
    prefixes: tuple[str, ...]
    fragments: tuple[str, ...]
    exceptions: tuple[str, ...]


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
    return PersonLists(
        words={first: tuple(sorted(set(phrases))) for first, phrases in words.items()},
        ascii_words=frozenset(max(p, key=len) for ps in words.values() for p in ps if all(map(str.isascii, p))),
        prefixes=tuple(sorted(prefixes)),
        fragments=tuple(sorted(fragments)),
        exceptions=tuple(sorted(exceptions, key=len, reverse=True)),
    )


def _searched(profile: LanguageProfile, language: str) -> list[str]:
    left_out = {normalize(w) for w in profile.person.not_in_languages.get(language, ())}
    return [entry for entry in map(normalize, profile.person.words) if entry not in left_out]
