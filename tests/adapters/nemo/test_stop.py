"""A block, and every other way in which a stream ends."""

from __future__ import annotations

import asyncio
import gc
import json
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nemoguardrails")

from nemoguardrails import LLMRails
from nemoguardrails.exceptions import LLMClientError
from nemoguardrails.types import LLMResponseChunk

from guardrails_plugins.adapters.nemo import gate_items

from .support import BAD, GOOD, GOOD_ITEMS, SECRET, FakeModel, collect, config, rails, request

pytestmark = pytest.mark.framework


def error_of(item: str) -> dict[str, Any]:
    return json.loads(item)["error"]


async def test_a_block_is_nemos_frame_with_codes_and_notice_and_the_end_comes_at_once() -> None:
    model = FakeModel(BAD, delay=0.002)
    items, stamps = [], []
    async for item in rails(model).stream_async(messages=request()):
        items.append(item)
        stamps.append((time.perf_counter(), model.made, model.closed))
    ended = time.perf_counter()
    assert items[0] == GOOD_ITEMS[0]
    assert len(items) == 2
    error = error_of(items[1])
    assert error["type"] == "guardrails_violation"
    assert error["param"] == "sentence gate"
    assert error["code"] == "content_blocked"
    assert error["message"].startswith("Blocked by sentence gate rails (value_unsupported).")
    assert error["sentence_gate"]["notice"] in error["message"]
    assert error["sentence_gate"]["codes"] == ["value_unsupported"]
    assert SECRET not in items[1]
    at_block, made, closed = stamps[-1]
    assert closed
    assert model.made == made <= 10 < len(model.pieces)
    assert ended - at_block < 0.2


async def test_nothing_more_is_made_after_the_block() -> None:
    model = FakeModel(BAD, size=1)
    await collect(rails(model).stream_async(messages=request()))
    blocked_at = BAD.index("It has 52 desks") + 1
    assert model.made <= blocked_at + 1
    await asyncio.sleep(0.05)
    assert model.made <= blocked_at + 1


@pytest.mark.parametrize("external", [False, True])
async def test_the_provider_is_closed_within_one_scheduling_turn(external: bool) -> None:
    """Counted in what the provider made: it writes a piece a turn, and none after the sentence that is blocked."""

    class Turns(FakeModel):
        asked_on = 0

        async def stream_async(self, prompt: Any = None, **kwargs: Any) -> Any:
            try:
                yield LLMResponseChunk(delta_content="It opened in 1931 [S1]. ")
                yield LLMResponseChunk(delta_content="Late fees ended in 2019 [S2]. N")  # ends the blocked sentence
                while True:
                    self.asked_on += 1
                    await asyncio.sleep(0)
                    yield LLMResponseChunk(delta_content="ext ")
            finally:
                self.closed = True

    model = Turns("")
    app = rails(model)
    generator = gate_items(model.stream_async()) if external else None
    async for item in app.stream_async(messages=request(), generator=generator):
        if item.startswith("{"):
            assert model.closed
            assert model.asked_on <= 1
            begun = time.perf_counter()
    assert time.perf_counter() - begun < 0.2
    assert model.asked_on <= 1


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("It opened in 1931 [S7].", "citation_out_of_range"),
        ("The reading hall opened long ago and is a quiet place to this day.", "citation_missing"),
        ("It opened in 1931 [S 1].", "citation_malformed"),
        ("It opened in 1931 [S2].", "value_miscited"),
        ("We opened in 1931 [S1].", "first_person"),
    ],
)
async def test_every_code_reaches_the_frame(text: str, code: str) -> None:
    items = await collect(rails(FakeModel(text)).stream_async(messages=request()))
    assert code in error_of(items[-1])["sentence_gate"]["codes"]


@pytest.mark.parametrize(
    ("text", "finish", "shown", "word"),
    [
        ("It opened in 1931 [S1]. It has", "length", "It opened in 1931.", None),
        ("NO_ANSWER", "stop", "", None),
        ("It opened in 1931 [S1]. NO_ANSWER and more", "stop", "It opened in 1931.", None),
        ("", "stop", "", None),
    ],
)
async def test_truncation_and_refusal_are_items_not_errors(text: str, finish: str, shown: str, word: None) -> None:
    items = await collect(rails(FakeModel(text, finish=finish)).stream_async(messages=request()))
    assert all(not i.startswith("{") for i in items)
    joined = "".join(items)
    assert joined.startswith(shown)
    assert "NO_ANSWER" not in joined
    assert "It has" not in joined
    if finish == "length":
        assert joined.startswith(shown + "\n\n")
        assert len(joined) > len(shown) + 10
    elif not shown:
        assert len(joined) > 10
    else:
        assert joined == shown


async def test_the_providers_filter_is_a_block() -> None:
    items = await collect(
        rails(FakeModel("It opened in 1931 [S1]. It", finish="content_filter")).stream_async(messages=request())
    )
    assert items[0] == "It opened in 1931."
    assert error_of(items[1])["sentence_gate"]["codes"] == ["provider_filtered"]


async def test_the_providers_refusal() -> None:
    for model in (FakeModel("", metadata={"refusal": "I will not."}), FakeModel("")):
        items = await collect(rails(model).stream_async(messages=request()))
        assert len(items) == 1
        assert "I will not" not in items[0]
        assert not items[0].startswith("{")


async def test_a_provider_error_before_any_text_keeps_its_status() -> None:
    model = FakeModel(GOOD, fail_after=0, error=LLMClientError(429, "busy"))
    items = await collect(rails(model).stream_async(messages=request()))
    assert len(items) == 1
    assert error_of(items[0])["type"] == "downstream_error"
    assert error_of(items[0])["code"] == 429


async def test_a_provider_error_in_mid_stream_does_not_quote_the_answer() -> None:
    error = RuntimeError(f"broke after: Late fees ended {SECRET}")
    app = rails(FakeModel(BAD, size=4, fail_after=12, error=error))
    items = await collect(app.stream_async(messages=request()))
    assert items[0] == GOOD_ITEMS[0]
    assert error_of(items[-1])["type"] in ("generation_error", "downstream_error")
    assert SECRET not in "".join(items)


async def test_a_finish_reason_error_is_a_provider_error() -> None:
    items = await collect(
        rails(FakeModel("It opened in 1931 [S1]. It", finish="error")).stream_async(messages=request())
    )
    assert items[0] == "It opened in 1931."
    assert error_of(items[-1])["type"] in ("generation_error", "downstream_error")


async def test_a_provider_that_stalls_longer_than_timeout_s_is_an_error() -> None:
    model = FakeModel(GOOD, stall_after=6)
    items = await collect(rails(model, timeout_s=0.1).stream_async(messages=request()))
    assert items[0] == GOOD_ITEMS[0]
    assert error_of(items[-1])["type"] == "generation_error"
    assert model.closed


@pytest.mark.parametrize("stalls", [False, True])
async def test_aclose_closes_the_provider(stalls: bool) -> None:
    model = FakeModel(GOOD * 50, delay=0.001, stall_after=6 if stalls else None)
    stream = rails(model).stream_async(messages=request())
    await anext(stream)
    begun = time.perf_counter()
    await stream.aclose()
    assert time.perf_counter() - begun < 0.5
    assert model.closed
    made = model.made
    await asyncio.sleep(0.03)
    assert model.made == made


async def test_cancelling_the_reader_closes_a_stalled_provider() -> None:
    model = FakeModel(GOOD * 50, stall_after=6)

    async def read() -> None:
        async for _ in rails(model).stream_async(messages=request()):
            pass

    task = asyncio.create_task(read())
    while model.made < 6:
        await asyncio.sleep(0.005)
    await asyncio.sleep(0.02)
    begun = time.perf_counter()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.perf_counter() - begun < 0.5
    assert model.closed


async def test_a_stream_that_is_dropped_closes_the_provider() -> None:
    model = FakeModel(GOOD * 50, delay=0.001)
    stream = rails(model).stream_async(messages=request())
    async for _ in stream:
        break
    del stream
    gc.collect()
    for _ in range(100):
        await asyncio.sleep(0.005)
        if model.closed:
            break
    assert model.closed
    assert model.made < len(model.pieces)


async def test_a_stream_never_begun_asks_the_model_nothing() -> None:
    model = FakeModel(GOOD)
    stream = rails(model).stream_async(messages=request())
    await stream.aclose()
    await asyncio.sleep(0.02)
    assert model.calls == 0


async def test_no_task_is_left_behind() -> None:
    before = asyncio.all_tasks()
    for model in (FakeModel(GOOD), FakeModel(BAD), FakeModel(GOOD, fail_after=4)):
        await collect(rails(model).stream_async(messages=request()))
    await asyncio.sleep(0.1)
    assert asyncio.all_tasks() - before == set()


async def test_a_check_that_raises_stops_the_stream(tmp_path: Path) -> None:
    made = config()
    (tmp_path / "config.py").write_text(
        "from guardrails_plugins.adapters.nemo import install\n"
        "def broken(sentence, context):\n    raise ValueError(f'quoting {sentence.text}')\n"
        "def init(app):\n    install(app, checks=[broken])\n"
    )
    made.config_path = str(tmp_path)
    app = LLMRails(made, llm=FakeModel(GOOD))
    items = await collect(app.stream_async(messages=request()))
    assert len(items) == 1
    assert error_of(items[0])["sentence_gate"]["codes"] == ["check_failed"]
    assert "1931" not in items[0]
    message = await app.generate_async(messages=request())
    assert "1931" not in message["content"]
