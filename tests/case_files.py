"""Reading the case files strictly: a malformed case is an error that names its file and line."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CASES = Path(__file__).parent / "cases"
LANGUAGES = ("ar", "de", "en", "es", "fa", "fr", "hi", "pt", "ru", "zh")
FOLDERS = (*LANGUAGES, "any")

STATES = ("completed", "withheld", "refused", "truncated", "failed")
NOTICES = ("withheld", "refused", "truncated", "error", None)

COMMON = {"id": str, "known_failure": str, "note": str, "language": str}
REQUIRED: dict[str, dict[str, Any]] = {
    "split": {"text": str, "sentences": list},
    "judge": {"sources": list, "answer": str, "shown": str, "state": str, "codes": list, "notice": (str, type(None))},
    "values": {"source": str, "sentence": str, "supported": bool},
    "normalize": {"a": str, "b": str, "same": bool},
    "markers": {"raw": str, "shown": str},
    "person": {"text": str, "first_person": bool},
}
OPTIONAL: dict[str, dict[str, Any]] = {
    "split": {"max_chars": int, "marker": str},
    "judge": {"policy": dict, "finish": str, "question": str},
    "values": {"rule": str, "off": bool, "on": bool, "source_language": str, "question": str, "policy": dict},
    "normalize": {},
    "markers": {"marker": str},
    "person": {"word": str, "source": str},
}


class MalformedCase(AssertionError):
    """A case file has a line that is no case."""


@dataclass(frozen=True)
class Case:
    """One line of a case file."""

    kind: str
    language: str
    data: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.data["id"])

    @property
    def known_failure(self) -> str | None:
        return self.data.get("known_failure")


def _check(kind: str, folder: str, data: Any, at: str) -> Case:
    if not isinstance(data, dict):
        raise MalformedCase(f"{at}: a case is a JSON object")
    required, optional = REQUIRED[kind], COMMON | OPTIONAL[kind]
    for key in ("id", *required):
        if key not in data:
            raise MalformedCase(f"{at}: key {key!r} is missing")
    for key, value in data.items():
        want = required.get(key, optional.get(key))
        if want is None:
            raise MalformedCase(f"{at}: unknown key {key!r}")
        if not isinstance(value, want) or (isinstance(value, bool) and want is int):
            raise MalformedCase(f"{at}: key {key!r} has the wrong type")
    if not data["id"].startswith(f"{folder}-"):
        raise MalformedCase(f"{at}: the id must begin with {folder + '-'!r}")
    if "known_failure" in data and not data["known_failure"].strip():
        raise MalformedCase(f"{at}: a known failure needs its reason")
    language = data.get("language", "en" if folder == "any" else folder)
    if language.split("-")[0] not in LANGUAGES:
        raise MalformedCase(f"{at}: unknown language {language!r}")
    if kind == "judge" and (data["state"] not in STATES or data["notice"] not in NOTICES):
        raise MalformedCase(f"{at}: unknown state or notice")
    if kind == "values" and ({"off", "on"} & set(data)) and "rule" not in data:
        raise MalformedCase(f"{at}: off and on need a rule")
    return Case(kind, language, data)


@functools.cache
def _all_cases() -> tuple[Case, ...]:
    cases: list[Case] = []
    seen: dict[str, str] = {}
    for path in sorted(CASES.glob("*/*.jsonl")):
        folder, kind = path.parent.name, path.stem
        if folder not in FOLDERS or kind not in REQUIRED:
            raise MalformedCase(f"{path}: no such kind of case file")
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            at = f"{folder}/{path.name}:{number}"
            if not line.strip():
                continue
            try:
                data = json.loads(line)
            except ValueError as error:
                raise MalformedCase(f"{at}: not valid JSON: {error}") from None
            case = _check(kind, folder, data, at)
            if case.id in seen:
                raise MalformedCase(f"{at}: id {case.id!r} is also at {seen[case.id]}")
            seen[case.id] = at
            cases.append(case)
    return tuple(cases)


def cases(kind: str) -> tuple[Case, ...]:
    """Every case of one kind, in file order. Raises `MalformedCase` for any malformed line in any file."""
    return tuple(case for case in _all_cases() if case.kind == kind)


def counts() -> dict[tuple[str, str], int]:
    """How many cases each folder has of each kind."""
    out: dict[tuple[str, str], int] = {}
    for case in _all_cases():
        key = (case.id.split("-")[0], case.kind)
        out[key] = out.get(key, 0) + 1
    return out
