"""`SentenceGate`: holds a stream to the end of a sentence, judges it, and only then lets it go.

Timeline of ``It opens [S1]. Fees ended in 2019 [S1]. More`` over a source without 2019::

    fed              held by the splitter          outcome
    "It opens [S1]"  "It opens [S1]"               text "", open
    ". F"            "F"                           text "It opens.", open
    "ees … [S1]. M"  (dropped)                     text "", withheld, value_unsupported

The states and what moves them stand in `TRANSITIONS`; a pair that is not there is an error.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping

from guardrails_plugins.core.citations import marker_style
from guardrails_plugins.core.endings import Ending, ending_of, is_finished
from guardrails_plugins.core.errors import FrameError, GateError, StreamClosedError
from guardrails_plugins.core.judge import Judge, Verdict
from guardrails_plugins.core.languages.profile import load_profile, resolve_language
from guardrails_plugins.core.outcome import (
    STOPPED_STATES,
    Code,
    GateOutcome,
    ReleasedSentence,
    State,
    Violation,
)
from guardrails_plugins.core.policy import GatePolicy
from guardrails_plugins.core.refusal import RefusalToken
from guardrails_plugins.core.sentence import Kind, Sentence, Span
from guardrails_plugins.core.sources import Source, SourceIndex
from guardrails_plugins.core.splitter import SentenceSplitter

MAX_HELD_LEAD_INS = 4
"""Lead-in lines that may wait for one list item (nested lists). A bound keeps memory bounded."""


class Event(enum.StrEnum):
    """What can happen to a stream."""

    PASSED = "passed"
    VIOLATED = "violated"
    REFUSAL = "refusal"
    BROKE = "broke"
    ENDED = "ended"
    CUT = "cut"
    FILTERED = "filtered"


TRANSITIONS: Mapping[tuple[State, Event], State] = {
    (State.OPEN, Event.PASSED): State.OPEN,
    (State.OPEN, Event.VIOLATED): State.WITHHELD,
    (State.OPEN, Event.REFUSAL): State.REFUSED,
    (State.OPEN, Event.BROKE): State.FAILED,
    (State.OPEN, Event.ENDED): State.COMPLETED,
    (State.OPEN, Event.CUT): State.TRUNCATED,
    (State.OPEN, Event.FILTERED): State.WITHHELD,
}

_NOTHING = GateOutcome()
_NOTICE_OF = {
    State.WITHHELD: "withheld",
    State.REFUSED: "refused",
    State.TRUNCATED: "truncated",
    State.FAILED: "error",
}


class SentenceGate:
    """Judges one streamed answer, sentence by sentence.

    `sources` are strings, `Source` objects or a `SourceIndex` shared by many gates; `language`
    is the BCP 47 tag the answer was asked for in; `question` is used only when the policy turns
    its equivalence on. Raises `SourceError`, `LanguageError` or `PolicyError` on wrong arguments.
    A gate serves one stream and one thread at a time; its repr carries no text.
    """

    __slots__ = (
        "_begun",
        "_final",
        "_held",
        "_judge",
        "_refusal",
        "_released",
        "_splitter",
        "_state",
        "index",
        "language",
        "policy",
        "profile",
    )

    def __init__(
        self,
        sources: Iterable[str | Source] | SourceIndex,
        *,
        language: str = "en",
        policy: GatePolicy | None = None,
        question: str | None = None,
    ) -> None:
        self.policy = GatePolicy() if policy is None else policy
        if not isinstance(self.policy, GatePolicy):
            raise GateError(f"policy must be a GatePolicy, not {type(policy).__name__}; see GatePolicy.from_mapping")
        self.language = resolve_language(language)
        self.profile = load_profile(self.language)
        self.index = SourceIndex.of(sources, language=self.language)
        self._splitter = SentenceSplitter(self.language, max_chars=self.policy.max_chars, marker=self.policy.marker)
        self._refusal = RefusalToken(self.policy.refusal_token)
        self._judge = Judge(self.index, self.policy, self.profile, self._refusal, question)
        self._held: list[Sentence] = []
        self._state = State.OPEN
        self._final: GateOutcome | None = None
        self._released = False
        self._begun = False

    def __repr__(self) -> str:
        return f"SentenceGate(state={self._state.value!r}, language={self.language!r}, sources={len(self.index)})"

    @property
    def state(self) -> State:
        """Where the stream stands."""
        return self._state

    @property
    def stopped(self) -> bool:
        """Whether the gate ended the answer: nothing follows, and the provider is to be closed."""
        return self._state in STOPPED_STATES

    def feed(self, text: str) -> GateOutcome:
        """Take the next piece of the stream, of any length; returns what may be shown now.

        Raises `StreamClosedError` after the end and `FrameError` for anything but a string
        (and then changes nothing).
        """
        self._require_open()
        if not isinstance(text, str):
            raise FrameError(f"a gate is fed text, not {type(text).__name__}; decode bytes first")
        try:
            if self._refusal.undecided and self._refusal.opens(text):
                return self._end(Event.REFUSAL, [], withheld=0)
            sentences = self._splitter.feed(text)
        except Exception:  # a defect must never let text through (SPEC 0.5)
            return self._end(Event.BROKE, [], (self._broken(),))
        return self._take(sentences) if sentences else _NOTHING

    def finish(self, finish_reason: str = "stop") -> GateOutcome:
        """End the stream; `finish_reason` is the provider's (``stop``, ``length``, ``end_turn``, …).

        Returns the last text that may be shown and the final state. Raises `StreamClosedError`
        after the end, `FinishReasonError` for an unknown reason (and then changes nothing).
        """
        self._require_open()
        ending = ending_of(finish_reason)
        try:
            rest = self._splitter.flush()
        except Exception:
            return self._end(Event.BROKE, [], (self._broken(),))
        if self._refusal.undecided and self._refusal.is_whole():
            return self._end(Event.REFUSAL, [], withheld=0)
        if ending is Ending.CLEAN:
            return self._finish_clean(rest)
        if rest is not None and self._judge.holds_refusal(rest):
            return self._end(Event.REFUSAL, [], withheld=self._withheld(rest))
        if ending is Ending.FILTERED:
            span = rest.span if rest is not None else Span(self._judge.position, self._judge.position)
            violation = Violation(Code.PROVIDER_FILTERED, span)
            return self._end(Event.FILTERED, [], (violation,), withheld=self._withheld(rest))
        if ending is Ending.REFUSED:
            return self._end(Event.REFUSAL, [], withheld=self._withheld(rest))
        return self._finish_cut(rest)

    def refuse(self) -> GateOutcome:
        """The provider itself refused: what is held is dropped, the state is `refused`."""
        self._require_open()
        return self._end(Event.REFUSAL, [], withheld=self._withheld(None) + len(self._splitter.pending.strip()))

    def fail(self) -> GateOutcome:
        """A check outside the gate raised or timed out: what is held is dropped, the state is `failed`."""
        self._require_open()
        return self._end(Event.BROKE, [], (self._broken(),))

    def _finish_clean(self, rest: Sentence | None) -> GateOutcome:
        outcome = self._take([rest] if rest else [], last=True)
        if self._state is not State.OPEN:
            return outcome
        trailing = rest.raw if rest is not None and not rest else ""
        return self._end(Event.ENDED, list(outcome.sentences), outcome.violations, trailing=trailing)

    def _finish_cut(self, rest: Sentence | None) -> GateOutcome:
        if not rest or not is_finished(rest.text, marker_style(self.policy.marker)):
            return self._end(Event.CUT, [], withheld=self._withheld(rest))
        outcome = self._take([rest], last=True, cut=True)
        if self._state is not State.OPEN:
            return outcome
        return self._end(Event.CUT, list(outcome.sentences), outcome.violations, withheld=self._withheld(None))

    def _take(self, sentences: list[Sentence], *, last: bool = False, cut: bool = False) -> GateOutcome:
        """Judge sentences in order; lead-ins wait for the sentence after them."""
        released: list[ReleasedSentence] = []
        flagged: list[Violation] = []
        for sentence in sentences:
            for verdict in self._verdicts(sentence):
                if verdict.event is not Event.PASSED.value:
                    return self._end(Event(verdict.event), released, (*flagged, *verdict.violations), withheld=verdict.withheld)
                assert verdict.released is not None
                released.append(verdict.released)
                flagged.extend(verdict.violations)
        if last and self._held and not cut:
            for verdict in self._alone():
                if verdict.event is not Event.PASSED.value:
                    return self._end(Event(verdict.event), released, (*flagged, *verdict.violations), withheld=verdict.withheld)
                assert verdict.released is not None
                released.append(verdict.released)
                flagged.extend(verdict.violations)
        if not released:
            return _NOTHING
        self._released = True
        return GateOutcome("".join(s.text for s in released), False, self._state, tuple(flagged), tuple(released))

    def _verdicts(self, sentence: Sentence) -> Iterable[Verdict]:
        raise NotImplementedError
