"""One gated stream on its way through Guardrails.

Timeline::

    stream yields            the validator                        Guardrails yields
    "" (opening)             binds metadata: the gate is made     ""
    "It opens at nine."      passes it                            "It opens at nine."
    "" (with its failure)    does what on_fail asks for           the notice, or nothing, or an error
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import Context
from dataclasses import dataclass, fields, replace
from typing import Any

from guardrails_plugins.adapters.guardrails_ai.errors import MetadataError, UnboundStreamError
from guardrails_plugins.adapters.guardrails_ai.kinds import JUDGE_ON, Correction, OnFailKind, with_notice
from guardrails_plugins.adapters.guardrails_ai.metadata import Request
from guardrails_plugins.adapters.guardrails_ai.report import GateReport
from guardrails_plugins.core.citations import Shown, marker_style, strip
from guardrails_plugins.core.errors import GateError
from guardrails_plugins.core.gate import SentenceGate
from guardrails_plugins.core.outcome import Code, GateOutcome, ReleasedSentence, State, Violation
from guardrails_plugins.core.policy import ALWAYS_STOP, GatePolicy
from guardrails_plugins.core.sentence import Kind, Span


class ReportingPolicy(GatePolicy):
    """A policy that only flags, codes of own checks included; the adapter asks the user's own what stops."""

    __slots__ = ()

    def stops(self, code: str) -> bool:
        return code in ALWAYS_STOP

    @classmethod
    def of(cls, policy: GatePolicy) -> ReportingPolicy:
        """The same choices."""
        return cls(**{f.name: getattr(policy, f.name) for f in fields(policy)})


@dataclass(frozen=True, slots=True)
class Settings:
    """What a validator was made with."""

    kind: OnFailKind
    policy: GatePolicy
    correction: Correction | None = None

    @property
    def gate_policy(self) -> GatePolicy:
        """The policy of the gate itself: it only flags where the kind goes on past a failing sentence."""
        return ReportingPolicy.of(self.policy) if self.kind in JUDGE_ON else self.policy

    def blocking(self, violations: Iterable[Violation]) -> tuple[Violation, ...]:
        """Those violations at which the user's policy stops."""
        return tuple(v for v in violations if self.policy.stops(v.code))


@dataclass(frozen=True, slots=True, repr=False)
class Failure:
    """Why a frame failed. `spans` lie in the frame's own text; `lead` is the whitespace before it."""

    violations: tuple[Violation, ...]
    notice: str | None = None
    spans: tuple[tuple[Span, str], ...] = ()
    lead: str = ""
    last: bool = False


class Frame(str):
    """An item of the stream: text that may be shown, and the session it belongs to.

    True even when it is empty, because Guardrails replaces what is false by a string of its own.
    Copies and pickles are plain strings: histories outlive streams.
    """

    session: Session
    failure: Failure | None

    def __new__(cls, text: str, session: Session, failure: Failure | None = None) -> Frame:
        frame = super().__new__(cls, text)
        frame.session = session
        frame.failure = failure
        return frame

    def __bool__(self) -> bool:
        return True

    def __copy__(self) -> str:
        return str(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> str:
        return str(self)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


class RecordingGate(SentenceGate):
    """A gate that keeps what it released until the frame is made (error spans need the raw text),
    and the violations that ended the stream."""

    __slots__ = ("final", "released")

    def __init__(self, request: Request, policy: GatePolicy) -> None:
        super().__init__(request.sources, language=request.language, policy=policy, question=request.question)
        self.released: deque[ReleasedSentence] = deque()
        self.final: tuple[Violation, ...] = ()

    def feed(self, text: str) -> GateOutcome:
        return self._kept(super().feed(text))

    def finish(self, finish_reason: str = "stop") -> GateOutcome:
        return self._kept(super().finish(finish_reason))

    def fail(self, withheld: int = 0) -> GateOutcome:
        return self._kept(super().fail(withheld))

    def _kept(self, outcome: GateOutcome) -> GateOutcome:
        self.released.extend(outcome.sentences)
        if outcome.stopped:
            flagged = {v for sentence in outcome.sentences for v in sentence.violations}
            self.final = tuple(v for v in outcome.violations if v not in flagged)
        return outcome


class Session:
    """The state of one stream: unbound, then judging, then ended. Used by one reader at a time."""

    __slots__ = ("_gate", "_owner", "_settings", "ended", "gate_report", "opening", "stream", "watcher")

    def __init__(self) -> None:
        self._gate: RecordingGate | None = None
        self._owner: object = None
        self._settings: Settings | None = None
        self.ended = False
        self.gate_report = GateReport(passed=True, state=State.OPEN)
        self.opening = Frame("", self)
        self.stream: Callable[[], Any] = lambda: None
        self.watcher: Callable[[Context], None] | None = None

    def bind(self, owner: object, settings: Settings, request: Request) -> None:
        """Make the gate of this stream. Raises what `SentenceGate` raises, and `MetadataError` when
        a second validator of ours stands in the guard (its policy would be passed over in silence)."""
        if self._owner is not None:
            raise MetadataError("one SentenceGateValidator per guard: merge the two policies")
        self._gate = RecordingGate(request, settings.gate_policy)
        self._owner, self._settings = owner, settings

    @property
    def gate(self) -> RecordingGate:
        """The bound gate. Raises `UnboundStreamError` when no validator took the opening frame."""
        if self._gate is None:
            raise UnboundStreamError(
                "no SentenceGateValidator took this stream: add it to the guard's own output (not to a field); "
                "a structured output is judged whole, so call it without stream=True"
            )
        return self._gate

    def release(self) -> None:
        """Let go of the gate and its sources; the report stays."""
        self.ended = True
        self._gate = self.watcher = None

    def sentence(self, text: str, violations: tuple[Violation, ...]) -> Frame:
        """A released sentence, as a frame that passes, or fails when the gate only flagged it."""
        released = self.gate.released.popleft() if self.gate.released else None
        assert self._settings is not None
        blocking = self._settings.blocking(violations) if self._settings.kind in JUDGE_ON else ()
        self._count(text if not blocking or self._settings.kind is OnFailKind.NOOP else "", violations, bool(blocking))
        if not blocking:
            return Frame(text, self)
        if self._settings.kind is OnFailKind.NOOP:
            spans = shown_spans(released, text, blocking, self._settings.policy) if released else ()
            return Frame(text, self, Failure(blocking, spans=spans))
        lead = text[: len(text) - len(text.lstrip())]
        return Frame("", self, Failure(blocking, lead=lead))

    def ending(self, state: State, codes: Iterable[str], notice: str | None, withheld_chars: int) -> Frame | None:
        """The end of the stream: the frame of a failure, of a notice that is shown, or none."""
        assert self._settings is not None
        # A stop that the driver itself made (a time-out of a check) is known by its codes only.
        violations = self.gate.final or tuple(Violation(code, Span(0, 0)) for code in codes)
        stopped = state in (State.WITHHELD, State.FAILED)
        report = self.gate_report
        self.gate_report = replace(
            report,
            passed=report.passed and not stopped,
            state=state,
            violations=(*report.violations, *violations),
            notice=notice,
            withheld_chars=withheld_chars,
        )
        following = with_notice("x" if report.released_chars else "", notice)
        if stopped:
            stopping = self._settings.blocking(violations) or (Violation(Code.CHECK_FAILED, Span(0, 0)),)
            return Frame("", self, Failure(stopping, notice=following, last=True))
        return Frame(following, self) if following else None

    def replaced(self, text: str, *, ends: bool) -> None:
        """Count a callable's text as shown; `ends` when it ended the answer."""
        report = replace(self.gate_report, released_chars=self.gate_report.released_chars + len(text))
        self.gate_report = replace(report, state=State.WITHHELD) if ends else report
        self.ended = self.ended or ends

    def _count(self, text: str, violations: tuple[Violation, ...], failing: bool) -> None:
        report = self.gate_report
        self.gate_report = replace(
            report,
            passed=report.passed and not failing,
            violations=(*report.violations, *violations) if violations else report.violations,
            released_chars=report.released_chars + len(text),
        )


def shown_spans(
    released: ReleasedSentence, text: str, violations: Iterable[Violation], policy: GatePolicy
) -> tuple[tuple[Span, str], ...]:
    """The violations' spans, from the raw stream into the text of one released sentence."""
    sentence = released.sentence
    first = sentence.span.start - (len(sentence.raw) - len(sentence.raw.lstrip()))
    shown = _shown(sentence.raw, text, policy, code=sentence.kind is Kind.CODE)
    places = [shown.to_raw(i) for i in range(len(text))]
    found = []
    for violation in violations:
        start, end = violation.span.start - first, violation.span.end - first
        inside = [i for i, raw in enumerate(places) if start <= raw < end]
        # A marker is cut out of what is shown: such a span is empty, at the place it was.
        at = next((i for i, raw in enumerate(places) if raw >= start), len(text))
        found.append((Span(inside[0], inside[-1] + 1) if inside else Span(at, at), violation.code))
    return tuple(found)


def _shown(raw: str, text: str, policy: GatePolicy, *, code: bool) -> Shown:
    if policy.keep_markers:
        return Shown(text)
    for at_line_start in (True, False):
        shown = strip(raw, marker_style(policy.marker), at_line_start=at_line_start, code=code)
        if shown.text == text:
            return shown
    return Shown(text)


def frames_of(session: Session, event: Any) -> Iterator[Frame]:
    """The frames that one event of the driver becomes (a sentence one, an end one or none)."""
    if event.type == "sentence":
        yield session.sentence(event.text, tuple(event.violations))
    elif event.type == "error":
        raise GateError(f"the provider's stream failed: {event.message}")
    elif event.type == "guard" or session.gate_report.state is State.OPEN:
        # A stop is told before the end; a refusal or a cut-off answer may be told by the end alone.
        codes, withheld_chars = getattr(event, "codes", ()), getattr(event, "withheld_chars", 0)
        frame = session.ending(State(event.state), codes, event.notice, withheld_chars)
        if frame is not None:
            yield frame
