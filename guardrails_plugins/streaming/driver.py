"""`gate_stream` and `gate_stream_sync`: a provider's stream through a gate, as events."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from typing import Any

from guardrails_plugins.core.errors import FrameError
from guardrails_plugins.core.gate import SentenceGate
from guardrails_plugins.core.usage import UsageMeter
from guardrails_plugins.streaming.events import DoneEvent, ErrorEvent, GateEvent, GuardEvent, SentenceEvent
from guardrails_plugins.streaming.machine import StreamMachine
from guardrails_plugins.streaming.record import Recorder
from guardrails_plugins.streaming.source import AsyncSource, SourceEnded

AsyncCheck = Callable[[SentenceEvent, SentenceGate], Awaitable[bool]]
"""An asynchronous check: true lets the sentence through; false, an exception or a timeout stops the stream."""
SyncCheck = Callable[[SentenceEvent, SentenceGate], bool]

__all__ = [
    "AsyncCheck",
    "DoneEvent",
    "ErrorEvent",
    "GateEvent",
    "GuardEvent",
    "SentenceEvent",
    "SyncCheck",
    "gate_stream",
    "gate_stream_sync",
]


async def gate_stream(
    chunks: Any,
    gate: SentenceGate,
    *,
    timeout_s: float | None = None,
    checks: Sequence[AsyncCheck] = (),
    check_timeout_s: float | None = None,
    prompt_text: str | None = None,
    request_id: str | None = None,
    record: Recorder | None = None,
    meter: UsageMeter | None = None,
) -> AsyncGenerator[GateEvent, None]:
    """Drive an asynchronous provider stream through a gate.

    `chunks` is an async iterator of strings, bytes or provider frames, or an awaitable of one.
    `timeout_s`: seconds without a frame after which the stream ends with an `ErrorEvent`.
    `checks` run on each passed sentence while the model writes on; release stays in order, and
    one that returns false, raises, or takes longer than `check_timeout_s` stops the stream.
    `prompt_text` is counted when the provider reports no input tokens. `record` keeps the raw
    answer, withheld text included (off by default). `meter` is filled as the stream runs: it
    also counts a stream that its consumer leaves, which has no `DoneEvent`.

    Yields `SentenceEvent`s, at most one `GuardEvent` or `ErrorEvent`, and a `DoneEvent` last.
    The source is closed on every way out: a stop, an error, `aclose()`, cancellation.
    """
    machine = StreamMachine(gate, prompt_text=prompt_text, request_id=request_id, record=record, meter=meter)
    source = AsyncSource(chunks)
    held = _Held(checks, check_timeout_s)
    finished = False
    try:
        while not machine.over:
            events = await _next_events(machine, source, held, timeout_s)
            machine.shown(events)
            if machine.over:
                source.cancel()  # before anything is shown: a slow consumer must not keep the provider writing
            for event in events:
                yield event
        events = await held.rest(machine)
        await source.close()
        machine.shown(events)
        for event in events:
            yield event
        finished = True
        yield machine.done()
    finally:
        held.cancel()
        await source.close()
        if not finished:
            machine.abandon()


async def _next_events(
    machine: StreamMachine, source: AsyncSource, held: _Held, timeout_s: float | None
) -> list[GateEvent]:
    """Wait for the next frame or for a held sentence's checks, whichever comes first."""
    answer = held.answer or source.ask()
    held.answer = answer
    if timeout_s is None and not held:
        with contextlib.suppress(Exception):
            await answer
    else:
        waiting = {answer, held.first()} if held else {answer}
        done, _ = await asyncio.wait(waiting, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            return machine.fail("timeout", f"no frame arrived for {timeout_s} seconds")
    ready = held.ready(machine)
    if machine.over or not answer.done():
        return ready
    held.answer = None
    return ready + held.take(machine, _read(machine, answer))


def _read(machine: StreamMachine, answer: asyncio.Future[Any]) -> list[GateEvent]:
    try:
        chunk = answer.result()
    except SourceEnded:
        return machine.end()
    except FrameError as error:
        return machine.fail("bad_frame", str(error))
    except Exception as error:
        return machine.fail("provider_error", f"the provider's stream raised {type(error).__name__}")
    return machine.take(chunk)


class _Held:
    """Passed sentences whose asynchronous checks have not answered, in order, and what follows them."""

    def __init__(self, checks: Sequence[AsyncCheck], timeout_s: float | None) -> None:
        self._checks = tuple(checks)
        self._timeout_s = timeout_s
        self._queue: deque[tuple[GateEvent, asyncio.Task[bool] | None]] = deque()
        self.answer: asyncio.Future[Any] | None = None

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
                    self.cancel()
                    return out + machine.fail_check()
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

    def cancel(self) -> None:
        """End checks that still run; their sentences are never shown."""
        for _, task in self._queue:
            if task is not None and not task.done():
                task.cancel()
        self._queue.clear()

    async def _run(self, event: SentenceEvent, gate: SentenceGate) -> bool:
        for check in self._checks:
            answer = check(event, gate)
            if await asyncio.wait_for(answer, self._timeout_s) is not True:
                return False
        return True


def gate_stream_sync(
    chunks: Any,
    gate: SentenceGate,
    *,
    checks: Sequence[SyncCheck] = (),
    prompt_text: str | None = None,
    request_id: str | None = None,
    record: Recorder | None = None,
    meter: UsageMeter | None = None,
) -> Generator[GateEvent, None, None]:
    """The same for a plain iterator, which is closed when its current `next()` has returned.

    A stall cannot be interrupted here: set a read timeout on the provider's client.
    """
    machine = StreamMachine(gate, prompt_text=prompt_text, request_id=request_id, record=record, meter=meter)
    finished = False
    try:
        iterator = _sync_iterator(chunks)
        while not machine.over:
            try:
                events = machine.take(next(iterator))
            except StopIteration:
                events = machine.end()
            except Exception as error:
                events = machine.fail("provider_error", f"the provider's stream raised {type(error).__name__}")
            events = _checked(machine, events, checks)
            machine.shown(events)
            yield from events
        _close_sync(chunks)
        finished = True
        yield machine.done()
    finally:
        if not finished:
            _close_sync(chunks)
            machine.abandon()


def _sync_iterator(chunks: Any) -> Any:
    if isinstance(chunks, (str, bytes)) or not hasattr(chunks, "__iter__"):
        wanted = "gate_stream for an async one" if hasattr(chunks, "__aiter__") else "check_text for a whole text"
        raise FrameError(f"gate_stream_sync reads an iterator of frames, not {type(chunks).__name__}; use {wanted}")
    return iter(chunks)


def _checked(machine: StreamMachine, events: list[GateEvent], checks: Sequence[SyncCheck]) -> list[GateEvent]:
    if not checks:
        return events
    out: list[GateEvent] = []
    for event in events:
        if isinstance(event, SentenceEvent):
            try:
                passed = all(check(event, machine.gate) is True for check in checks)
            except Exception:
                passed = False
            if not passed:
                return out + machine.fail_check()
        out.append(event)
    return out


def _close_sync(chunks: Any) -> None:
    close = getattr(chunks, "close", None)
    if close is not None and not inspect.iscoroutinefunction(close):
        with contextlib.suppress(Exception):
            close()
