"""`gate_stream` and `gate_stream_sync`: a provider's stream through a gate, as events."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from typing import Any

from guardrails_plugins.core.errors import FrameError
from guardrails_plugins.core.gate import SentenceGate
from guardrails_plugins.core.usage import UsageMeter
from guardrails_plugins.streaming.arguments import validate
from guardrails_plugins.streaming.checks import MOST_HELD, AsyncCheck, HeldSentences, SyncCheck
from guardrails_plugins.streaming.events import DoneEvent, ErrorEvent, GateEvent, GuardEvent, SentenceEvent
from guardrails_plugins.streaming.generators import AsyncEvents, Events
from guardrails_plugins.streaming.machine import StreamMachine
from guardrails_plugins.streaming.record import Recorder
from guardrails_plugins.streaming.source import ENDED, AsyncSource, Read

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


def gate_stream(
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
    `timeout_s`: seconds without a frame after which the stream ends with an `ErrorEvent`; a
    sentence whose checks have not answered by then is dropped.
    `checks` run on each passed sentence while the model writes on; release stays in order, and
    one that returns false, raises, or takes longer than `check_timeout_s` stops the stream.
    `prompt_text` is counted when the provider reports no input tokens. `record` keeps the raw
    answer, withheld text included (off by default). `meter` is filled as the stream runs: it
    also counts a stream that its consumer leaves, which has no `DoneEvent`.

    Yields `SentenceEvent`s, at most one `GuardEvent` or `ErrorEvent`, and a `DoneEvent` last.
    The source is closed on every way out: a stop, an error, cancellation, `aclose()`, also one
    before the first event. Raises `ArgumentError` or `BoundError` on wrong arguments,
    `StreamClosedError` for a gate that has ended and `RecorderError` for a file that cannot be written.
    """
    validate(gate, checks, prompt_text, meter, timeout_s=timeout_s, check_timeout_s=check_timeout_s)
    machine = StreamMachine(gate, prompt_text=prompt_text, request_id=request_id, record=record, meter=meter)
    source = AsyncSource(chunks)
    held = HeldSentences(checks, check_timeout_s)

    async def leave() -> None:
        await source.close()
        machine.abandon()

    return AsyncEvents(_events(machine, source, held, timeout_s), leave)


async def _events(
    machine: StreamMachine, source: AsyncSource, held: HeldSentences, timeout_s: float | None
) -> AsyncGenerator[GateEvent, None]:
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
    machine: StreamMachine, source: AsyncSource, held: HeldSentences, timeout_s: float | None
) -> list[GateEvent]:
    """Wait for the next frame or for a held sentence's checks, whichever comes first."""
    if len(held) >= MOST_HELD and not source.asked:
        await asyncio.wait({held.first()})
        return held.ready(machine)
    answer = source.ask()
    if timeout_s is None and not held:
        await answer
    else:
        left = None if timeout_s is None else source.asked_at + timeout_s - asyncio.get_running_loop().time()
        waiting: set[asyncio.Future[Any]] = {answer, held.first()} if held else {answer}
        await asyncio.wait(waiting, timeout=left, return_when=asyncio.FIRST_COMPLETED)
    ready = held.ready(machine)
    if machine.over:
        return ready
    if answer.done():
        return ready + held.take(machine, _read(machine, source.take()))
    if timeout_s is not None and source.asked_at + timeout_s <= asyncio.get_running_loop().time():
        held.cancel()
        return ready + machine.fail("timeout", f"no frame arrived for {timeout_s} seconds")
    return ready


def _read(machine: StreamMachine, read: Read) -> list[GateEvent]:
    if read.ended:
        return machine.end()
    if read.code is not None:
        return machine.fail(read.code, read.message)
    return machine.take(read.chunk)


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

    A stall cannot be interrupted here: set a read timeout on the provider's client. Raises as
    `gate_stream` does, and `FrameError` for `chunks` that are no iterator of frames.
    """
    validate(gate, checks, prompt_text, meter)
    iterator = _sync_iterator(chunks)
    machine = StreamMachine(gate, prompt_text=prompt_text, request_id=request_id, record=record, meter=meter)

    def leave() -> None:
        _close_sync(iterator, chunks)
        machine.abandon()

    return Events(_events_sync(machine, iterator, chunks, checks), leave)


def _events_sync(
    machine: StreamMachine, iterator: Iterator[Any], chunks: Any, checks: Sequence[SyncCheck]
) -> Generator[GateEvent, None, None]:
    finished = False
    try:
        while not machine.over:
            events = _checked(machine, _read(machine, _read_sync(iterator)), checks)
            machine.shown(events)
            if machine.over:
                _close_sync(iterator, chunks)  # before anything is shown
            yield from events
        finished = True
        yield machine.done()
    finally:
        if not finished:
            _close_sync(iterator, chunks)
            machine.abandon()


def _read_sync(iterator: Iterator[Any]) -> Read:
    try:
        return Read(next(iterator))
    except StopIteration:
        return ENDED
    except Exception as error:
        return Read(code="provider_error", message=f"the provider's stream raised {type(error).__name__}")


def _sync_iterator(chunks: Any) -> Iterator[Any]:
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
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException:  # a check may raise anything
                passed = False
            if not passed:
                return out + machine.fail_check(len(event.text))
        out.append(event)
    return out


def _close_sync(*closables: Any) -> None:
    for closable in closables:
        close = getattr(closable, "close", None)
        if close is not None and not inspect.iscoroutinefunction(close):
            with contextlib.suppress(Exception):
                close()
