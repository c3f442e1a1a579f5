"""The drivers: events, closing, faults at every step, checks that fail."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from guardrails_plugins import gate_stream, gate_stream_sync
from guardrails_plugins.core.errors import FrameError, GateError
from tests.streaming.support import BAD, CANARY, GOOD, SHOWN, Source, SyncSource, collect, gate, pieces, text_of

STEPS = range(len(pieces(GOOD)))


async def test_a_clean_stream_is_shown_exactly_and_done_comes_last() -> None:
    source = Source(pieces(GOOD))
    events = await collect(gate_stream(source.stream(), gate()))
    assert text_of(events) == SHOWN
    assert [e.type for e in events] == ["sentence", "sentence", "sentence", "done"]
    assert events[-1].state == "completed"
    assert events[-1].released_chars == len(SHOWN)
    assert events[-1].usage.output_estimated == len(GOOD.encode())
    assert source.closed


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
async def test_both_drivers_say_the_same(size: int) -> None:
    for text in (GOOD, BAD):
        asynchronous = await collect(gate_stream(Source(pieces(text, size)).stream(), gate()))
        synchronous = list(gate_stream_sync(pieces(text, size), gate()))
        # What arrived beyond the stop, and so the estimate, may differ; all that is shown may not.
        assert asynchronous[:-1] == synchronous[:-1]
        assert asynchronous[-1].state == synchronous[-1].state


async def test_a_stop_closes_the_source_before_the_reader_is_told() -> None:
    source = Source(pieces(BAD))
    stream = gate_stream(source.stream(), gate())
    async for event in stream:
        if event.type == "guard":
            await asyncio.sleep(0)
            assert source.closed
            assert event.codes == ("value_unsupported",)
            assert event.withheld_chars == len("Late fees ended in QZX8841 [S1].")
    assert source.made <= len(pieces(BAD)) - 1


async def test_nothing_blocked_is_in_an_event_or_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        events = await collect(gate_stream(Source(pieces(BAD)).stream(), gate(), request_id="r7"))
    assert CANARY not in repr(events)
    assert CANARY not in caplog.text
    stops = [r for r in caplog.records if r.name == "guardrails_plugins"]
    assert len(stops) == 1
    assert "r7" in stops[0].getMessage()
    assert "value_unsupported" in stops[0].getMessage()


@pytest.mark.parametrize("at", STEPS)
async def test_a_source_that_raises_at_any_step(at: int, caplog: pytest.LogCaptureFixture) -> None:
    source = Source(pieces(GOOD), fault="raise", at=at)
    events = await collect(gate_stream(source.stream(), gate()))
    assert SHOWN.startswith(text_of(events))
    assert [e.type for e in events][-2:] == ["error", "done"]
    assert events[-2].code == "provider_error"
    assert "RuntimeError" in events[-2].message
    assert CANARY not in repr(events) + caplog.text
    assert events[-1].state == "failed"
    assert source.closed


@pytest.mark.parametrize("at", STEPS)
def test_a_synchronous_source_that_raises_at_any_step(at: int) -> None:
    source = SyncSource(pieces(GOOD), fault="raise", at=at)
    events = list(gate_stream_sync(source.stream(), gate()))
    assert SHOWN.startswith(text_of(events))
    assert [e.type for e in events][-2:] == ["error", "done"]
    assert CANARY not in repr(events)
    assert source.closed


@pytest.mark.parametrize("at", STEPS)
async def test_a_source_that_stalls_at_any_step(at: int) -> None:
    source = Source(pieces(GOOD), fault="stall", at=at)
    events = await collect(gate_stream(source.stream(), gate(), timeout_s=0.02))
    assert SHOWN.startswith(text_of(events))
    assert events[-2].code == "timeout"
    assert events[-1].state == "failed"
    assert source.closed


@pytest.mark.parametrize("at", STEPS)
async def test_a_source_that_ends_at_any_step(at: int) -> None:
    source = Source(pieces(GOOD), fault="end", at=at)
    events = await collect(gate_stream(source.stream(), gate()))
    received = "".join(pieces(GOOD)[:at])
    assert len(text_of(events)) <= len(received)
    assert events[-1].state in ("completed", "withheld")
    assert source.closed


@pytest.mark.parametrize("at", STEPS)
async def test_a_consumer_cancelled_while_the_source_stalls(at: int) -> None:
    source = Source(pieces(GOOD), fault="stall", at=at)
    task = asyncio.create_task(collect(gate_stream(source.stream(), gate())))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert source.closed


@pytest.mark.parametrize("taken", [0, 1, 2, 3])
async def test_a_consumer_that_leaves_after_some_events(taken: int) -> None:
    source = Source(pieces(GOOD))
    stream = gate_stream(source.stream(), gate())
    for _ in range(taken):
        await anext(stream)
    await stream.aclose()
    assert source.closed or (taken == 0 and source.made == 0)


@pytest.mark.parametrize("taken", [1, 2, 3])
def test_a_synchronous_consumer_that_leaves(taken: int) -> None:
    source = SyncSource(pieces(GOOD))
    stream = gate_stream_sync(source.stream(), gate())
    for _ in range(taken):
        next(stream)
    stream.close()
    assert source.closed


async def test_a_source_that_will_not_close_does_not_hold_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("guardrails_plugins.streaming.source.CLOSE_TIMEOUT_S", 0.05)

    async def stubborn() -> Any:
        try:
            for piece in pieces(BAD):
                yield piece
                await asyncio.sleep(0)
        finally:
            await asyncio.sleep(0.5)

    async with asyncio.timeout(0.4):
        events = await collect(gate_stream(stubborn(), gate()))
    assert events[-1].state == "withheld"


@pytest.mark.parametrize("failing", [0, 1, 2])
@pytest.mark.parametrize("how", ["raise", "hang", "refuse"])
async def test_an_asynchronous_check_that_fails_at_any_sentence(failing: int, how: str) -> None:
    seen: list[str] = []

    async def check(event: Any, _: Any) -> bool:
        seen.append(event.text)
        if len(seen) - 1 == failing:
            if how == "raise":
                raise ValueError(event.text)
            if how == "hang":
                await asyncio.sleep(3600)
            return False
        await asyncio.sleep(0.002)
        return True

    source = Source(pieces(GOOD))
    events = await collect(gate_stream(source.stream(), gate(), checks=[check], check_timeout_s=0.05))
    shown = [e.text for e in events if e.type == "sentence"]
    assert shown == ["It opens at nine.", " It has 412 seats.", " Come early."][:failing]
    assert events[-2].type == "guard"
    assert events[-2].codes == ("check_failed",)
    assert events[-1].state == "failed"
    assert source.closed


async def test_checks_run_while_the_model_writes_and_release_stays_in_order() -> None:
    running = most = 0

    async def check(event: Any, _: Any) -> bool:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.03 if "nine" in event.text else 0.001)
        running -= 1
        return True

    events = await collect(gate_stream(Source(pieces(GOOD)).stream(), gate(), checks=[check]))
    assert text_of(events) == SHOWN
    assert most > 1


def test_a_synchronous_check_that_raises_stops_the_stream() -> None:
    def check(event: Any, _: Any) -> bool:
        if "412" in event.text:
            raise ValueError(event.text)
        return True

    events = list(gate_stream_sync(pieces(GOOD), gate(), checks=[check]))
    assert text_of(events) == "It opens at nine."
    assert events[-2].codes == ("check_failed",)
    assert events[-1].state == "failed"


async def test_the_recorder_keeps_the_whole_answer_and_nothing_else_does(tmp_path: Path) -> None:
    path = tmp_path / "recordings.jsonl"
    await collect(gate_stream(Source(pieces(BAD)).stream(), gate(), request_id="r1", record=path))
    kept: list[Any] = []
    list(gate_stream_sync(pieces(GOOD), gate(), record=kept.append))
    line = json.loads(path.read_text(encoding="utf-8"))
    assert line["id"] == "r1"
    assert CANARY in line["answer"]
    assert line["state"] == "withheld"
    assert kept[0]["answer"] == GOOD


async def test_an_abandoned_stream_is_recorded_too() -> None:
    kept: list[Any] = []
    stream = gate_stream(Source(pieces(GOOD)).stream(), gate(), record=kept.append)
    await anext(stream)
    await stream.aclose()
    assert kept[0]["state"] == "abandoned"
    assert GOOD.startswith(kept[0]["answer"])


async def test_a_plain_iterator_is_refused_with_what_would_be_right() -> None:
    events = await collect(gate_stream(iter(["a"]), gate()))
    assert events[0].code == "bad_frame"
    assert "gate_stream_sync" in events[0].message
    with pytest.raises(FrameError, match="gate_stream"):
        list(gate_stream_sync(Source([]).stream(), gate()))
    with pytest.raises(GateError, match="check_text"):
        list(gate_stream_sync("a text", gate()))


async def test_an_awaitable_of_a_stream_is_awaited() -> None:
    source = Source(pieces(GOOD))

    async def create() -> Any:
        return source.stream()

    events = await collect(gate_stream(create(), gate()))
    assert text_of(events) == SHOWN
    assert source.closed


async def test_two_hundred_streams_never_mix() -> None:
    async def one(number: int) -> bool:
        from guardrails_plugins import SentenceGate

        source = Source(pieces(f"The code is {number} [S1]. It was {number + 1} [S1]."))
        events = await collect(gate_stream(source.stream(), SentenceGate([f"The code is {number}."])))
        return text_of(events) == f"The code is {number}." and events[-1].state == "withheld" and source.closed

    assert all(await asyncio.gather(*(one(1000 + 7 * i) for i in range(200))))


async def test_bytes_split_inside_a_character_decode_right() -> None:
    text = "Der Saal hält 412 Plätze – ja [S1]."
    raw = text.encode()
    events = await collect(gate_stream([raw[i : i + 1] for i in range(len(raw))], gate(language="de")))
    assert text_of(events) == text.replace(" [S1]", "")


async def test_no_task_is_left_behind() -> None:
    before = len(asyncio.all_tasks())
    for fault in (None, "raise", "stall"):
        stream = gate_stream(Source(pieces(GOOD), fault=fault, at=4).stream(), gate(), timeout_s=0.02)
        with contextlib.suppress(GateError):
            await collect(stream)
    await asyncio.sleep(0.01)
    assert len(asyncio.all_tasks()) == before
