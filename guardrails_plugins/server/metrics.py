"""Counts and times for Prometheus, and spans for OpenTelemetry where it is installed. Never text."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from guardrails_plugins.core.usage import Usage

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """One registry a server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        registry = self.registry
        self.sentences = Counter("sentence_gate_sentences", "Sentences released", registry=registry)
        self.stops = Counter("sentence_gate_stops", "Stops by code", ["code"], registry=registry)
        self.answers = Counter("sentence_gate_answers", "Answers by final state", ["state"], registry=registry)
        self.hold = Histogram(
            "sentence_gate_hold_seconds",
            "From the arrival of a sentence's first character to its release",
            buckets=BUCKETS,
            registry=registry,
        )
        self.first = Histogram(
            "sentence_gate_first_sentence_seconds",
            "From the request to the first sentence",
            buckets=BUCKETS,
            registry=registry,
        )
        self.open = Gauge("sentence_gate_open_streams", "Streams that are open now", registry=registry)
        self.closings = Counter(
            "sentence_gate_provider_closings", "Provider streams closed, by cause", ["cause"], registry=registry
        )
        self.tokens = Counter(
            "sentence_gate_tokens", "Tokens, reported and estimated", ["direction", "source"], registry=registry
        )

    def count_usage(self, usage: Usage) -> None:
        """Add one stream's tokens."""
        self.tokens.labels("input", "reported").inc(usage.input_reported)
        self.tokens.labels("input", "estimated").inc(usage.input_estimated)
        self.tokens.labels("output", "reported").inc(usage.output_reported)
        self.tokens.labels("output", "estimated").inc(usage.output_estimated)
        self.tokens.labels("reasoning", "reported").inc(usage.reasoning_reported)

    def text(self) -> bytes:
        """The exposition format."""
        return generate_latest(self.registry)


class Arrivals:
    """When the characters of a raw stream arrived, so that the hold time of a sentence is known."""

    def __init__(self) -> None:
        self._pieces: deque[tuple[int, float]] = deque()
        self._size = 0

    def add(self, text: str) -> None:
        """Text arrived now."""
        self._size += len(text)
        self._pieces.append((self._size, time.monotonic()))

    def since(self, position: int) -> float:
        """Seconds since the character at `position` arrived; earlier ones are forgotten."""
        while self._pieces and self._pieces[0][0] <= position:
            self._pieces.popleft()
        return time.monotonic() - self._pieces[0][1] if self._pieces else 0.0


@contextlib.contextmanager
def answer_span(request_id: str, language: str, sources: int) -> Iterator[Any]:
    """A span of one answer; None without OpenTelemetry."""
    try:
        from opentelemetry import trace
    except ModuleNotFoundError:
        yield None
        return
    with trace.get_tracer("guardrails_plugins").start_as_current_span("sentence_gate.answer") as span:
        span.set_attributes(
            {
                "sentence_gate.request_id": request_id,
                "sentence_gate.language": language,
                "sentence_gate.sources": sources,
            }
        )
        yield span


def note(span: Any, name: str, **attributes: Any) -> None:
    """An event of a span: codes, counts and durations, without text."""
    if span is not None:
        span.add_event(name, {f"sentence_gate.{k}": v for k, v in attributes.items()})
