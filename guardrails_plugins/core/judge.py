"""One sentence before its checks: the context they need, and the verdict they give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from guardrails_plugins.core.checks import CHECKS, CheckContext
from guardrails_plugins.core.checks.citation_required import needs_marker
from guardrails_plugins.core.citations import Marker, marker_style, strip, strip_found
from guardrails_plugins.core.languages.profile import LanguageProfile
from guardrails_plugins.core.outcome import Code, ReleasedSentence, Violation
from guardrails_plugins.core.policy import GatePolicy
from guardrails_plugins.core.refusal import RefusalToken
from guardrails_plugins.core.sentence import Kind, Sentence, Span
from guardrails_plugins.core.sources import SourceIndex
from guardrails_plugins.core.values import Value, extract

QUESTION = "question"
"""The equivalence under which values of the question count as supported."""

_EMPHASIS = " *_\u00a0\t\r\n"
_LEAD_IN_ENDS = frozenset(_EMPHASIS + ":：")
_NO_CITED: frozenset[int] = frozenset()
_CODE = Kind.CODE  # looking a member up in an enum costs as much as ten local names


class BrokenCheckError(Exception):
    """A check raised, or answered with something that is no violation. Carries no text."""


class Prepared(NamedTuple):
    """A sentence with its shown form (outer whitespace included) and, unless exempt, its context."""

    sentence: Sentence
    shown: str
    context: CheckContext | None

    def __repr__(self) -> str:
        return f"Prepared({self.sentence!r})"

    @property
    def cited(self) -> frozenset[int]:
        """The numbers of the existing sources that it cites."""
        return self.context.cited if self.context is not None else _NO_CITED


class Judge:
    """Prepares and judges the sentences of one stream, in order.

    `position` is where the next sentence's raw text starts, in code points of the stream.
    """

    __slots__ = (
        "_at_line_start",
        "_checks",
        "_index",
        "_policy",
        "_profile",
        "_question",
        "_refusal",
        "_style",
        "_tail",
        "position",
    )

    def __init__(
        self,
        index: SourceIndex,
        policy: GatePolicy,
        profile: LanguageProfile,
        refusal: RefusalToken,
        question: str | None,
    ) -> None:
        self._index = index
        self._policy = policy
        self._profile = profile
        self._checks = (*CHECKS, *policy.checks)
        self._refusal = refusal
        self._style = marker_style(policy.marker)
        on = question is not None and QUESTION in policy.equivalences
        self._question = SourceIndex.of([question], language=profile.code) if on and question is not None else None
        self._at_line_start = True
        self._tail = ""
        self.position = 0

    def prepare(self, sentence: Sentence) -> Prepared:
        """The sentence's context. Moves `position` behind it."""
        start, raw = self.position, sentence.raw
        policy = self._policy
        markers = self._style.find(sentence.text, code=sentence.kind is _CODE)
        lead = raw.find(sentence.text)
        stripped = strip_found(raw, markers, at_line_start=self._at_line_start, offset=lead)
        self.position = start + len(raw)
        self._at_line_start = raw[-1] in "\r\n"
        shown = stripped.text
        if not sentence.text or (sentence.kind is _CODE and policy.code == "exempt"):
            return Prepared(sentence, shown, None)
        body = shown.strip()
        if policy.citations == "off":  # ignored: the markers are taken out, and mean nothing
            markers = []
        context = CheckContext(
            sentence,
            body,
            tuple(markers),
            self._cited(markers) if markers else _NO_CITED,
            self._values(body, sentence) if policy.values else (),
            self._index,
            policy,
            self._profile,
            self._profile.code,
            stripped,
            lead if shown.startswith(body, lead) else shown.find(body),
            start,
            self._question,
        )
        return Prepared(sentence, shown, context)

    def _cited(self, markers: Sequence[Marker]) -> frozenset[int]:
        count = len(self._index)
        return frozenset([n for m in markers for n in m.numbers if 1 <= n <= count])

    def _values(self, body: str, sentence: Sentence) -> tuple[Value, ...]:
        policy = self._policy
        values = extract(
            body,
            self._profile,
            equivalences=policy.equivalences,
            list_prefix=sentence.item_prefix,
            source_count=len(self._index),
        )
        if values and policy.citations != "off":
            # The digits of what looks like a marker are no value: the marker check speaks of them.
            posing = self._style.look_alikes(body, code=sentence.kind is _CODE)
            if posing:
                return tuple(v for v in values if not any(s <= v.span[0] and v.span[1] <= e for s, e in posing))
        return values

    def is_lead_in(self, prepared: Prepared) -> bool:
        """Whether it is a line that ends in a colon and lacks a marker that it needs."""
        context = prepared.context
        if context is None or context.shown[-1:] not in _LEAD_IN_ENDS:
            return False
        if not context.shown.rstrip(_EMPHASIS).endswith((":", "：")):
            return False
        return needs_marker(prepared.sentence, context)

    def holds_refusal(self, shown: str) -> bool:
        """Whether the refusal token stands in a shown text, or ends in it having begun in the text released before."""
        tail = self._tail
        return self._refusal.find(tail + shown, len(tail)) >= 0

    def violations(self, prepared: Prepared) -> tuple[Violation, ...]:
        """All violations of a sentence. Raises `BrokenCheckError` when a check is broken."""
        context = prepared.context
        if context is None:
            return ()
        found: list[Violation] = []
        try:
            for check in self._checks:
                answer: Iterable[Violation] = check(prepared.sentence, context)
                if answer:
                    found.extend(answer)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # an own check may raise anything
            raise BrokenCheckError from None
        if not found:
            return ()
        if not all(isinstance(v, Violation) for v in found):
            raise BrokenCheckError
        return tuple(found)

    def release(self, prepared: Prepared, violations: tuple[Violation, ...]) -> ReleasedSentence:
        """The sentence as it may be shown."""
        sentence = prepared.sentence
        text = sentence.raw if self._policy.keep_markers else prepared.shown
        if self._refusal.token:
            size = len(self._refusal.token)
            shown = prepared.shown
            self._tail = shown[-size:] if len(shown) >= size else (self._tail + shown)[-size:]
        cited = prepared.context.cited if prepared.context is not None else _NO_CITED
        return ReleasedSentence(sentence, text, tuple(sorted(cited) if len(cited) > 1 else cited), violations)

    def shown(self, sentence: Sentence) -> str:
        """The shown form of a sentence that is not judged (a fragment at the end)."""
        code = sentence.kind is _CODE
        return strip(sentence.raw, self._style, at_line_start=self._at_line_start, code=code).text


def broken(span: Span) -> Violation:
    """The violation of a check that broke."""
    return Violation(Code.CHECK_FAILED, span)
