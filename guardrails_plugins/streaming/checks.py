"""Checks outside the gate that run while the model writes on: release waits for them, in order."""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from guardrails_plugins.core.gate import SentenceGate
from guardrails_plugins.streaming.events import GateEvent, SentenceEvent
from guardrails_plugins.streaming.machine import StreamMachine
from guardrails_plugins.streaming.source import forget

AsyncCheck = Callable[[SentenceEvent, SentenceGate], Awaitable[bool] | bool]
"""A check, asynchronous or quick: true lets the sentence through; false, an exception or a timeout stops the stream."""
SyncCheck = Callable[[SentenceEvent, SentenceGate], bool]


MOST_HELD = 16
"""Sentences that may wait for their checks before the next frame is asked for: memory stays bounded."""


class HeldSentences:
    """Passed sentences whose checks have not answered, in order, and what follows them."""

    def __init__(self, checks: Sequence[AsyncCheck], timeout_s: float | None) -> None:
        self._checks = tuple(checks)
        self._timeout_s = timeout_s
        self._queue: deque[tuple[GateEvent, asyncio.Task[bool] | None]] = deque()

    def __len__(self) -> int:
        return len(self._queue)

    def first(self) -> asyncio.Task[bool]:
        """The task that the next release waits for."""
        task = self._queue[0][1]
        assert task is not None
        return task

    def take(self, machine: StreamMachine, events: list[GateEvent]) -> list[GateEvent]:
        """Start the checks of new events; returns those that may go out now."""
        if not self._checks:
            return events
        for event in events:
            task = None
            if isinstance(event, SentenceEvent):
                task = asyncio.create_task(self._run(event, machine.gate))
                task.add_done_callback(forget)  # what a check raises may quote the sentence
            self._queue.append((event, task))
        return self.ready(machine)

    def ready(self, machine: StreamMachine) -> list[GateEvent]:
        """What the checks that have answered let out, in order; a failed one drops all that waits."""
        out: list[GateEvent] = []
        while self._queue:
            event, task = self._queue[0]
            if task is not None:
                if not task.done():
                    break
                if task.cancelled() or task.exception() is not None or task.result() is not True:
                    return out + machine.fail_check(self.cancel())
            self._queue.popleft()
            out.append(event)
        return out

    async def rest(self, machine: StreamMachine) -> list[GateEvent]:
        """Wait for all checks at the end."""
        out = self.ready(machine)
        while self._queue:
            await asyncio.wait({self.first()})
            out += self.ready(machine)
        return out

    def cancel(self) -> int:
        """End checks that still run; their sentences are never shown. Returns their length, in code points."""
        dropped = 0
        for event, task in self._queue:
            if isinstance(event, SentenceEvent):
                dropped += len(event.text)
            if task is not None and not task.done():
                task.cancel()
        self._queue.clear()
        return dropped

    async def _run(self, event: SentenceEvent, gate: SentenceGate) -> bool:
        for check in self._checks:
            answer = check(event, gate)
            if inspect.isawaitable(answer):
                answer = await self._in_time(asyncio.ensure_future(answer))
            if answer is not True:
                return False
        return True

    async def _in_time(self, answer: asyncio.Future[bool]) -> bool:
        """What a check answers; false when it takes too long, also when it does not let itself be cancelled."""
        answer.add_done_callback(forget)
        try:
            await asyncio.wait({answer}, timeout=self._timeout_s)
            return answer.done() and answer.result()
        finally:
            answer.cancel()
