"""A folded text while it is read, and the words around a position in it."""

from __future__ import annotations

from dataclasses import dataclass, field

import regex

from guardrails_plugins.core.values.lexicon import Lexicon, Words, head_of

_HAN = regex.compile(r"[\p{Han}]{1,4}+")
_MAX_WORD = 40
_ABBREVIATED = regex.compile(r"[ ]?+((?:\p{L}\p{M}*+\.[ ]?){1,3}+)")


@dataclass(slots=True, repr=False)
class Scan:
    """`text` folded, case kept; `lower` the same case-folded where that keeps its length."""

    text: str
    lexicon: Lexicon
    lower: str = field(default="")
    _at: int = -1
    _head: str = ""

    def __post_init__(self) -> None:
        lower = self.text.lower()
        self.lower = (
            lower
            if len(lower) == len(self.text)
            else "".join(low if len(low := c.lower()) == 1 else c for c in self.text)
        )

    def after(self, position: int, words: Words) -> tuple[str, int] | None:
        """The meaning of the entry that stands at `position` (a blank or hyphen before it allowed) and its end."""
        at, lower = position, self.lower
        if at >= len(lower):
            return None
        if lower[at] == " " or lower[at] == "-":
            at += 1
        if at != self._at:
            self._at, self._head = at, head_of(lower, at)
        if self._head not in words.heads:
            return None
        entries = words.entries
        for end in self._candidates(at, words.longest):
            meaning = entries.get(lower[at:end])
            if meaning is not None:
                return meaning, end
        return None

    def _candidates(self, at: int, longest: int) -> list[int]:
        """Ends of the texts at `at` that could be an entry, longest first."""
        ends: list[int] = []
        position = at
        for _ in range(longest):
            found = _WORD_AT.match(self.lower, position, position + _MAX_WORD)
            if found is None or found.end() == position:
                break
            end = found.end()
            if self.lower[end : end + 1] == ".":
                ends.append(end + 1)
            ends.append(end)
            following = self.lower[end : end + 2]
            position = end + (1 if following[:1] in (" ", "-") else 2 if following == ". " else 0)
            if position == end:
                break
        dotted = _ABBREVIATED.match(self.lower, at, at + 12)
        if dotted is not None:
            ends += [dotted.end(), len(self.lower[: dotted.end()].rstrip())]
        han = _HAN.match(self.lower, at)
        if han is not None:
            ends += range(at + 1, han.end() + 1)
        return sorted(set(ends), reverse=True)

    def before(self, position: int, words: Words) -> tuple[str, int] | None:
        """The meaning of the entry that ends at `position` (a blank allowed) and its start."""
        at = position
        if at and self.text[at - 1] == " ":
            at -= 1
        if self.lower[max(0, at - 2) : at] not in words.tails and self.lower[max(0, at - 1) : at] not in words.tails:
            return None
        start = at
        for _ in range(words.longest):
            found = _WORD_BEFORE.match(self.lower, max(0, start - _MAX_WORD), start)
            if found is None or found.start() == start:
                break
            start = found.start()
            meaning = words.entries.get(self.lower[start:at])
            if meaning is not None:
                return meaning, start
            if self.lower[start - 1 : start] != " " or start < 2:
                break
            start -= 1
        for size in range(1, 5):
            if size <= at and _HAN.fullmatch(self.lower, at - size, at):
                meaning = words.entries.get(self.lower[at - size : at])
                if meaning is not None:
                    return meaning, at - size
        return None


_WORD_AT = regex.compile(r"[\p{L}\p{M}']++|\p{Sc}")
_WORD_BEFORE = regex.compile(r"(?r)(?:[\p{L}\p{M}'.]++|\p{Sc})")
