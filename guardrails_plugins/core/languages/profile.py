"""One language's data, read strictly from its TOML file.

A `LanguageProfile` is immutable and shared: `load_profile` reads each file once per
process, so that profiles compare and hash by identity. Every entry is checked when it is
read; a wrong one is a `LanguageDataError` that names the file and the entry.
`_template.toml` explains each key.
"""

from __future__ import annotations

import functools
import string
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib import resources

from guardrails_plugins.core.errors import LanguageDataError, LanguageError
from guardrails_plugins.core.languages.strict import (
    Months,
    WordMap,
    Words,
    check_choice,
    check_duplicates,
    read_table,
)

LANGUAGES: Words = ("ar", "de", "en", "es", "fa", "fr", "hi", "pt", "ru", "zh")
"""The tags for which a file exists, sorted."""

DATE_ORDERS = ("dmy", "mdy", "ymd")
SCRIPTS = ("latin", "cyrillic", "arabic", "devanagari", "han")
DIRECTIONS = ("ltr", "rtl")
DATE_PARTS = ("year", "month", "day")
PLACEHOLDERS = ("marker", "token", "count")


@dataclass(frozen=True, slots=True, eq=False)
class Abbreviations:
    """Abbreviations by class, each written exactly as in text, final dot included."""

    never_final: Words
    before_number: Words
    may_end: Words


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """Words that number a step at the start of a line (``Step 1:``)."""

    step_words: Words


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """How numbers are written; separators after CLDR `numbers/symbols`."""

    decimal: str
    group: Words
    plain_blank_groups: bool
    indian_grouping: bool
    magnitudes: Mapping[str, int]
    magnitude_suffixes: Mapping[str, int]
    percent: Words
    fillers: Words
    halves: Words
    words: WordMap
    ordinal_words: WordMap
    ordinal_suffixes: Words
    ordinal_dot: bool
    ordinal_followers: Words
    currencies: WordMap


@dataclass(frozen=True, slots=True, eq=False)
class Dates:
    """Month names (twelve tuples of spellings), orders and eras."""

    order: str
    months: Months
    persian_months: Months
    islamic_months: Months
    weekdays: Words
    year_words: Words
    connectors: Words
    suffixes: Mapping[str, str]
    eras: Words


@dataclass(frozen=True, slots=True, eq=False)
class Clock:
    """Words beside clock times."""

    am: Words
    pm: Words
    hour: Words
    minute: Words
    noon: Words
    midnight: Words


@dataclass(frozen=True, slots=True, eq=False)
class Person:
    """The first-person list and what is dropped before it is read."""

    always: bool
    words: Words
    exceptions: Words
    not_in_languages: Mapping[str, Words]


@dataclass(frozen=True, slots=True, eq=False)
class Notices:
    """The fixed texts shown to a reader, one sentence each."""

    withheld: str
    refused: str
    truncated: str
    error: str


@dataclass(frozen=True, slots=True, eq=False)
class Prompt:
    """The parts of the system prompt; `{marker}`, `{token}` and `{count}` are filled in."""

    role: str
    markers: str
    person: str
    refusal: str
    sources: str
    untrusted: str


@dataclass(frozen=True, slots=True, eq=False)
class LanguageProfile:
    """All that the gate knows of one language; see `_template.toml` for each key."""

    code: str
    name: str
    script: str
    has_case: bool
    direction: str
    openers: Words
    source_mentions: Words
    domain_endings: Words
    headings: Words
    abbreviations: Abbreviations
    lists: Lists
    numbers: Numbers
    dates: Dates
    clock: Clock
    person: Person
    notices: Notices
    prompt: Prompt


def resolve_language(tag: str) -> str:
    """The two-letter code whose file serves a BCP 47 tag (``pt-BR`` is ``pt``).

    Raises `LanguageError` (listing the languages that exist) for any other tag or type.
    """
    if isinstance(tag, str):
        code = tag.replace("_", "-").split("-", 1)[0].lower()
        if code in LANGUAGES:
            return code
    raise LanguageError(
        f"no language data for {tag!r}; use one of {', '.join(LANGUAGES)} (a BCP 47 tag such as 'pt-BR' is 'pt')"
    )


def load_profile(tag: str) -> LanguageProfile:
    """The profile of a BCP 47 tag; one object per language and process, whatever the region.

    Raises `LanguageError` for an unknown tag and `LanguageDataError` for a malformed file.
    """
    return _read_profile(resolve_language(tag))


@functools.cache
def _read_profile(code: str) -> LanguageProfile:
    name = f"{code}.toml"
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    return parse_profile(text, name)


def parse_profile(text: str, name: str) -> LanguageProfile:
    """Read a language file's text strictly; `name` is what errors call it."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise LanguageDataError(f"{name}: not valid TOML: {error}") from None
    profile: LanguageProfile = read_table(LanguageProfile, data, name, "")
    if f"{profile.code}.toml" != name:
        raise LanguageDataError(f"{name}: code is {profile.code!r}, the file name says otherwise")
    _check_choices(profile, name)
    _check_abbreviations(profile.abbreviations, name)
    _check_numbers(profile.numbers, name)
    _check_person(profile.person, name)
    for part in fields(Prompt):
        _check_placeholders(getattr(profile.prompt, part.name), name, f"prompt.{part.name}")
    return profile


def _check_choices(profile: LanguageProfile, file: str) -> None:
    check_choice(profile.script, SCRIPTS, file, "script")
    check_choice(profile.direction, DIRECTIONS, file, "direction")
    check_choice(profile.dates.order, DATE_ORDERS, file, "dates.order")
    for part in profile.dates.suffixes:
        check_choice(part, DATE_PARTS, file, "dates.suffixes")
    for tag in profile.person.not_in_languages:
        check_choice(tag, LANGUAGES, file, "person.not_in_languages")


def _check_abbreviations(abbreviations: Abbreviations, file: str) -> None:
    every = [*abbreviations.never_final, *abbreviations.before_number, *abbreviations.may_end]
    check_duplicates(every, file, "abbreviations")
    for entry in every:
        if not entry.endswith("."):
            raise LanguageDataError(f"{file}: abbreviations: {entry!r} must end with its dot")


def _check_numbers(numbers: Numbers, file: str) -> None:
    for at, words in (("numbers.words", numbers.words), ("numbers.ordinal_words", numbers.ordinal_words)):
        for word, digits in words.items():
            if not (digits.isascii() and digits.replace(".", "", 1).isdecimal()):
                raise LanguageDataError(f"{file}: {at}.{word} must be ASCII digits, is {digits!r}")
    for word, code in numbers.currencies.items():
        if not all(len(c) == 3 and c.isascii() and c.isalpha() and c.isupper() for c in code.split("/")):
            raise LanguageDataError(
                f"{file}: numbers.currencies.{word} must be an ISO 4217 code, or several with / between, is {code!r}"
            )


def _check_person(person: Person, file: str) -> None:
    for at, entries in (("person.words", person.words), ("person.exceptions", person.exceptions)):
        for entry in entries:
            if entry != entry.casefold():
                raise LanguageDataError(f"{file}: {at}: {entry!r} must be in lower case")


def _check_placeholders(text: str, file: str, at: str) -> None:
    try:
        found = [name for _, name, _, _ in string.Formatter().parse(text) if name is not None]
    except ValueError as error:
        raise LanguageDataError(f"{file}: {at}: {error}") from None
    for name in found:
        check_choice(name, PLACEHOLDERS, file, f"{at}: a placeholder")
