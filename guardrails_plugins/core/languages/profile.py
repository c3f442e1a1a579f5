"""One language's data, read strictly from its TOML file.

A `LanguageProfile` is immutable and shared: `load_profile` reads each file once per
process. Every entry is checked when it is read; a wrong one is a `LanguageDataError`
that names the file and the entry. `_template.toml` explains each key.
"""

from __future__ import annotations

import functools
import tomllib
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from importlib import resources
from typing import Any, get_type_hints

from guardrails_plugins.core.errors import LanguageDataError, LanguageError

Words = tuple[str, ...]
WordMap = Mapping[str, str]
Months = tuple[Words, ...]

LANGUAGES: Words = ("ar", "de", "en", "es", "fa", "fr", "hi", "pt", "ru", "zh")
"""The tags for which a file exists, sorted."""

DATE_ORDERS = ("dmy", "mdy", "ymd")
SCRIPTS = ("latin", "cyrillic", "arabic", "devanagari", "han")


@dataclass(frozen=True, slots=True)
class Abbreviations:
    """Abbreviations by class, each written exactly as in text, final dot included."""

    never_final: Words
    before_number: Words
    may_end: Words


@dataclass(frozen=True, slots=True)
class Lists:
    """Words that number a step at the start of a line (``Step 1:``)."""

    step_words: Words


@dataclass(frozen=True, slots=True)
class Numbers:
    """How numbers are written; separators after CLDR `numbers/symbols`."""

    decimal: str
    group: Words
    plain_blank_groups: bool
    indian_grouping: bool
    magnitudes: Mapping[str, int]
    magnitude_suffixes: Mapping[str, int]
    percent: Words
    words: WordMap
    ordinal_words: WordMap
    ordinal_suffixes: Words
    ordinal_dot: bool
    ordinal_followers: Words
    currencies: WordMap


@dataclass(frozen=True, slots=True)
class Dates:
    """Month names (twelve tuples of spellings), orders and eras."""

    order: str
    months: Months
    persian_months: Months
    islamic_months: Months
    weekdays: Words
    connectors: Words
    suffixes: Mapping[str, str]
    eras: Words


@dataclass(frozen=True, slots=True)
class Clock:
    """Words beside clock times."""

    am: Words
    pm: Words
    hour: Words
    noon: Words
    midnight: Words


@dataclass(frozen=True, slots=True)
class Person:
    """The first-person list and what is dropped before it is read."""

    always: bool
    words: Words
    exceptions: Words
    not_in_languages: Mapping[str, Words]


@dataclass(frozen=True, slots=True)
class Notices:
    """The fixed texts shown to a reader, one sentence each."""

    withheld: str
    refused: str
    truncated: str
    error: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """The parts of the system prompt; `{marker}`, `{token}` and `{count}` are filled in."""

    role: str
    markers: str
    person: str
    refusal: str
    sources: str
    untrusted: str


@dataclass(frozen=True, slots=True)
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


@functools.cache
def load_profile(tag: str) -> LanguageProfile:
    """The profile of a BCP 47 tag, read once per process.

    Raises `LanguageError` for an unknown tag and `LanguageDataError` for a malformed file.
    """
    name = f"{resolve_language(tag)}.toml"
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    return parse_profile(text, name)


def parse_profile(text: str, name: str) -> LanguageProfile:
    """Read a language file's text strictly; `name` is what errors call it."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise LanguageDataError(f"{name}: not valid TOML: {error}") from None
    profile: LanguageProfile = _table(LanguageProfile, data, name, "")
    _check_choice(profile.script, SCRIPTS, name, "script")
    _check_choice(profile.direction, ("ltr", "rtl"), name, "direction")
    _check_choice(profile.dates.order, DATE_ORDERS, name, "dates.order")
    if f"{profile.code}.toml" != name:
        raise LanguageDataError(f"{name}: code is {profile.code!r}, the file name says otherwise")
    _check_abbreviations(profile.abbreviations, name)
    return profile


def _table(cls: Any, data: object, file: str, at: str) -> Any:
    if not isinstance(data, dict):
        raise LanguageDataError(f"{file}: {at or 'file'} must be a table, not {type(data).__name__}")
    hints = get_type_hints(cls)
    known = [f.name for f in fields(cls)]
    for key in data:
        if key not in known:
            raise LanguageDataError(f"{file}: unknown key {_at(at, key)}; known here: {', '.join(known)}")
    for key in known:
        if key not in data:
            raise LanguageDataError(f"{file}: missing key {_at(at, key)}")
    return cls(**{key: _value(hints[key], data[key], file, _at(at, key)) for key in known})


def _at(at: str, key: str) -> str:
    return f"{at}.{key}" if at else key


def _value(hint: Any, value: object, file: str, at: str) -> Any:
    if hint in (bool, int, str):
        _check_type(value, hint, file, at)
        if hint is str and "\n" not in str(value):
            _check_entry(value, file, at)
        return value
    if hint == Words:
        return _words(value, file, at)
    if hint == Months:
        _check_type(value, list, file, at)
        assert isinstance(value, list)
        if len(value) not in (0, 12):
            raise LanguageDataError(f"{file}: {at} needs twelve lists (or none), has {len(value)}")
        return tuple(_words(v, file, f"{at}[{i}]") for i, v in enumerate(value))
    if hint in (WordMap, Mapping[str, int], Mapping[str, Words]):
        return _mapping(hint, value, file, at)
    return _table(hint, value, file, at)


def _mapping(hint: Any, value: object, file: str, at: str) -> Any:
    _check_type(value, dict, file, at)
    assert isinstance(value, dict)
    inner = str if hint == WordMap else int if hint == Mapping[str, int] else Words
    out: dict[str, Any] = {}
    for key, entry in value.items():
        _check_entry(key, file, at)
        out[key] = _value(inner, entry, file, _at(at, key))
    return types.MappingProxyType(out)


def _words(value: object, file: str, at: str) -> Words:
    _check_type(value, list, file, at)
    assert isinstance(value, list)
    for entry in value:
        _check_entry(entry, file, at)
    _check_duplicates(value, file, at)
    return tuple(value)


def _check_type(value: object, want: type, file: str, at: str) -> None:
    if type(value) is not want:
        raise LanguageDataError(f"{file}: {at} must be {want.__name__}, is {type(value).__name__}")


def _check_entry(value: object, file: str, at: str) -> None:
    if not isinstance(value, str):
        raise LanguageDataError(f"{file}: {at} has an entry of type {type(value).__name__}; only text is allowed")
    if not value or value != value.strip() or "  " in value:
        raise LanguageDataError(f"{file}: {at} has an empty entry or one with a stray blank: {value!r}")


def _check_duplicates(values: Iterable[str], file: str, at: str) -> None:
    seen: set[str] = set()
    for entry in values:
        if entry in seen:
            raise LanguageDataError(f"{file}: {at} lists {entry!r} twice")
        seen.add(entry)


def _check_choice(value: str, choices: Words, file: str, at: str) -> None:
    if value not in choices:
        raise LanguageDataError(f"{file}: {at} is {value!r}; use one of {', '.join(choices)}")


def _check_abbreviations(abbreviations: Abbreviations, file: str) -> None:
    every = [*abbreviations.never_final, *abbreviations.before_number, *abbreviations.may_end]
    _check_duplicates(every, file, "abbreviations")
    for entry in every:
        if not entry.endswith("."):
            raise LanguageDataError(f"{file}: abbreviations: {entry!r} must end with its dot")
