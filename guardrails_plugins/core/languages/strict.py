"""TOML tables into frozen dataclasses, strictly: nothing unknown, missing, doubled or stray.

Whoever maintains a language file learns from the error which file and which entry to mend;
a misspelt key that was silently ignored would switch a rule off instead.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, get_type_hints

from guardrails_plugins.core.errors import LanguageDataError

Words = tuple[str, ...]
WordMap = Mapping[str, str]
Months = tuple[Words, ...]


def read_table(cls: Any, data: object, file: str, at: str) -> Any:
    """An instance of the dataclass `cls` from a TOML table, every key present and known.

    `file` and `at` (a dotted key, "" at the top) are what a `LanguageDataError` names.
    """
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
        if isinstance(value, str) and (not value or value != value.strip()):
            raise LanguageDataError(f"{file}: {at} is empty or has a stray blank: {value!r}")
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
    return read_table(hint, value, file, at)


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
    check_duplicates(value, file, at)
    return tuple(value)


def _check_type(value: object, want: type, file: str, at: str) -> None:
    if type(value) is not want:
        raise LanguageDataError(f"{file}: {at} must be {want.__name__}, is {type(value).__name__}")


def _check_entry(value: object, file: str, at: str) -> None:
    if not isinstance(value, str):
        raise LanguageDataError(f"{file}: {at} has an entry of type {type(value).__name__}; only text is allowed")
    if not value or value != " ".join(value.split()):
        raise LanguageDataError(f"{file}: {at} has an empty entry or one with a stray blank: {value!r}")


def check_duplicates(values: Iterable[str], file: str, at: str) -> None:
    """Raise `LanguageDataError` for the first entry that stands twice."""
    seen: set[str] = set()
    for entry in values:
        if entry in seen:
            raise LanguageDataError(f"{file}: {at} lists {entry!r} twice")
        seen.add(entry)


def check_choice(value: str, choices: Words, file: str, at: str) -> None:
    """Raise `LanguageDataError`, listing the choices, for a value that is none of them."""
    if value not in choices:
        raise LanguageDataError(f"{file}: {at} is {value!r}; use one of {', '.join(choices)}")
