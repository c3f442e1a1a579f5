"""One answer: passages, the provider, the gate, and what the reader is told."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import Any

from guardrails_plugins.core.gate import SentenceGate
from guardrails_plugins.core.languages.profile import load_profile
from guardrails_plugins.core.outcome import State
from guardrails_plugins.core.prompt import build_prompt
from guardrails_plugins.core.sources import Source, SourceIndex
from guardrails_plugins.core.usage import Usage, UsageMeter
from guardrails_plugins.server.ask import Ask
from guardrails_plugins.server.budget import Budget
from guardrails_plugins.server.metrics import Arrivals, Metrics, answer_span, note
from guardrails_plugins.server.providers import Provider, Request
from guardrails_plugins.server.retrieval import Found, Library
from guardrails_plugins.server.settings import Settings
from guardrails_plugins.streaming.driver import gate_stream
from guardrails_plugins.streaming.events import DoneEvent, GateEvent, SentenceEvent

Event = tuple[str, dict[str, Any]]
"""The name and the data of one event."""


@dataclass(slots=True)
class Service:
    """What all answers share."""

    library: Library
    provider: Provider
    settings: Settings
    budget: Budget
    metrics: Metrics


class Answer:
    """One request. `events` gives what the reader is sent; leaving it early closes the provider."""

    def __init__(self, service: Service, ask: Ask) -> None:
        self.id = uuid.uuid4().hex
        self._service = service
        self._ask = ask
        self._started = time.monotonic()
        self._arrivals = Arrivals()
        self._meter = UsageMeter()
        self._released: list[str] = []
        self._ended = False
        self._settled = False

    async def events(self) -> AsyncGenerator[Event, None]:
        """``sources``, ``sentence``…, at most one ``guard`` or ``error``, and ``done``."""
        settings = self._service.settings
        found = self._service.library.search(
            self._ask.question, limit=settings.max_passages, threshold=settings.min_relevance
        )
        yield "sources", {"id": self.id, "sources": [_source(n, f) for n, f in enumerate(found, 1)]}
        if not found:
            for refused in self._refused():
                yield refused
            return
        with answer_span(self.id, self._ask.language, len(found)) as span:
            stream = self._stream(found)
            try:
                async for event in stream:
                    self._observe(event, span)
                    if isinstance(event, DoneEvent):
                        self._settle()  # nothing that can fail comes after `done`
                    yield self._told(event)
                    if isinstance(event, SentenceEvent):
                        self._released.append(event.text)  # the reader has it
            finally:
                await stream.aclose()
                self._settle()

    def broken(self, code: str, message: str) -> list[Event]:
        """What a reader whose answer broke off is told last; nothing when it has been told the end."""
        if self._ended:
            return []
        notice = self._notice("error")
        done = _done(State.FAILED, notice, "".join(self._released), self._meter.result(), ())
        return [("error", {"code": code, "message": message}), ("done", done)]

    def _stream(self, found: list[Found]) -> AsyncGenerator[GateEvent, None]:
        settings, ask = self._service.settings, self._ask
        texts = [Source(f.passage.text, id=f"{f.passage.document}#{f.passage.number}") for f in found]
        index = SourceIndex(texts, language=ask.language)
        system = build_prompt(index, language=ask.language, policy=settings.policy)
        messages = (*ask.history, {"role": "user", "content": ask.question})
        request = Request(ask.question, ask.language, system, messages, index, settings.policy)
        gate = SentenceGate(index, language=ask.language, policy=settings.policy, question=ask.question)
        prompt = "\n".join([system, *(m["content"] for m in messages)])
        return gate_stream(
            self._tapped(self._service.provider.stream(request)),
            gate,
            timeout_s=settings.stall_timeout_s,
            prompt_text=prompt,
            request_id=self.id,
            meter=self._meter,
        )

    async def _tapped(self, stream: Any) -> AsyncIterator[Any]:
        """The provider's stream; notes when its text arrives."""
        opened = await stream if hasattr(stream, "__await__") else stream
        try:
            async for chunk in opened:
                self._arrivals.add(_text_of(chunk))
                yield chunk
        finally:
            close = getattr(opened, "aclose", None) or getattr(opened, "close", None)
            if close is not None:
                await close()

    def _refused(self) -> list[Event]:
        """A question that no passage supports: the model is not called. The text is that of the refusal token."""
        notice = self._notice("refused")
        self._ended = True
        self._service.metrics.answers.labels(State.REFUSED.value).inc()
        guard = {"codes": [], "notice": notice, "withheld_chars": 0, "state": State.REFUSED.value}
        return [("guard", guard), ("done", _done(State.REFUSED, notice, "", Usage(), ()))]

    def _notice(self, name: str) -> str:
        """A fixed text, as the gate gives it: the refusal byte for byte that of the refusal token."""
        own = self._service.settings.policy.notices.get(name)
        return own or str(getattr(load_profile(self._ask.language).notices, name))

    def _told(self, event: GateEvent) -> Event:
        if event.type == "sentence":
            return "sentence", {"text": event.text, "cited": list(event.cited)}
        if event.type == "guard":
            codes = list(event.codes)
            return "guard", {
                "codes": codes,
                "notice": event.notice,
                "withheld_chars": event.withheld_chars,
                "state": event.state.value,
            }
        if event.type == "error":
            return "error", {"code": event.code, "message": event.message}
        return "done", _done(event.state, event.notice, "".join(self._released), event.usage, event.tool_calls)

    def _observe(self, event: GateEvent, span: Any) -> None:
        metrics = self._service.metrics
        if isinstance(event, SentenceEvent):
            if not self._released:
                metrics.first.observe(time.monotonic() - self._started)
            held = self._arrivals.since(event.span.start)
            metrics.hold.observe(held)
            metrics.sentences.inc()
            note(span, "sentence", chars=len(event.text), cited=len(event.cited), hold_s=held)
        elif event.type == "guard":
            for code in event.codes:
                metrics.stops.labels(code).inc()
            note(span, "guard", codes=list(event.codes), withheld_chars=event.withheld_chars, state=event.state.value)
        elif isinstance(event, DoneEvent):
            self._ended = True
            metrics.answers.labels(event.state.value).inc()
            metrics.closings.labels(event.state.value).inc()

    def _settle(self) -> None:
        """Count what was generated, once, also when the reader has gone."""
        if self._settled:
            return
        self._settled = True
        usage = self._meter.result()
        self._service.metrics.count_usage(usage)
        self._service.budget.add(usage)
        if not self._ended:
            self._service.metrics.answers.labels("abandoned").inc()
            self._service.metrics.closings.labels("abandoned").inc()


def _source(number: int, found: Found) -> dict[str, Any]:
    passage = found.passage
    return {"number": number, "document": passage.document, "title": passage.title, "text": passage.text}


def _done(state: State, notice: str | None, released: str, usage: Usage, tool_calls: Any) -> dict[str, Any]:
    return {
        "state": state.value,
        "notice": notice,
        "released": released,
        "usage": {
            "input": {"reported": usage.input_reported, "estimated": usage.input_estimated},
            "output": {"reported": usage.output_reported, "estimated": usage.output_estimated},
            "reasoning": {"reported": usage.reasoning_reported, "may_be_missing": usage.hidden_reasoning},
        },
        "tool_calls": list(tool_calls),
    }


def _text_of(chunk: Any) -> str:
    """The answer's text in a frame, as far as times need it."""
    if isinstance(chunk, str):
        return chunk
    choices = getattr(chunk, "choices", None)
    delta = choices[0].delta if choices else getattr(chunk, "delta", None)
    text = getattr(delta, "content", None) or getattr(delta, "text", None)
    return text if isinstance(text, str) else ""
