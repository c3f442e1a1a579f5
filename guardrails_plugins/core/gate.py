"""`SentenceGate`: holds a stream to the end of a sentence, judges it, and only then lets it go.

Timeline of ``It opens [S1]. Fees ended in 2019 [S1]. More`` over a source without 2019::

    fed              held by the splitter          outcome
    "It opens [S1]"  "It opens [S1]"               text "", open
    ". F"            "F"                           text "It opens.", open
    "ees … [S1]. M"  (dropped)                     text "", withheld, value_unsupported

The states and what moves them stand in `core.states`.
"""

from __future__ import annotations

from collections.abc import Iterable

from guardrails_plugins.core.citations import marker_style
from guardrails_plugins.core.endings import Ending, ending_of, is_finished
from guardrails_plugins.core.errors import FrameError, PolicyError, StreamClosedError
from guardrails_plugins.core.judge import BrokenCheckError, Judge, Prepared, broken
from guardrails_plugins.core.languages.profile import load_profile, resolve_language
from guardrails_plugins.core.outcome import STOPPED_STATES, Code, GateOutcome, ReleasedSentence, State, Violation
from guardrails_plugins.core.policy import GatePolicy
from guardrails_plugins.core.refusal import RefusalToken
from guardrails_plugins.core.sentence import Kind, Sentence, Span
from guardrails_plugins.core.sources import Source, SourceIndex
from guardrails_plugins.core.splitter import SentenceSplitter
from guardrails_plugins.core.states import NOTICE_OF, TRANSITIONS, Event

MAX_HELD_LEAD_INS = 4
"""Lead-in lines that may wait for one list item (nested lists). A bound keeps memory bounded."""
_NOTHING = GateOutcome()
_PASSED = Event.PASSED


class SentenceGate:
    """Judges one streamed answer, sentence by sentence.

    `sources` are strings, `Source` objects or a `SourceIndex` shared by many gates; `language`
    is the BCP 47 tag the answer was asked for in; `question` is used only when the policy turns
    its equivalence on. Raises `SourceError`, `LanguageError` or `PolicyError` on wrong arguments.
    A gate serves one stream and one thread at a time; its repr carries no text.
    """

    __slots__ = (
        "_any_released",
        "_held",
        "_judge",
        "_refusal",
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
            raise PolicyError(f"policy must be a GatePolicy, not {type(policy).__name__}; see GatePolicy.from_mapping")
        self.language = resolve_language(language)
        self.profile = load_profile(self.language)
        self.index = SourceIndex.of(sources, language=self.language)
        self._splitter = SentenceSplitter(self.language, max_chars=self.policy.max_chars, marker=self.policy.marker)
        self._refusal = RefusalToken(self.policy.refusal_token)
        self._judge = Judge(self.index, self.policy, self.profile, self._refusal, question)
        self._held: list[Prepared] = []
        self._state = State.OPEN
        self._any_released = False

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
        try:
            if self._refusal.undecided and isinstance(text, str) and self._refusal.opens(text):
                return self._stop(Event.REFUSAL, notice=True, withheld=len(self._refusal.token))
            sentences = self._splitter.feed(text)
        except (FrameError, StreamClosedError):
            self._require_open()
            raise FrameError(f"a gate is fed text (str), not {type(text).__name__}; decode bytes first") from None
        except Exception:  # a defect must never let text through (SPEC 0.5)
            self._require_open()
            return self._stop(Event.BROKE, violations=(self._broken(),))
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
            return self._stop(Event.BROKE, violations=(self._broken(),))
        if self._refusal.undecided and self._refusal.is_whole():
            return self._stop(Event.REFUSAL, notice=True, withheld=len(self._refusal.token))
        if ending is Ending.CLEAN:
            return self._finish_clean(rest)
        withheld = self._held_chars() + (len(rest.text) if rest else 0)
        if rest and self._judge.holds_refusal(self._judge.shown(rest)):
            return self._stop(Event.REFUSAL, notice=self._nothing_released(), withheld=withheld)
        if ending is Ending.FILTERED:
            at = self._judge.position
            span = rest.span if rest else Span(at, at)
            return self._stop(
                Event.FILTERED, violations=(Violation(Code.PROVIDER_FILTERED, span),), notice=True, withheld=withheld
            )
        if ending is Ending.REFUSED:
            return self._stop(Event.REFUSAL, notice=self._nothing_released(), withheld=withheld)
        return self._finish_cut(rest, withheld)

    def refuse(self) -> GateOutcome:
        """The provider itself refused: what is held is dropped, the state is `refused`."""
        self._require_open()
        held = self._held_chars() + len(self._splitter.pending.strip())
        return self._stop(Event.REFUSAL, notice=self._nothing_released(), withheld=held)

    def fail(self, withheld: int = 0) -> GateOutcome:
        """A check outside the gate raised or timed out: what is held is dropped, the state is `failed`.

        `withheld` is the length of what that check keeps back, in code points.
        """
        self._require_open()
        return self._stop(Event.BROKE, violations=(self._broken(),), withheld=withheld)

    def discard(self) -> None:
        """Forget what is held without an outcome: the stream was abandoned. Further calls raise `StreamClosedError`."""
        self._held.clear()
        self._splitter.discard()
        self._refusal.discard()
        if self._state is State.OPEN:
            self._state = State.FAILED

    def _finish_clean(self, rest: Sentence | None) -> GateOutcome:
        outcome = self._take([rest] if rest else [], last=True)
        if self._state is not State.OPEN:
            return outcome
        self._move(Event.ENDED)
        trailing = rest.raw if rest is not None and not rest else ""
        return outcome._replace(text=outcome.text + trailing, state=self._state)

    def _finish_cut(self, rest: Sentence | None, withheld: int) -> GateOutcome:
        finished = bool(rest) and rest is not None and is_finished(rest.text, marker_style(self.policy.marker))
        outcome = self._take([rest]) if finished and rest is not None else _NOTHING
        if self._state is not State.OPEN:
            return outcome
        withheld = self._held_chars() if finished else withheld
        self._held.clear()
        self._move(Event.CUT)
        return outcome._replace(state=self._state, notice=self._notice(), withheld_chars=withheld)

    def _take(self, sentences: list[Sentence], *, last: bool = False) -> GateOutcome:
        """Judge sentences in order until one fails; `last` says that none follows."""
        released: list[ReleasedSentence] = []
        flagged: list[Violation] = []
        try:
            for sentence in sentences:
                prepared = self._judge.prepare(sentence)
                waits = self._held or self._judge.is_lead_in(prepared)
                for ready in self._in_turn(prepared) if waits else (prepared,):
                    stop = self._pass(ready, released, flagged)
                    if stop is not None:
                        return stop
            for ready in self._drain(None) if last and self._held else ():
                stop = self._pass(ready, released, flagged)
                if stop is not None:
                    return stop
        except Exception as error:  # a defect of ours fails closed too
            del error
            every = (*flagged, self._broken())
            return self._stop(Event.BROKE, released, every, notice=True)
        except BaseException:  # the program is to end: the sentence is not skipped if it goes on after all
            self._stop(Event.BROKE)
            raise
        if not released:
            return _NOTHING
        self._any_released = True
        self._move(_PASSED)
        text = released[0].text if len(released) == 1 else "".join([s.text for s in released])
        return GateOutcome(text, False, self._state, tuple(flagged), tuple(released))

    def _pass(
        self, prepared: Prepared, released: list[ReleasedSentence], flagged: list[Violation]
    ) -> GateOutcome | None:
        """Judge one sentence and add it to `released`; the outcome when it ends the stream."""
        judge = self._judge
        if judge.holds_refusal(prepared.shown):
            begins = self._nothing_released() and not released and self._begins(prepared.shown)
            withheld = len(prepared.sentence.text)
            return self._stop(Event.REFUSAL, released, flagged, notice=begins, withheld=withheld)
        try:
            violations = judge.violations(prepared)
        except BrokenCheckError:
            every, withheld = (*flagged, self._broken()), len(prepared.sentence.text)
            return self._stop(Event.BROKE, released, every, notice=True, withheld=withheld)
        if violations:
            flagged.extend(violations)
            if any(self.policy.stops(v.code) for v in violations):
                withheld = len(prepared.sentence.text)
                return self._stop(Event.VIOLATED, released, flagged, notice=True, withheld=withheld)
        released.append(judge.release(prepared, violations))
        return None

    def _in_turn(self, prepared: Prepared) -> list[Prepared]:
        """The sentences whose turn has come: a lead-in waits for the list item after it."""
        ready: list[Prepared] = []
        if self._held and prepared.sentence.kind is not Kind.ITEM:
            ready += self._drain(None)
        if self._judge.is_lead_in(prepared) and len(self._held) < MAX_HELD_LEAD_INS:
            self._held.append(prepared)
            return ready
        if self._held:
            ready += self._drain(prepared)
        ready.append(prepared)
        return ready

    def _drain(self, item: Prepared | None) -> list[Prepared]:
        """The held lead-ins, with the markers of `item` where one follows."""
        held, self._held = self._held, []
        drained: list[Prepared] = []
        for prepared in held:
            context = prepared.context
            assert context is not None
            if item is not None and item.context is not None and item.context.markers:
                context = context._replace(cited=item.cited, borrowed=True)
            drained.append(prepared._replace(context=context))
        return drained

    def _stop(
        self,
        event: Event,
        released: Iterable[ReleasedSentence] = (),
        violations: Iterable[Violation] = (),
        *,
        notice: bool = True,
        withheld: int = 0,
    ) -> GateOutcome:
        """End the stream for good; nothing that was held is kept."""
        self._move(event)
        self._held.clear()
        self._splitter.discard()
        self._refusal.discard()
        sentences = tuple(released)
        return GateOutcome(
            "".join(s.text for s in sentences),
            self.stopped,
            self._state,
            tuple(violations),
            sentences,
            self._notice() if notice else None,
            withheld,
        )

    def _move(self, event: Event) -> None:
        try:
            self._state = TRANSITIONS[self._state, event]
        except KeyError:
            raise StreamClosedError(f"a stream that is {self._state.value!r} cannot be {event.value!r}") from None

    def _require_open(self) -> None:
        if self._state is not State.OPEN:
            raise StreamClosedError(
                f"the stream has ended ({self._state.value}); use a new SentenceGate for the next answer"
            )

    def _notice(self) -> str:
        name = NOTICE_OF[self._state]
        text: str = self.policy.notices.get(name) or getattr(self.profile.notices, name)
        return text

    def _broken(self) -> Violation:
        at = self._judge.position
        return broken(Span(at, at))

    def _held_chars(self) -> int:
        return sum(len(p.sentence.text) for p in self._held)

    def _nothing_released(self) -> bool:
        return not self._any_released

    def _begins(self, shown: str) -> bool:
        return shown.lstrip().startswith(self._refusal.token)
