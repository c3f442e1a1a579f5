"""What a check is given and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from guardrails_plugins.core.outcome import Violation
from guardrails_plugins.core.sentence import Sentence, Span

if TYPE_CHECKING:
    from guardrails_plugins.core.citations import Marker, Shown
    from guardrails_plugins.core.languages.profile import LanguageProfile
    from guardrails_plugins.core.policy import GatePolicy
    from guardrails_plugins.core.sources import SourceIndex
    from guardrails_plugins.core.values import Value


@dataclass(frozen=True, slots=True, repr=False)
class CheckContext:
    """One sentence as the checks see it; its repr carries no text.

    `shown` is the shown form without outer whitespace; spans of `values` lie in it and
    `to_raw` maps them to the stream. `cited` holds the numbers (from 1) of existing sources
    that the sentence cites; `borrowed` is true when they are those of the list item after it.
    """

    sentence: Sentence
    shown: str
    markers: tuple[Marker, ...]
    cited: frozenset[int]
    values: tuple[Value, ...]
    index: SourceIndex
    policy: GatePolicy
    profile: LanguageProfile
    language: str
    borrowed: bool = False
    question: SourceIndex | None = None
    _strip: Shown | None = field(default=None)
    _lead: int = 0
    _start: int = 0

    def __repr__(self) -> str:
        return f"CheckContext(span={self.sentence.span!r}, cited={sorted(self.cited)})"

    def to_raw(self, span: tuple[int, int]) -> Span:
        """A span of `shown` as a span of the raw stream, in code points."""
        start, end = span[0] + self._lead, span[1] + self._lead
        if self._strip is None:
            return Span(self._start + start, self._start + end)
        last = self._strip.to_raw(end - 1) + 1 if end > start else self._strip.to_raw(start)
        return Span(self._start + self._strip.to_raw(start), self._start + last)


Check = Callable[[Sentence, CheckContext], Iterable[Violation]]
"""A check: no state, no I/O; it raises only when it is broken, which stops the stream."""
