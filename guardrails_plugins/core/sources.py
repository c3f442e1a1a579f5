"""`Source` and `SourceIndex`: the texts an answer may cite, indexed once and shared by many streams."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import regex

from guardrails_plugins.core.errors import SourceError
from guardrails_plugins.core.languages.profile import resolve_language
from guardrails_plugins.core.normalize import normalize
from guardrails_plugins.core.values.extractor import read
from guardrails_plugins.core.values.lexicon import Lexicon, source_lexicon
from guardrails_plugins.core.values.model import NONE, Reading, Value
from guardrails_plugins.core.values.plain import noun_stem

_WORD = regex.compile(r"\p{Han}|[\p{L}\p{M}--\p{Han}]++(?:-[\p{L}\p{M}--\p{Han}]++)*+", regex.V1)
_SPACES = re.compile(r"\s++")

Entry = tuple[int, str, frozenset[str], str]
"""A source's number, how the value is written there, the equivalences that its key needs, its unit."""


@dataclass(frozen=True, slots=True)
class Source:
    """One source. `language` is its BCP 47 tag where known; `url` counts as part of its text."""

    text: str
    id: str | None = None
    language: str | None = None
    url: str | None = None

    def __post_init__(self) -> None:
        for name in ("text", "id", "language", "url"):
            value = getattr(self, name)
            if not isinstance(value, str) and (name == "text" or value is not None):
                raise SourceError(f"a source's {name} must be text, not {type(value).__name__}")
        if self.language is not None:
            resolve_language(self.language)


class SourceIndex:
    """The values of some sources, for lookup by many gates and threads; read-only once built.

    `sources` are strings, `Source` objects or mappings with their fields; `language` is read
    first where a source does not name its own. Raises `SourceError` naming the wrong one.
    The index does not depend on a policy: each key remembers the equivalences it needs.
    """

    __slots__ = ("_entries", "_language", "_normalized", "sources")

    def __init__(self, sources: Iterable[str | Source | Mapping[str, Any]], *, language: str | None = None) -> None:
        self._language = resolve_language(language) if language is not None else "en"
        self.sources = tuple(_sources(sources))
        entries: dict[str, set[Entry]] = {}
        for number, source in enumerate(self.sources, 1):
            for key, entry in self._keys(number, source):
                entries.setdefault(key, set()).add(entry)
        self._entries: dict[str, tuple[Entry, ...]] = {k: tuple(sorted(v, key=repr)) for k, v in entries.items()}
        self._normalized: dict[int, str] = {}

    @classmethod
    def of(
        cls, sources: Iterable[str | Source | Mapping[str, Any]] | SourceIndex, *, language: str | None = None
    ) -> SourceIndex:
        """The same index when given one, else a new one."""
        return sources if isinstance(sources, SourceIndex) else cls(sources, language=language)

    def __len__(self) -> int:
        return len(self.sources)

    def __repr__(self) -> str:
        return f"SourceIndex({len(self.sources)} sources, {len(self._entries)} values)"

    def support(
        self, value: Value, cited: frozenset[int] | None, *, equivalences: frozenset[str], with_noun: bool = False
    ) -> tuple[bool, tuple[int, ...]]:
        """Whether a cited source (numbers from 1; None for all) holds the value, and which others do."""
        holders: set[int] = set()
        for reading in _asked(value, equivalences, with_noun):
            for number, surface, needs, unit in self._entries.get(reading.key, ()):
                if number in holders or not _agree(unit, reading.unit):
                    continue
                if (surface == reading.surface and surface) or (needs | reading.needs) <= equivalences:
                    holders.add(number)
        if cited is None:
            return bool(holders), ()
        supported = not holders.isdisjoint(cited)
        return supported, () if supported else tuple(sorted(holders))

    def contains_quote(self, quote: str, cited: frozenset[int] | None) -> bool:
        """Whether a text in matching form stands in a cited source (None for all)."""
        wanted = _SPACES.sub(" ", quote)
        numbers = range(1, len(self.sources) + 1) if cited is None else sorted(cited)
        return any(wanted in self._matching_form(n) for n in numbers)

    def _matching_form(self, number: int) -> str:
        form = self._normalized.get(number)
        if form is None:
            form = _SPACES.sub(" ", normalize(self.sources[number - 1].text))
            self._normalized[number] = form  # idempotent: two threads write the same text
        return form

    def _keys(self, number: int, source: Source) -> Iterator[tuple[str, Entry]]:
        known = source.language is not None
        lexicon = source_lexicon(resolve_language(source.language or self._language), known)
        text = source.text if source.url is None else f"{source.text}\n{source.url}"
        for value in read(text, lexicon):
            for reading in value.readings:
                for key, needs in _held(reading, value):
                    yield key, (number, reading.surface, needs, reading.unit)
        yield from _worded(number, text, lexicon)


def _agree(one: str, other: str) -> bool:
    """Whether two units can be the same; a word that names several currencies holds each (``AED/MAD``)."""
    return one == other or not one or not other or not set(one.split("/")).isdisjoint(other.split("/"))


def _held(reading: Reading, value: Value) -> Iterator[tuple[str, frozenset[str]]]:
    """What a value in a source supports: itself, and the values contained in it."""
    key, needs = reading.key, reading.needs
    yield key, needs
    kind, _, rest = key.partition(":")
    if kind == "%":
        yield f"n:{rest}", needs
    elif kind in "th" and ":" in rest:  # seconds
        yield from _held(reading._replace(key=key.rpartition(":")[0]), value)
    elif kind == "t":
        minutes = int(rest)
        yield f"h:{minutes}", needs
        yield f"h:{minutes % 720 or 720}", needs
    elif kind == "h":
        yield f"t:{rest}", needs
    elif kind == "u" and "@" in rest.partition("/")[0]:
        yield f"u:{rest.partition('@')[2]}", needs
    elif kind == "d":
        yield from _within_date(rest, needs)
    if value.short and kind == "n":
        yield f"s:{rest}|{value.noun}", needs
    if value.noun and kind == "n":
        yield f"w:{rest}|{value.noun}", needs


def _within_date(rest: str, needs: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    calendar, _, parts = rest.partition(":")
    year, month, day = (int(p) for p in parts.split("-"))
    for parts_held in ((year, month, 0), (0, month, day), (0, month, 0)):
        yield "d:{}:{}-{}-{}".format(calendar, *parts_held), needs
    if year:
        yield f"n:{year}", needs
    if day:
        yield f"n:{day}", needs


def _worded(number: int, text: str, lexicon: Lexicon) -> Iterator[tuple[str, Entry]]:
    """Number words before a noun, and noon and midnight."""
    previous = ""
    for match in _WORD.finditer(text):
        word = normalize(match.group())
        if previous in lexicon.number_words:
            key = f"w:{lexicon.number_words[previous]}|{noun_stem(word)}"
            yield key, (number, "", frozenset({"number_words"}), "")
        if word in lexicon.noon.entries:
            minutes = int(lexicon.noon.entries[word])
            for key in (f"t:{minutes}", f"h:{minutes % 720 or 720}"):
                yield key, (number, "", frozenset({"clock"}), "")
        previous = word


def _asked(value: Value, equivalences: frozenset[str], with_noun: bool) -> tuple[Reading, ...]:
    """The keys under which a value of an answer is looked up."""
    readings = value.readings
    if with_noun and value.short:
        readings = tuple(
            Reading(f"s:{r.key[2:]}|{value.noun}", r.surface, r.needs, r.unit)
            for r in readings
            if r.key.startswith("n:")
        )
    if "number_words" in equivalences and value.noun and value.kind == "number":
        words = tuple(Reading(f"w:{r.key[2:]}|{value.noun}", "", NONE) for r in readings if r.key.startswith("n:"))
        readings += words
    return readings


def _sources(sources: object) -> Iterator[Source]:
    if isinstance(sources, (str, bytes)):
        raise SourceError("sources must be a list of texts, not one text; write [text]")
    if isinstance(sources, (Mapping, Source)) or not isinstance(sources, Iterable):
        raise SourceError(f"sources must be a list of texts or Source objects, not {type(sources).__name__}")
    for number, source in enumerate(sources, 1):
        if isinstance(source, Source):
            yield source
        elif isinstance(source, str):
            yield Source(source)
        elif isinstance(source, Mapping):
            unknown = [k for k in source if k not in ("text", "id", "language", "url")]
            if unknown or "text" not in source:
                wrong = f"has the unknown key {unknown[0]!r}" if unknown else "has no 'text'"
                raise SourceError(f"source {number} {wrong}; known keys: text, id, language, url")
            yield Source(**source)
        else:
            raise SourceError(f"source {number} must be text or a Source, not {type(source).__name__}")
