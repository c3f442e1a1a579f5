"""State is per stream: one guard, many readers, interleaved, in threads and in tasks."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from guardrails import AsyncGuard, Guard

from guardrails_plugins.adapters.guardrails_ai import SentenceGateValidator, async_sentence_stream, sentence_stream
from guardrails_plugins.core.sources import SourceIndex
from tests.adapters.guardrails_ai.support import EN, MESSAGES, Provider, cut, read, read_async

pytestmark = pytest.mark.framework
STREAMS = 200


def answer(number: int) -> tuple[str, str]:
    """A text of its own for each stream, and what is to be seen of it; every third is stopped."""
    good = f"Room {number} holds {number} chairs [S1]."
    if number % 3:
        return good + f" Room {number} is open [S1].", good.replace(" [S1]", "") + f" Room {number} is open."
    return good + " It opened in 2019 [S1].", good.replace(" [S1]", "")


SHARED = SourceIndex.of([" ".join(f"Room {n} holds {n} chairs." for n in range(1, STREAMS + 1))])
METADATA = {"sources": SHARED}


@pytest.mark.parametrize("wrapped", [True, False], ids=["sentence_stream", "bare"])
def test_interleaved_streams_of_one_guard_do_not_mix(wrapped: bool) -> None:
    guard = Guard().use(SentenceGateValidator(on_fail="filter"))
    running = {}
    for number in range(1, STREAMS + 1):
        provider = Provider(cut(answer(number)[0], 5))
        llm = sentence_stream(provider) if wrapped else provider
        running[number] = guard(llm, messages=MESSAGES, metadata=METADATA, stream=True)
    seen = dict.fromkeys(running, "")
    while running:
        for number in list(running):
            outcome = next(running[number], None)
            if outcome is None:
                del running[number]
            else:
                seen[number] += outcome.validated_output
    assert seen == {number: answer(number)[1] for number in seen}


@pytest.mark.parametrize("wrapped", [True, False], ids=["sentence_stream", "bare"])
def test_threads_share_one_guard(wrapped: bool) -> None:
    """All of them at once: each waits in the middle of its stream until every other is there too."""
    guard = Guard().use(SentenceGateValidator(on_fail="filter"))
    together = threading.Barrier(STREAMS, timeout=60)

    def one(number: int) -> str:
        pieces = cut(answer(number)[0], 5)

        def llm(*, messages: Any = None, **kwargs: Any) -> Any:
            yield from pieces[:3]
            together.wait()
            yield from pieces[3:]

        return read(guard, sentence_stream(llm) if wrapped else llm, Provider([]), METADATA).text

    with ThreadPoolExecutor(STREAMS) as pool:
        seen = list(pool.map(one, range(1, STREAMS + 1)))
    assert seen == [answer(number)[1] for number in range(1, STREAMS + 1)]


def test_streams_that_break_off_do_not_touch_the_others() -> None:
    guard = Guard().use(SentenceGateValidator(on_fail="filter"))

    def one(number: int) -> str | None:
        provider = Provider(cut(answer(number)[0], 5), fail_at=4 if number % 2 else None)
        reading = read(guard, sentence_stream(provider) if number % 4 else provider, provider, METADATA)
        assert (reading.error is not None) == bool(number % 2)
        return reading.text if reading.error is None else None

    with ThreadPoolExecutor(16) as pool:
        seen = list(pool.map(one, range(1, STREAMS + 1)))
    assert seen == [None if number % 2 else answer(number)[1] for number in range(1, STREAMS + 1)]


async def one_task(guard: Any, number: int) -> str:
    provider = Provider(cut(answer(number)[0], 5))
    return (await read_async(guard, async_sentence_stream(provider.generate), provider, METADATA)).text


def test_event_loops_in_threads_share_one_async_guard() -> None:
    guard = AsyncGuard().use(SentenceGateValidator(on_fail="filter"))

    async def some(numbers: range) -> list[str]:
        return list(await asyncio.gather(*(one_task(guard, number) for number in numbers)))

    loops = [range(begin, begin + 50) for begin in range(1, STREAMS + 1, 50)]
    with ThreadPoolExecutor(len(loops)) as pool:
        seen = [text for part in pool.map(lambda numbers: asyncio.run(some(numbers)), loops) for text in part]
    assert seen == [answer(number)[1] for number in range(1, STREAMS + 1)]


async def test_tasks_share_one_async_guard() -> None:
    guard = AsyncGuard().use(SentenceGateValidator(on_fail="filter"))
    seen = await asyncio.gather(*(one_task(guard, number) for number in range(1, STREAMS + 1)))
    assert list(seen) == [answer(number)[1] for number in range(1, STREAMS + 1)]


@pytest.mark.parametrize("wrapped", [True, False], ids=["sentence_stream", "bare"])
def test_the_next_caller_sees_nothing_of_a_stream_that_broke_off(wrapped: bool) -> None:
    guard = Guard().use(SentenceGateValidator(on_fail="fix"))
    broken = Provider(cut(EN.first + " A secret half of a sent", 6), fail_at=5)
    llm = sentence_stream(broken) if wrapped else broken
    assert read(guard, llm, broken, EN.metadata).error is not None
    provider = Provider(cut(EN.good, 6))
    reading = read(guard, sentence_stream(provider) if wrapped else provider, provider, EN.metadata)
    assert reading.error is None
    assert reading.text == "The hall has 40 seats.\n\nMembers pay 12 euros. The hall stays open to all.\n"


@pytest.mark.parametrize("how", ["breaks", "left"])
async def test_async_the_next_caller_sees_nothing_of_a_stream_that_broke_off(how: str) -> None:
    guard = AsyncGuard().use(SentenceGateValidator(on_fail="fix"))
    broken = Provider(cut(EN.first + " A secret half of a sent", 6), fail_at=5 if how == "breaks" else None)
    llm = async_sentence_stream(broken.generate)
    if how == "breaks":
        assert (await read_async(guard, llm, broken, EN.metadata)).error is not None
    else:
        outcomes = await guard(llm, messages=MESSAGES, metadata=EN.metadata, stream=True)
        assert (await anext(outcomes)).validated_output == "The hall has 40 seats."
    provider = Provider(cut(EN.good, 6))
    reading = await read_async(guard, async_sentence_stream(provider.generate), provider, EN.metadata)
    assert reading.error is None
    assert reading.text == "The hall has 40 seats.\n\nMembers pay 12 euros. The hall stays open to all.\n"


@pytest.mark.parametrize("wrapped", [True, False], ids=["sentence_stream", "bare"])
def test_the_next_caller_sees_nothing_of_a_stream_that_was_left(wrapped: bool) -> None:
    guard = Guard().use(SentenceGateValidator(on_fail="fix"))
    left = Provider(cut(EN.first + " A secret half of a sent", 6))
    outcomes = guard(sentence_stream(left) if wrapped else left, messages=MESSAGES, metadata=EN.metadata, stream=True)
    next(outcomes)
    provider = Provider(cut(EN.good, 6))
    reading = read(guard, sentence_stream(provider) if wrapped else provider, provider, EN.metadata)
    assert reading.text == "The hall has 40 seats.\n\nMembers pay 12 euros. The hall stays open to all.\n"
