"""Sources, checks and consumers at their worst: no hang, no open source, no text in asyncio's own log."""

from __future__ import annotations

import asyncio
import gc
import math
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from guardrails_plugins import gate_stream, gate_stream_sync
from guardrails_plugins.core.errors import ArgumentError, BoundError, GateError, RecorderError, StreamClosedError
from tests.streaming.support import CANARY, GOOD, SHOWN, Source, SyncSource, collect, gate, pieces, text_of


class Abort(BaseException):
    """No `Exception`."""


async def settle() -> None:
    """Let tasks end and be collected, so that asyncio logs what nobody took."""
    for _ in range(5):
        await asyncio.sleep(0.01)
        gc.collect()


@pytest.mark.parametrize(
    "error",
    [
        asyncio.CancelledError(CANARY),
        Abort(CANARY),
        GeneratorExit(CANARY),
        BaseExceptionGroup(CANARY, [Abort(CANARY)]),
        StopIteration(CANARY),
    ],
    ids=lambda e: type(e).__name__,
)
async def test_a_source_that_raises_what_is_no_exception(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    async def source() -> AsyncIterator[str]:
        yield "It opens at nine [S1]. It"
        raise error

    async with asyncio.timeout(5):
        events = await collect(gate_stream(source(), gate()))
    await settle()
    assert text_of(events) == "It opens at nine."
    assert events[-2].code == "provider_error"
    assert events[-1].state == "failed"
    assert CANARY not in repr(events) + caplog.text


async def test_no_check_leaves_its_exception_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def check(event: Any, _: Any) -> bool:
        await asyncio.sleep(0.01)
        raise ValueError(CANARY + event.text)

    async def source() -> AsyncIterator[str]:
        yield GOOD + " More"
        await asyncio.sleep(3600)

    events = await collect(gate_stream(source(), gate(), checks=[check]))
    await settle()
    assert [e.type for e in events] == ["guard", "done"]
    assert CANARY not in caplog.text
    assert "never retrieved" not in caplog.text


@pytest.mark.parametrize("how", ["check", "timeout"])
async def test_what_a_source_raises_while_it_is_closed_is_not_logged(
    how: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def check(event: Any, _: Any) -> bool:
        await asyncio.sleep(0.02)
        return how != "check"

    async def source() -> AsyncIterator[str]:
        yield GOOD + " More"
        try:
            await asyncio.sleep(3600 if how == "timeout" else 0.02)
        finally:
            raise RuntimeError(CANARY)

    events = await collect(gate_stream(source(), gate(), checks=[check], timeout_s=0.1))
    del events
    await settle()
    assert CANARY not in caplog.text
    assert "never retrieved" not in caplog.text


@pytest.mark.parametrize("answer", [True, False, None])
async def test_a_stall_drops_the_sentences_whose_checks_have_not_answered(answer: bool | None) -> None:
    async def check(event: Any, _: Any) -> bool:
        await asyncio.sleep(3600 if answer is None else 0.3)
        return bool(answer)

    source = Source([GOOD + " More", ""], fault="stall", at=1)
    async with asyncio.timeout(5):
        events = await collect(gate_stream(source.stream(), gate(), checks=[check], timeout_s=0.03))
    assert [e.type for e in events] == ["error", "done"]
    assert events[0].code == "timeout"
    assert source.closed


async def test_a_stall_is_told_after_the_sentences_whose_checks_answered() -> None:
    async def check(event: Any, _: Any) -> bool:
        await asyncio.sleep(0.02 if "nine" in event.text else 0.04)
        return True

    source = Source([GOOD + " More", ""], fault="stall", at=1)
    events = await collect(gate_stream(source.stream(), gate(), checks=[check], timeout_s=0.5))
    assert [e.type for e in events] == ["sentence", "sentence", "sentence", "error", "done"]
    assert events[3].code == "timeout"


async def test_a_check_may_answer_without_being_awaited() -> None:
    events = await collect(gate_stream(pieces(GOOD), gate(), checks=[lambda event, _: "412" not in event.text]))
    assert text_of(events) == "It opens at nine."
    assert events[-2].codes == ("check_failed",)


class Closable:
    """An iterator of either kind that remembers being closed."""

    def __init__(self) -> None:
        self.closed = False

    def __aiter__(self) -> Any:
        return self

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> str:
        return GOOD

    async def __anext__(self) -> str:
        return GOOD

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("way", ["close", "throw"])
async def test_a_stream_that_is_left_unread_closes_its_source(way: str) -> None:
    first, second = Closable(), Closable()
    stream, plain = gate_stream(first, gate()), gate_stream_sync(second, gate())
    if way == "close":
        await stream.aclose()
        plain.close()
    else:
        with pytest.raises(Abort):
            await stream.athrow(Abort())
        with pytest.raises(Abort):
            plain.throw(Abort())
    assert first.closed
    assert second.closed
    with pytest.raises(StopAsyncIteration):
        await anext(stream)
    assert list(plain) == []


async def test_an_iterable_whose_iterator_is_a_generator_is_closed() -> None:
    ends: list[str] = []

    class Iterable:
        async def __aiter__(self) -> AsyncIterator[str]:
            try:
                while True:
                    yield "It had 999 seats [S1]. "
            finally:
                ends.append("async")

        def __iter__(self) -> Iterator[str]:
            try:
                while True:
                    yield "It had 999 seats [S1]. "
            finally:
                ends.append("sync")

    async for event in gate_stream(Iterable(), gate()):
        if event.type == "guard":
            await asyncio.sleep(0)
    assert ends == ["async"]
    for event in gate_stream_sync(Iterable(), gate()):
        if event.type == "guard":
            assert ends == ["async", "sync"]
    assert ends == ["async", "sync"]


def test_a_synchronous_source_is_closed_before_the_reader_is_told() -> None:
    source = SyncSource(["It had 999 seats [S1]. More"] * 9)
    events = []
    for event in gate_stream_sync(source.stream(), gate()):
        assert event.type == "done" or source.closed
        events.append(event.type)
    assert events == ["guard", "done"]


def drive(**more: Any) -> Any:
    return gate_stream(pieces(GOOD), **{"gate": gate(), **more})


def drive_sync(**more: Any) -> Any:
    return gate_stream_sync(pieces(GOOD), **{"gate": gate(), **more})


@pytest.mark.parametrize("call", [drive, drive_sync])
@pytest.mark.parametrize(
    ("wrong", "error", "match"),
    [
        ({"gate": None}, ArgumentError, "gate must be a SentenceGate, not NoneType"),
        ({"checks": 5}, ArgumentError, "checks must be"),
        ({"checks": [5]}, ArgumentError, "checks must be"),
        ({"checks": "no"}, ArgumentError, "checks must be"),
        ({"prompt_text": 5}, ArgumentError, "prompt_text must be text"),
        ({"meter": 5}, ArgumentError, "meter must be a UsageMeter"),
        ({"record": 5}, ArgumentError, "record must be a path or a callable"),
    ],
)
def test_a_wrong_argument_is_named_at_the_call(call: Any, wrong: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match) as raised:
        call(**wrong)
    assert isinstance(raised.value, GateError)


@pytest.mark.parametrize("name", ["timeout_s", "check_timeout_s"])
@pytest.mark.parametrize(
    ("value", "error"), [("5", ArgumentError), (True, ArgumentError), (0, BoundError), (-1, BoundError),
                         (math.nan, BoundError), (math.inf, BoundError)],
)  # fmt: skip
def test_a_wrong_time_is_named_at_the_call(name: str, value: Any, error: Any) -> None:
    with pytest.raises(error, match=name):
        drive(**{name: value})


@pytest.mark.parametrize("call", [drive, drive_sync])
def test_a_gate_that_has_ended_is_refused_at_the_call(call: Any) -> None:
    ended = gate()
    ended.finish()
    with pytest.raises(StreamClosedError, match="has ended"):
        call(gate=ended)


@pytest.mark.parametrize("call", [drive, drive_sync])
def test_a_file_that_cannot_be_written_is_named_before_the_stream_begins(call: Any, tmp_path: Path) -> None:
    with pytest.raises(RecorderError, match="cannot append"):
        call(record=tmp_path)
    with pytest.raises(RecorderError, match="missing"):
        call(record=tmp_path / "missing" / "file.jsonl")


async def test_a_recorder_that_raises_loses_nothing_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def recorder(recording: Any) -> None:
        raise ZeroDivisionError(recording["answer"])

    events = await collect(gate_stream(pieces(GOOD), gate(), record=recorder, request_id="r9"))
    assert text_of(events) == SHOWN
    assert events[-1].state == "completed"
    assert "r9: the recorder raised ZeroDivisionError" in caplog.text
    assert "412" not in caplog.text


async def test_a_check_that_will_not_be_cancelled_is_late_all_the_same() -> None:
    async def check(event: Any, _: Any) -> bool:
        try:
            await asyncio.sleep(0.2)
        except asyncio.CancelledError:
            await asyncio.sleep(0.01)
        return True

    events = await collect(gate_stream(pieces(GOOD), gate(), checks=[check], check_timeout_s=0.02))
    assert [e.type for e in events] == ["guard", "done"]
    assert events[0].codes == ("check_failed",)
    assert events[0].withheld_chars >= len("It opens at nine.")


async def test_a_source_that_swallows_its_cancellation_is_closed() -> None:
    ends: list[str] = []

    async def source() -> AsyncIterator[str]:
        try:
            yield GOOD + " More"
            for _ in range(3):
                try:
                    await asyncio.sleep(3600)
                except asyncio.CancelledError:
                    yield " and more"
        finally:
            ends.append("closed")

    stream = gate_stream(source(), gate())
    await anext(stream)
    async with asyncio.timeout(5):
        await stream.aclose()
    await settle()
    assert ends == ["closed"]


async def test_a_slow_check_bounds_what_is_read_ahead() -> None:
    opened = asyncio.Event()

    async def check(event: Any, _: Any) -> bool:
        await opened.wait()
        return True

    source = Source(["It opens at nine [S1]. "] * 500)
    stream = gate_stream(source.stream(), gate(), checks=[check])
    first = asyncio.ensure_future(anext(stream))
    for _ in range(200):
        await asyncio.sleep(0)
    assert source.made < 50
    opened.set()
    await first
    events = await collect(stream)
    assert events[-1].state == "completed"
    assert source.made == 500
