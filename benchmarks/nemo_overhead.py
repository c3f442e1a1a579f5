"""What the sentence gate costs in NeMo Guardrails, beside an output rail that allows everything.

Both rails get the same sentence items from the same model through the same `LLMRails`, in one
run, in turns; the model takes no time of its own. Prints medians of the time of a whole stream
and their ratio for each length; the same for streams given as `generator=`, where NeMo does
nothing but hand items over; then what happens after a block:

    python benchmarks/nemo_overhead.py [--sentences 8 20 40 80] [--rounds 30]

Exit code 1 when the ratio of an answer of at most `LONGEST` sentences is above `LIMIT`. For longer
answers, and without a generation, it grows towards the ratio of judging a sentence to NeMo's bare
hand-over; there the microseconds a sentence say more, beside the pace of a model.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

os.environ.setdefault("NEMO_GUARDRAILS_NO_USAGE_STATS", "1")

from nemoguardrails import LLMRails, RailsConfig
from nemoguardrails.actions.rail_outcome import RailOutcome
from nemoguardrails.types import LLMResponse, LLMResponseChunk

from guardrails_plugins.adapters.nemo import folder, gate_items

LIMIT = 1.5
"""The highest ratio that the adapter allows itself."""

LONGEST = 40
"""Sentences of the longest answer that the limit is held to: two pages, over a handful of sources."""

SOURCES = [
    "The reading hall opened in 1931 and was closed from 1940 to 1946. It has 52 desks and 4 lifts.",
    "Late fees ended in 2020. Opening hours are 09:00 to 21:00 from Monday to Friday.",
    "The catalogue lists 1,204,500 volumes; 12.5% of them are maps. Write to desk@example.org.",
]

SENTENCES = [
    " The reading hall opened in 1931 and has 52 desks for readers [S1].",
    " Late fees ended in 2020, and nobody has paid any since then [S2].",
    " The catalogue lists 1,204,500 volumes, of which 12.5% are maps [S3].",
    " It is a quiet place.",
]

ALLOW_ALL = """
define subflow allow all
  $outcome = execute allow_all
"""

YAML = """
models: []
rails:
  output:
    flows: [allow all]
    streaming: {enabled: True, stream_first: False, chunk_size: 1, context_size: 0}
"""


class Model:
    """An `LLMModel` that hands out sentences without waiting."""

    model_name = "sentences"
    provider_name = "benchmark"
    provider_url = None

    def __init__(self, sentences: list[str]) -> None:
        self._sentences = sentences

    async def generate_async(self, prompt: Any, *, stop: Any = None, **kwargs: Any) -> LLMResponse:
        return LLMResponse(content="".join(self._sentences), finish_reason="stop")

    async def stream_async(self, prompt: Any, *, stop: Any = None, **kwargs: Any) -> AsyncIterator[LLMResponseChunk]:
        for sentence in self._sentences:
            yield LLMResponseChunk(delta_content=sentence)
            await asyncio.sleep(0)
        yield LLMResponseChunk(finish_reason="stop")


async def allow_all(**_: Any) -> RailOutcome:
    """The cheapest rail there is."""
    return RailOutcome.allow()


def allowing(model: Model) -> LLMRails:
    """`LLMRails` with the rail that allows everything."""
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "config.yml").write_text(YAML)
        (Path(directory) / "rails.co").write_text(ALLOW_ALL)
        app = LLMRails(RailsConfig.from_path(directory), llm=model)
    app.register_action(allow_all, "allow_all")
    return app


async def once(app: LLMRails, messages: list[dict[str, Any]], generator: Any = None) -> tuple[float, int]:
    """Seconds and items of one stream."""
    begun = time.perf_counter()
    items = [item async for item in app.stream_async(messages=messages, generator=generator)]
    return time.perf_counter() - begun, len([i for i in items if i])


async def texts(sentences: list[str]) -> AsyncIterator[str]:
    """The sentences as a stream of one's own."""
    for sentence in sentences:
        yield sentence
        await asyncio.sleep(0)


async def measure(sentences: int, rounds: int, *, external: bool = False) -> tuple[float, float]:
    """Median seconds of a stream: the allowing rail's and the gate's."""
    said = (SENTENCES * (sentences // len(SENTENCES) + 1))[:sentences]
    messages = [
        {"role": "context", "content": {"sources": SOURCES}},
        {"role": "user", "content": "What is known about the hall?"},
    ]
    apps = (allowing(Model(said)), LLMRails(RailsConfig.from_path(str(folder())), llm=Model(said)))
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds + 3):
        for app, wrap, taken in zip(apps, (iter_as_it_is, gate_items), times, strict=True):
            app.events_history_cache.clear()
            seconds, items = await once(app, messages, wrap(texts(said)) if external else None)
            if items != sentences:
                raise SystemExit(f"{items} items instead of {sentences}: the streams cannot be compared")
            if number >= 3:
                taken.append(seconds)
    return statistics.median(times[0]), statistics.median(times[1])


def iter_as_it_is(stream: AsyncIterator[str]) -> AsyncIterator[str]:
    """The allowing rail's counterpart of `gate_items`."""
    return stream


async def after_block(app: LLMRails, model: Slow, messages: list[dict[str, Any]]) -> tuple[int, float]:
    """Pieces that the model made after a block, and seconds from the block to the end of the stream."""
    made, at = 0, 0.0
    async for item in app.stream_async(messages=messages):
        if item.startswith('{"error"'):
            made, at = model.made, time.perf_counter()
    ended = time.perf_counter()
    await asyncio.sleep(0.05)
    return model.made - made, ended - at


class Slow(Model):
    """The same at two milliseconds a sentence, counting what it makes."""

    made = 0

    async def stream_async(self, prompt: Any, *, stop: Any = None, **kwargs: Any) -> AsyncIterator[LLMResponseChunk]:
        for sentence in self._sentences:
            self.made += 1
            yield LLMResponseChunk(delta_content=sentence)
            await asyncio.sleep(0.002)
        yield LLMResponseChunk(finish_reason="stop")


async def stops() -> None:
    """Print what follows a block in the tenth of 200 sentences, with NeMo's own rail and with the gate."""
    said = (SENTENCES * 50)[:200]
    said[9] = " Its closing year was 1999 according to nobody at all [S1]."
    messages = [{"role": "context", "content": {"sources": SOURCES}}, {"role": "user", "content": "What is known?"}]

    async def block_1999(context: Any = None, **_: Any) -> RailOutcome:
        return RailOutcome.block() if "1999" in context["bot_message"] else RailOutcome.allow()

    for name in ("NeMo's own rail", "sentence gate"):
        model = Slow(said)
        app = allowing(model) if name != "sentence gate" else LLMRails(RailsConfig.from_path(str(folder())), llm=model)
        app.register_action(block_1999, "allow_all")
        pieces, seconds = await after_block(app, model, messages)
        print(f"{name:<16}{pieces:5d} sentences made after the block, the end {seconds * 1e3:7.1f} ms after it")


def table(lengths: list[int], rounds: int, *, external: bool = False) -> bool:
    """Print one row a length; says whether the limit held for those that it applies to."""
    print(f"{'generator=' if external else 'sentences':>10}  allow-all rail  sentence gate  more a sentence  ratio")
    holds = True
    for sentences in lengths:
        allowed, gated = asyncio.run(measure(sentences, rounds, external=external))
        more = (gated - allowed) / sentences * 1e6
        row = f"{sentences:10d}  {allowed * 1e3:11.2f} ms  {gated * 1e3:10.2f} ms"
        print(f"{row}  {more:12.0f} µs  {gated / allowed:5.2f}")
        holds = holds and (external or sentences > LONGEST or gated / allowed <= LIMIT)
    return holds


def main() -> int:
    """Measure, print, and say whether the limit holds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sentences", type=int, nargs="+", default=[8, 20, 40, 80], help="sentences of one answer")
    parser.add_argument("--rounds", type=int, default=30, help="streams that are timed")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    holds = table(options.sentences, options.rounds)
    print(f"limit of the ratio up to {LONGEST} sentences: {LIMIT} ({'holds' if holds else 'does not hold'})")
    table(options.sentences, options.rounds, external=True)
    asyncio.run(stops())
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
