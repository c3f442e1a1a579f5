"""The driver's logic without I/O: provider frames in, events out. Both drivers run it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from guardrails_plugins.core.errors import FinishReasonError, FrameError
from guardrails_plugins.core.gate import SentenceGate
from guardrails_plugins.core.outcome import Code, GateOutcome, ReleasedSentence, State
from guardrails_plugins.core.usage import UsageMeter
from guardrails_plugins.streaming.events import DoneEvent, ErrorEvent, GateEvent, GuardEvent, SentenceEvent
from guardrails_plugins.streaming.frames import FrameReader, ProviderError
from guardrails_plugins.streaming.record import Recorder, Recording

logger = logging.getLogger("guardrails_plugins")


class StreamMachine:
    """One stream: feeds the gate, counts usage, turns outcomes into events.

    `over` is true once no further frame is wanted; then the source is to be closed, and `done`
    gives the last event.
    """

    def __init__(
        self,
        gate: SentenceGate,
        *,
        prompt_text: str | None = None,
        request_id: str | None = None,
        record: Recorder | None = None,
        meter: UsageMeter | None = None,
    ) -> None:
        self.gate = gate
        self.over = False
        self.reader = FrameReader()
        self.meter = UsageMeter() if meter is None else meter
        self._request_id = request_id
        self._recording = Recording(record, request_id)
        self._released = 0
        self._notice: str | None = None
        self._broken = False
        if prompt_text:
            self.meter.on_prompt(prompt_text)

    @property
    def state(self) -> State:
        """The stream's state: the gate's, or `failed` after an error outside it."""
        return State.FAILED if self._broken else self.gate.state

    def take(self, chunk: Any) -> list[GateEvent]:
        """The events of one frame."""
        cut = self.over or self.reader.is_cut  # before this frame: then its text only counts
        try:
            delta = self.reader.read(chunk)
        except FrameError as error:
            return self.fail("bad_frame", str(error))
        except ProviderError as error:
            return self.fail("provider_error", str(error))
        meter = self.meter
        if delta.text:
            meter.on_text(delta.text)
            self._recording.add(delta.text)
        if delta.reasoning or delta.tool_text:
            meter.on_text(delta.reasoning + delta.tool_text)
        if delta.usage:
            meter.report(**delta.usage)
        events = self._events(self.gate.feed(delta.text)) if delta.text and not cut else []
        if delta.refused and not self.over:
            events += self._events(self.gate.refuse())
        return events

    def end(self) -> list[GateEvent]:
        """The source has ended: finish the gate by the protocol's finish reason."""
        if self.over:
            return []
        rest = self.reader.finish().text
        events = self._events(self.gate.feed(rest)) if rest else []
        if self.over:
            return events
        reason = self.reader.finish_reason
        if reason is None:
            # A protocol that tells when an answer is whole did not: the answer was cut off.
            reason = "length" if self.reader.needs_finish else "stop"
        try:
            events += self._events(self.gate.finish(reason))
        except FinishReasonError as error:
            return events + self.fail("bad_frame", str(error))
        self.over = True
        return events

    def fail(self, code: str, message: str) -> list[GateEvent]:
        """Something outside the gate broke: nothing held is released."""
        self.over = self._broken = True
        self._notice = self.gate.policy.notices.get("error") or self.gate.profile.notices.error
        self.gate.discard()
        logger.warning("stream %s: %s", self._request_id or "-", code)
        return [ErrorEvent(code, message)]

    def fail_check(self, dropped: int = 0) -> list[GateEvent]:
        """A check outside the gate raised or timed out: its sentence and all after it, `dropped` code points of
        shown text, are dropped."""
        if self.gate.state is State.OPEN:
            return self._events(self.gate.fail(dropped))
        self.over = self._broken = True
        self._notice = self.gate.policy.notices.get("error") or self.gate.profile.notices.error
        guard = GuardEvent((Code.CHECK_FAILED.value,), self._notice, dropped, State.FAILED)
        self._log(guard)
        return [guard]

    def done(self) -> DoneEvent:
        """The last event; hands the recording on."""
        self._recording.close(self.gate, self.state.value)
        clean = self.state is State.COMPLETED
        return DoneEvent(
            state=self.state,
            usage=self.meter.result(),
            notice=self._notice,
            released_chars=self._released,
            finish_reason=self.reader.finish_reason,
            tool_calls=self.reader.tool_calls if clean else (),
            unknown_events=self.reader.unknown_events,
        )

    def abandon(self) -> None:
        """The consumer is gone: what was received is recorded, nothing is released."""
        self.gate.discard()
        self._recording.close(self.gate, "abandoned")

    def shown(self, events: Sequence[GateEvent]) -> None:
        """Count what the consumer is given."""
        self._released += sum(len(e.text) for e in events if isinstance(e, SentenceEvent))

    def _events(self, outcome: GateOutcome) -> list[GateEvent]:
        events: list[GateEvent] = [_sentence(s) for s in outcome.sentences]
        shown = sum(len(s.text) for s in outcome.sentences)
        if len(outcome.text) > shown:  # whitespace that no sentence follows
            events.append(SentenceEvent(outcome.text[shown:]))
        if outcome.notice is not None:
            self._notice = outcome.notice
        if outcome.stopped:
            self.over = True
            guard = GuardEvent(
                tuple(map(str, outcome.codes)),
                outcome.notice,
                outcome.withheld_chars,
                outcome.state,
                _stopping(outcome),
            )
            self._log(guard)
            events.append(guard)
        return events

    def _log(self, guard: GuardEvent) -> None:
        logger.warning(
            "stream %s: %s (%s), %d characters withheld",
            self._request_id or "-",
            guard.state.value,
            ", ".join(guard.codes) or "no code",
            guard.withheld_chars,
        )


def _sentence(released: ReleasedSentence) -> SentenceEvent:
    return SentenceEvent(released.text, released.cited, released.span, released.violations)


def _stopping(outcome: GateOutcome) -> tuple[Any, ...]:
    """The violations of the sentence that stopped the answer: those that no released one has."""
    flagged = {v for s in outcome.sentences for v in s.violations}
    return tuple(v for v in outcome.violations if v not in flagged)
