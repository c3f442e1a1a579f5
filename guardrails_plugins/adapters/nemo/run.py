"""One answer on its way from the driver's events to NeMo's items; the model wrapper and `gate_items` share it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from guardrails_plugins.adapters.nemo.session import Session
from guardrails_plugins.adapters.nemo.tracing import SentenceSpans
from guardrails_plugins.adapters.nemo.verdict import Verdict, unambiguous
from guardrails_plugins.core.outcome import State


class Run:
    """Reads the events of one gated stream.

    After `items` has ended: `verdict` says how the answer did, `failed` is the code of a provider's
    error or None, `usage` what the driver counted, `any_text` whether anything was released.
    """

    def __init__(self, session: Session, events: AsyncGenerator[Any, None]) -> None:
        self._session = session
        self._events = events
        self._spans = SentenceSpans(enabled=session.settings.tracing)
        self.verdict = Verdict(State.OPEN)
        self.usage: Any = None
        self.failed: str | None = None
        self.any_text = False

    async def items(self) -> AsyncGenerator[str, None]:
        """The released sentences, each announced to the session. Closing this closes the provider's stream."""
        async with aclosing(self._events) as events:
            async for event in events:
                if event.type == "sentence":
                    self._spans.sentence(event)
                    self.any_text = self.any_text or bool(event.text.strip())
                    for part in unambiguous(event.text):
                        if part:
                            yield self._session.expect(part)
                else:
                    self._end(event)

    def _end(self, event: Any) -> None:
        if event.type == "guard":
            self._spans.guard(event)
            self.verdict = Verdict(event.state, tuple(map(str, event.codes)), event.notice, event.withheld_chars)
        elif event.type == "done":
            self.usage = event.usage
            if self.verdict.state is State.OPEN:
                self.verdict = Verdict(event.state, notice=event.notice)
        elif event.type == "error":
            self.failed = event.code

    def last_item(self) -> str | None:
        """The item after the last sentence: the stand-in of a block, a notice, or nothing."""
        if self.verdict.blocks:
            return self._session.stop(self.verdict)
        if self.verdict.notice is None:
            return None
        return self._session.expect(f"\n\n{self.verdict.notice}" if self.any_text else self.verdict.notice)
