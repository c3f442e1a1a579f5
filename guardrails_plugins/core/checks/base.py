"""What a check is given and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from guardrails_plugins.core.outcome import Violation
from guardrails_plugins.core.sentence import Sentence, Span

if TYPE_CHECKING:
    from guardrails_plugins.core.citations import Marker, Shown
    from guardrails_plugins.core.languages.profile import LanguageProfile
    from guardrails_plugins.core.policy import GatePolicy
    from guardrails_plugins.core.sources import SourceIndex
    from guardrails_plugins.core.values import Value


class CheckContext(NamedTuple):
    """One sentence as the checks see it; its repr carries no text.

    `shown` is the shown form without outer whitespace; spans of `values` lie in it and
    `to_raw` maps them to the stream. `cited` holds the numbers (from 1) of existing sources
    that the sentence cites; `borrowed` is true when they are those of the list item after it.
    `stripped`, `lead` and `start` say where the shown form lies in the stream: see `to_raw`.
    """

    sentence: Sentence
    shown: str
    markers: tuple[Marker, ...]
    cited: frozenset[int]
    values: tuple[Value, ...]
    index: SourceIndex  # type: ignore[assignment]  # a field, named as in the gate; no one needs tuple.index
    policy: GatePolicy
    profile: LanguageProfile
    language: str
    stripped: Shown
    lead: int
    start: int
    question: SourceIndex | None = None
    borrowed: bool = False

    def __repr__(self) -> str:
        return f"CheckContext(span={self.sentence.span!r}, cited={sorted(self.cited)})"

    def to_raw(self, span: tuple[int, int]) -> Span:
        """A span of `shown` as a span of the raw stream, in code points."""
        start, end = span[0] + self.lead, span[1] + self.lead
        last = self.stripped.to_raw(end - 1) + 1 if end > start else self.stripped.to_raw(start)
        return Span(self.start + self.stripped.to_raw(start), self.start + last)


Check = Callable[[Sentence, CheckContext], Iterable[Violation]]
"""A check: no state, no I/O; it raises only when it is broken, which stops the stream."""
