"""`GatePolicy`: what the gate asks of a sentence, and what a broken rule does."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from guardrails_plugins.core.checks.base import Check
from guardrails_plugins.core.citations import marker_style
from guardrails_plugins.core.errors import BoundError, PolicyError
from guardrails_plugins.core.outcome import Code
from guardrails_plugins.core.values import EQUIVALENCES, EQUIVALENCES_DEFAULT

CITATIONS = ("required", "optional", "off")
SHORT_NUMBERS = ("anywhere", "with_noun")
CODE = ("check", "exempt")
ACTIONS = ("stop", "flag")
NOTICES = ("withheld", "refused", "truncated", "error")
MAX_COUNT = 1_000_000_000
"""No count means more; a number of thousands of digits could not even be printed."""
MAX_SHOWN_CHARS = 80
"""How much of a wrong value an error shows."""

ALWAYS_STOP = frozenset({Code.CHECK_FAILED, Code.PROVIDER_FILTERED})
"""Codes that no policy may only flag: with them there is no judgement to report (fail closed)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatePolicy:
    """An immutable set of choices; every key is checked when the policy is made.

    `citations`: "required" (a marker where SPEC asks for one), "optional" (markers that are
    there are checked; a sentence without one is judged against all sources) or "off"
    (values are judged against all sources). `min_words`: words from which a sentence needs
    a marker. `actions`: code to "stop" (the default of every code) or "flag". `max_chars`:
    code points without a boundary after which the text is cut and judged. `headings`: when
    true a heading needs a marker only for a value. `code`: "exempt" releases fenced code
    unjudged. Raises `PolicyError` (or `BoundError` for `max_chars`) naming the key.
    """

    citations: str = "required"
    marker: str = "[S{n}]"
    keep_markers: bool = False
    min_words: int = 8
    values: bool = True
    person: bool = True
    equivalences: frozenset[str] = EQUIVALENCES_DEFAULT
    short_numbers: str = "anywhere"
    actions: Mapping[str, str] = field(default_factory=dict)
    refusal_token: str | None = "NO_ANSWER"
    notices: Mapping[str, str] = field(default_factory=dict)
    max_chars: int = 1000
    headings: bool = True
    code: str = "check"
    checks: tuple[Check, ...] = ()

    def __post_init__(self) -> None:
        for key, rule in _RULES.items():
            rule(key, getattr(self, key))
        marker_style(self.marker)
        object.__setattr__(self, "equivalences", frozenset(self.equivalences))
        object.__setattr__(self, "checks", tuple(self.checks))
        for key in ("actions", "notices"):
            object.__setattr__(self, key, MappingProxyType({str(k): str(v) for k, v in getattr(self, key).items()}))

    def __reduce__(self) -> tuple[Any, ...]:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return _rebuild, (values | {"actions": dict(self.actions), "notices": dict(self.notices)},)

    def __hash__(self) -> int:
        values = (getattr(self, f.name) for f in fields(self))
        return hash(tuple(tuple(sorted(v.items())) if isinstance(v, Mapping) else v for v in values))

    def stops(self, code: str) -> bool:
        """Whether a violation with this code blocks its sentence."""
        return self.actions.get(code, "stop") == "stop"

    def shadow(self) -> GatePolicy:
        """The same policy with every code of a sentence's content only flagged (it reports, never stops)."""
        codes = {*self.actions, *Code} - ALWAYS_STOP
        return replace(self, actions=dict.fromkeys(codes, "flag"))

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> GatePolicy:
        """A policy from plain data. Raises `PolicyError` that names an unknown key and the nearest known one.

        `equivalences` is a list of names that are on, or a mapping of name to true or false
        that changes the default.
        """
        if not isinstance(mapping, Mapping):
            raise PolicyError(f"a policy is a mapping of keys to values, not {type(mapping).__name__}")
        known = [f.name for f in fields(cls)]
        for key in mapping:
            if key not in known:
                raise PolicyError(f"unknown policy key {_shown(key)}; {_nearest(key, known)}")
        values = dict(mapping)
        if "equivalences" in values:
            values["equivalences"] = _equivalences(values["equivalences"])
        return cls(**values)

    @classmethod
    def from_toml(cls, source: str | os.PathLike[str]) -> GatePolicy:
        """A policy from a TOML file (a path) or TOML text (a string that holds a newline or an equals sign and
        names no file). Raises `PolicyError` (or `BoundError` for `max_chars`)."""
        text, name = _toml_text(source)
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise PolicyError(f"{name}: not valid TOML: {error}") from None
        except (ValueError, RecursionError):  # beyond the limits of Python's numbers and of its stack
            raise PolicyError(
                f"{name}: not valid TOML: a number is too long, or a value is nested too deeply"
            ) from None
        try:
            return cls.from_mapping(data)
        except (PolicyError, BoundError) as error:
            raise type(error)(f"{name}: {error}") from None


def _toml_text(source: object) -> tuple[str, str]:
    """The TOML text that a path or a string stands for, and what errors call it."""
    path = os.fspath(source) if isinstance(source, (str, os.PathLike)) else None
    if not isinstance(path, str):
        raise PolicyError(f"a policy is the path of a TOML file, or TOML text, not {type(source).__name__}")
    if isinstance(source, str) and ("\n" in source or ("=" in source and not os.path.isfile(source))):
        return source, "policy text"
    name = path or "''"
    try:
        return Path(path).read_text(encoding="utf-8-sig"), name
    except (OSError, ValueError) as error:
        raise PolicyError(f"{name}: cannot be read as a policy file: {type(error).__name__}") from None


def _shown(value: object) -> str:
    """A value for a message, whatever it is."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return f"such {'an' if isinstance(value, int) else 'a'} {type(value).__name__}"
    return text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "…"


def _rebuild(values: dict[str, Any]) -> GatePolicy:
    return GatePolicy(**values)


def _nearest(name: object, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.4) if isinstance(name, str) else []
    listed = f"known: {', '.join(known)}"
    return f"did you mean {close[0]!r}? ({listed})" if close else listed


def _equivalences(value: object) -> frozenset[str]:
    if isinstance(value, Mapping):
        for name, on in value.items():
            _check_equivalence(name)
            if not isinstance(on, bool):
                raise PolicyError(f"equivalences.{name} must be true or false, not {_shown(on)}")
        return frozenset(
            (EQUIVALENCES_DEFAULT | {n for n, on in value.items() if on}) - {n for n, on in value.items() if not on}
        )
    if isinstance(value, str) or not isinstance(value, (list, tuple, set, frozenset)):
        raise PolicyError("equivalences must be a list of names, or a table of name to true or false")
    for name in value:
        _check_equivalence(name)
    return frozenset(value)


def _check_equivalence(name: object) -> None:
    if not isinstance(name, str) or name not in EQUIVALENCES:
        raise PolicyError(f"unknown equivalence {_shown(name)}; {_nearest(name, sorted(EQUIVALENCES))}")


def _choice(*choices: str) -> Callable[[str, object], None]:
    def check(key: str, value: object) -> None:
        if value not in choices:
            raise PolicyError(f"policy key {key!r} is {_shown(value)}; use one of {', '.join(choices)}")

    return check


def _boolean(key: str, value: object) -> None:
    if not isinstance(value, bool):
        raise PolicyError(f"policy key {key!r} must be true or false, not {_shown(value)}")


def _count(key: str, value: object) -> None:
    if wrong := _wrong_count(value):
        raise PolicyError(f"policy key {key!r} {wrong}")


def _max_chars(key: str, value: object) -> None:
    if wrong := _wrong_count(value):
        raise BoundError(f"policy key {key!r} {wrong}")


def _wrong_count(value: object) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_COUNT:
        return None
    return f"must be a whole number of at least 1 and at most {MAX_COUNT}, not {_shown(value)}"


def _names(key: str, value: object) -> None:
    if isinstance(value, str) or not isinstance(value, (list, tuple, set, frozenset)):
        raise PolicyError(f"policy key {key!r} must be a set of names")
    for name in value:
        _check_equivalence(name)


def _actions(key: str, value: object) -> None:
    if not isinstance(value, Mapping):
        raise PolicyError(f"policy key {key!r} must map codes to stop or flag")
    for code, action in value.items():
        if not isinstance(code, str) or not code:
            raise PolicyError(f"actions has a code that is no name: {_shown(code)}")
        if action not in ACTIONS:
            raise PolicyError(f"actions.{code} is {_shown(action)}; use stop or flag")
        if action == "flag" and code in ALWAYS_STOP:
            raise PolicyError(f"actions.{code} cannot be 'flag': without a verdict nothing may be shown")


def _notices(key: str, value: object) -> None:
    if not isinstance(value, Mapping):
        raise PolicyError(f"policy key {key!r} must map {', '.join(NOTICES)} to texts")
    for name, text in value.items():
        if name not in NOTICES:
            raise PolicyError(f"unknown notice {_shown(name)}; {_nearest(name, list(NOTICES))}")
        if not isinstance(text, str) or not text.strip():
            raise PolicyError(f"notices.{name} must be a text that is not empty")


def _token(key: str, value: object) -> None:
    if value is None:
        return
    if not isinstance(value, str) or not value or any(c.isspace() or c in "[]" for c in value):
        raise PolicyError(f"policy key {key!r} must be a word without blanks or brackets, or None, not {_shown(value)}")


def _template(key: str, value: object) -> None:
    if not isinstance(value, str):
        raise PolicyError(f"policy key {key!r} must be a text such as '[S{{n}}]', not {_shown(value)}")


def _checks(key: str, value: object) -> None:
    if not isinstance(value, (list, tuple)) or not all(callable(c) for c in value):
        raise PolicyError(f"policy key {key!r} must be a sequence of callables (sentence, context) -> violations")


_RULES: dict[str, Callable[[str, object], None]] = {
    "citations": _choice(*CITATIONS),
    "marker": _template,
    "keep_markers": _boolean,
    "min_words": _count,
    "values": _boolean,
    "person": _boolean,
    "equivalences": _names,
    "short_numbers": _choice(*SHORT_NUMBERS),
    "actions": _actions,
    "refusal_token": _token,
    "notices": _notices,
    "max_chars": _max_chars,
    "headings": _boolean,
    "code": _choice(*CODE),
    "checks": _checks,
}
