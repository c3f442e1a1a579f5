"""State is per stream: one guard, many readers, interleaved, in threads and in tasks."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

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


def test_interleaved_streams_of_one_guard_do_not_mix() -> None:
    guard = Guard().use(SentenceGateValidator(on_fail="filter"))
    running = {}
    for number in range(1, STREAMS + 1):
        llm = sentence_stream(Provider(cut(answer(number)[0], 5)))
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


def test_threads_share_one_guard() -> None:
    guard = Guard().use(SentenceGateValidator(on_fail="filter"))

    def one(number: int) -> str:
        provider = Provider(cut(answer(number)[0], 5))
        return read(guard, sentence_stream(provider), provider, METADATA).text

    with ThreadPoolExecutor(16) as pool:
        seen = list(pool.map(one, range(1, STREAMS + 1)))
    assert seen == [answer(number)[1] for number in range(1, STREAMS + 1)]


async def test_tasks_share_one_async_guard() -> None:
    guard = AsyncGuard().use(SentenceGateValidator(on_fail="filter"))

    async def one(number: int) -> str:
        provider = Provider(cut(answer(number)[0], 5))
        return (await read_async(guard, async_sentence_stream(provider.generate), provider, METADATA)).text

    seen = await asyncio.gather(*(one(number) for number in range(1, STREAMS + 1)))
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
