"""OpenTelemetry spans, one a judged sentence: codes, counts and durations, no text."""

from __future__ import annotations

import time
from typing import Any

from guardrails_plugins.core.outcome import GateOutcome

SPAN = "sentence_gate.sentence"


class SentenceSpans:
    """Makes a span from the end of the last sentence to the verdict on this one; nothing when not `enabled`.

    OpenTelemetry is an extra of NeMo's; without it, tracing by NeMo does not start either.
    """

    def __init__(self, *, enabled: bool) -> None:
        self._tracer: Any = None
        self._number = 0
        self._since = 0
        if enabled:
            try:
                from opentelemetry import trace
            except ImportError:
                return
            self._tracer = trace.get_tracer("guardrails_plugins")
            self._since = time.time_ns()

    def sentence(self, event: Any) -> None:
        """A sentence that passed."""
        if self._tracer is None:
            return
        codes = list(dict.fromkeys(str(v.code) for v in event.violations))
        self._span("passed", codes, {"sentence_gate.chars": len(event.text), "sentence_gate.cited": len(event.cited)})

    def guard(self, event: Any) -> None:
        """The end of an answer by the gate."""
        if self._tracer is None:
            return
        self._span(
            str(event.state), list(map(str, event.codes)), {"sentence_gate.withheld_chars": event.withheld_chars}
        )

    def outcome(self, outcome: GateOutcome) -> None:
        """What one piece of a whole text led to."""
        if self._tracer is None:
            return
        for sentence in outcome.sentences:
            self.sentence(sentence)
        if outcome.stopped:
            self.guard(outcome)

    def _span(self, verdict: str, codes: list[str], counts: dict[str, int]) -> None:
        now = time.time_ns()
        self._number += 1
        span = self._tracer.start_span(SPAN, start_time=self._since)
        span.set_attribute("sentence_gate.number", self._number)
        span.set_attribute("sentence_gate.verdict", verdict)
        span.set_attribute("sentence_gate.codes", codes)
        for name, value in counts.items():
            span.set_attribute(name, value)
        span.end(end_time=now)
        self._since = now
