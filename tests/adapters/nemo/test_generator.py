"""An external stream: `generator=`, wrapped and not."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

pytest.importorskip("nemoguardrails")

from guardrails_plugins.adapters.nemo import GateItemsError, ProviderStreamError, gate_items

from .support import BAD, GOOD, GOOD_ITEMS, SECRET, FakeModel, collect, rails, request

pytestmark = pytest.mark.framework


class External:
    """A stream of one's own that counts what it made and whether it was closed."""

    def __init__(
        self, text: str, *, size: int = 7, stall_after: int | None = None, fail_after: int | None = None
    ) -> None:
        self.pieces = [text[i : i + size] for i in range(0, len(text), size)]
        self.made, self.closed = 0, False
        self.stall_after, self.fail_after = stall_after, fail_after

    async def stream(self) -> AsyncIterator[str]:
        try:
            for number, piece in enumerate(self.pieces):
                if number == self.stall_after:
                    await asyncio.Event().wait()
                if number == self.fail_after:
                    raise RuntimeError(f"broke after {SECRET}")
                self.made += 1
                yield piece
                await asyncio.sleep(0)
        finally:
            self.closed = True


async def test_wrapped_it_is_gated_like_a_model() -> None:
    external = External(GOOD)
    app = rails(FakeModel(""))
    stream = app.stream_async(messages=request(), generator=gate_items(external.stream()))
    assert await collect(stream) == GOOD_ITEMS
    assert external.closed


async def test_a_block_closes_it_at_once() -> None:
    external = External(BAD)
    app = rails(FakeModel(""))
    items = await collect(app.stream_async(messages=request(), generator=gate_items(external.stream())))
    assert items[0] == GOOD_ITEMS[0]
    error = json.loads(items[1])["error"]
    assert error["type"] == "guardrails_violation"
    assert error["sentence_gate"]["codes"] == ["value_unsupported"]
    assert SECRET not in "".join(items)
    assert external.closed
    assert external.made < 15


async def test_unwrapped_it_is_blocked_at_its_first_item_and_the_message_names_the_wrapper() -> None:
    external = External(GOOD)
    items = await collect(rails(FakeModel("")).stream_async(messages=request(), generator=external.stream()))
    assert len(items) == 1
    assert "gate_items" in json.loads(items[0])["error"]["message"]
    assert external.closed
    assert external.made <= 2


async def test_without_sources() -> None:
    external = External(GOOD)
    items = await collect(
        rails(FakeModel("")).stream_async(messages=request(None), generator=gate_items(external.stream()))
    )
    assert "No sources came" in items[0]
    assert external.made == 0


async def test_refusal_truncation_and_errors() -> None:
    app = rails(FakeModel(""))
    items = await collect(app.stream_async(messages=request(), generator=gate_items(External("NO_ANSWER").stream())))
    assert len(items) == 1
    assert not items[0].startswith("{")
    with pytest.raises(ProviderStreamError) as caught:
        await collect(app.stream_async(messages=request(), generator=gate_items(External(GOOD, fail_after=6).stream())))
    assert SECRET not in repr(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("stalls", [False, True])
async def test_a_reader_that_goes_away(stalls: bool) -> None:
    external = External(GOOD * 50, stall_after=6 if stalls else None)
    stream = rails(FakeModel("")).stream_async(messages=request(), generator=gate_items(external.stream()))
    await anext(stream)
    await asyncio.wait_for(stream.aclose(), 1)
    assert external.closed
    assert external.made < len(external.pieces)


@pytest.mark.parametrize("wrapped", [False, True])
async def test_cancelling_the_reader_closes_a_stalled_stream(wrapped: bool) -> None:
    external = External(GOOD * 50, stall_after=0 if not wrapped else 6)
    stream: Any = external.stream()
    app = rails(FakeModel(""))

    async def read() -> None:
        generator = gate_items(stream) if wrapped else stream
        await collect(app.stream_async(messages=request(), generator=generator))

    task = asyncio.create_task(read())
    await asyncio.sleep(0.1)
    begun = time.perf_counter()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.perf_counter() - begun < 0.5
    assert external.closed


async def test_provider_chunks_and_their_ends() -> None:
    """Frames of a provider instead of strings: a cut-off answer, its filter, its refusal."""
    app = rails(FakeModel(""))
    for finish, word in (("length", None), ("content_filter", "provider_filtered")):
        model = FakeModel("It opened in 1931 [S1]. It has", finish=finish)
        stream = gate_items(model.stream_async(""))
        items = await collect(app.stream_async(messages=request(), generator=stream))
        assert items[0] == "It opened in 1931."
        assert "It has" not in "".join(items)
        assert (word or "\n\n") in items[1]
        assert model.closed


async def test_misuse_is_an_error_that_says_how() -> None:
    app = rails(FakeModel(""))
    wrapped = gate_items(External(GOOD).stream())
    with pytest.raises(GateItemsError, match="stream_async"):
        await collect(aiter(wrapped))
    await collect(app.stream_async(messages=request(), generator=wrapped))
    with pytest.raises(GateItemsError, match="anew"):
        app.stream_async(messages=request(), generator=wrapped)
    not_a_stream: Any = "text"
    with pytest.raises(GateItemsError, match="async iterator"):
        gate_items(not_a_stream)
