"""Streams of a bare callable: raw text that Guardrails hands over piece by piece.

Such a stream cannot be gated sentence by sentence. Guardrails says that it ended only to a
validator that had nothing to show for the last piece, and no one knows which piece is the last;
so everything is held, judged as it comes, and shown at the end, or at the stop. Nothing is shown
unjudged and nothing is lost. `sentence_stream` shows each sentence as soon as it has passed.
"""

from __future__ import annotations

import logging
import sys
import weakref
from collections.abc import Callable
from typing import TypeVar

from guardrails.classes.history import Iteration
from guardrails_ai.types import ValidationResult

from guardrails_plugins.adapters.guardrails_ai.correction import corrected, log_failure, withhold
from guardrails_plugins.adapters.guardrails_ai.errors import UnboundStreamError
from guardrails_plugins.adapters.guardrails_ai.kinds import OnFailKind, with_notice
from guardrails_plugins.adapters.guardrails_ai.metadata import Request
from guardrails_plugins.adapters.guardrails_ai.report import GateReport
from guardrails_plugins.adapters.guardrails_ai.results import failed, passed
from guardrails_plugins.adapters.guardrails_ai.session import Settings, shown_spans
from guardrails_plugins.core.gate import SentenceGate
from guardrails_plugins.core.outcome import GateOutcome, ReleasedSentence, State, Violation
from guardrails_plugins.core.sentence import Span

logger = logging.getLogger("guardrails_plugins")

T = TypeVar("T")

MAX_FRAMES = 16
"""Frames between a validator and the service that asks it: 7 in 0.11, tracing included."""


class BareStreams:
    """The bare streams of one validator, each kept as long as Guardrails keeps the record of its call.

    Guardrails hands a validator nothing that tells one stream from another, and tells the end
    of a stream only to a validator that has answered nothing yet, so no answer can carry the
    state. The record of the call (`Iteration`), which its validator service holds, tells them
    apart. Safe for streams in several threads.
    """

    def __init__(self) -> None:
        self._streams: dict[int, BareStream] = {}

    def __len__(self) -> int:
        return len(self._streams)

    def of_caller(self, make: Callable[[], BareStream]) -> BareStream:
        """The stream on whose behalf the validator is asked, made when it is new.

        Raises `UnboundStreamError` when no validator service of Guardrails asks, and beside
        another validator: the service merges what the two make of the raw text, and the merge
        can lose text or bring withheld characters back.
        """
        iteration = _local_of_callers("iteration", Iteration)
        if iteration is None:
            raise UnboundStreamError("only a Guard can have raw text judged piece by piece: use sentence_stream(llm)")
        key = id(iteration)
        if key not in self._streams:
            if len(_local_of_callers("validators", list) or ()) > 1:
                raise UnboundStreamError(
                    "beside another validator a bare callable cannot be judged safely: use sentence_stream(llm)"
                )
            self._streams[key] = make()
            weakref.finalize(iteration, self._streams.pop, key, None).atexit = False
        return self._streams[key]


def _local_of_callers(name: str, kind: type[T]) -> T | None:
    frame = sys._getframe(2).f_back
    for _ in range(MAX_FRAMES):
        if frame is None:
            break
        found = frame.f_locals.get(name)
        if isinstance(found, kind):
            return found
        frame = frame.f_back
    return None


class BareStream:
    """The state of one bare stream."""

    def __init__(self, request: Request, settings: Settings) -> None:
        self._gate = SentenceGate(
            request.sources, language=request.language, policy=settings.gate_policy, question=request.question
        )
        self._settings = settings
        self._shown: list[str] = []
        self._spans: list[tuple[Span, str]] = []
        self._failing: list[Violation] = []
        self._ended = False
        logger.info("bare stream: the answer is held to its end; wrap the callable with sentence_stream")

    def take(self, text: str, *, last: bool) -> ValidationResult | None:
        """What Guardrails is told of one piece: nothing yet (None), or the whole answer's result."""
        if self._ended:
            # Nothing more is shown; Guardrails is told so when it says that the answer ended.
            return passed("") if last else None
        outcome = self._gate.feed(text)
        self._collect(outcome)
        if not self._ended and not outcome.stopped and last:
            outcome = self._gate.finish()
            self._collect(outcome)
        if self._ended or outcome.stopped or last:
            return self._result(outcome)
        return None

    def _collect(self, outcome: GateOutcome) -> None:
        for sentence in outcome.sentences:
            blocking = self._settings.blocking(sentence.violations)
            self._failing.extend(blocking)
            text = sentence.text
            if blocking and self._settings.kind is OnFailKind.NOOP:
                self._mark(sentence, blocking)
            if blocking and self._settings.kind is OnFailKind.CUSTOM:
                text = self._instead(text, blocking)
            self._shown.append(text)
            if self._ended:
                return
        if not outcome.sentences:
            self._shown.append(outcome.text)

    def _mark(self, sentence: ReleasedSentence, blocking: tuple[Violation, ...]) -> None:
        before = sum(map(len, self._shown))
        for span, code in shown_spans(sentence, sentence.text, blocking, self._settings.policy):
            self._spans.append((Span(before + span.start, before + span.end), code))

    def _instead(self, text: str, blocking: tuple[Violation, ...]) -> str:
        instead, ends = corrected(blocking, self._settings)
        self._ended = self._ended or ends
        return text[: len(text) - len(text.lstrip())] + instead if instead else ""

    def _result(self, outcome: GateOutcome) -> ValidationResult:
        self._ended = True
        shown = "".join(self._shown)
        violations = (*self._failing, *(outcome.violations if outcome.stopped else ()))
        stopped = outcome.state in (State.WITHHELD, State.FAILED)
        report = GateReport(
            passed=not stopped and not self._failing,
            state=outcome.state,
            violations=violations,
            notice=outcome.notice,
            released_chars=len(shown),
            withheld_chars=outcome.withheld_chars,
        )
        if report.passed:
            return passed(shown + with_notice(shown, outcome.notice), report=report)
        log_failure(violations, outcome.withheld_chars)
        kind = self._settings.kind
        if kind is OnFailKind.EXCEPTION:
            withhold(violations, outcome.state.value, outcome.notice)
        fix = shown
        if kind is OnFailKind.FIX:
            fix += with_notice(shown, outcome.notice)
        elif kind is OnFailKind.CUSTOM and stopped:
            fix += self._instead("", violations)
        return failed(fix, fix, violations, spans=self._spans, report=report)
