"""What the sentence gate costs in NeMo Guardrails, beside an output rail that allows everything.

Both rails get the same sentence items from the same model through the same `LLMRails`, in one
run, in turns. Prints medians of the time of a whole stream, and their ratio:

    python benchmarks/nemo_overhead.py [--sentences 40] [--rounds 30]

Exit code 1 when the ratio is above the limit.
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

from guardrails_plugins.adapters.nemo import folder

LIMIT = 1.5
"""The highest ratio that the adapter allows itself."""

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


async def once(app: LLMRails, messages: list[dict[str, Any]]) -> tuple[float, int]:
    """Seconds and items of one stream."""
    begun = time.perf_counter()
    items = [item async for item in app.stream_async(messages=messages)]
    return time.perf_counter() - begun, len([i for i in items if i])


async def measure(sentences: int, rounds: int) -> tuple[float, float]:
    """Median seconds of a stream: the allowing rail's and the gate's."""
    said = (SENTENCES * (sentences // len(SENTENCES) + 1))[:sentences]
    messages = [
        {"role": "context", "content": {"sources": SOURCES}},
        {"role": "user", "content": "What is known about the hall?"},
    ]
    apps = (allowing(Model(said)), LLMRails(RailsConfig.from_path(str(folder())), llm=Model(said)))
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds + 3):
        for app, taken in zip(apps, times, strict=True):
            app.events_history_cache.clear()
            seconds, items = await once(app, messages)
            if items != sentences:
                raise SystemExit(f"{items} items instead of {sentences}: the streams cannot be compared")
            if number >= 3:
                taken.append(seconds)
    return statistics.median(times[0]), statistics.median(times[1])


def main() -> int:
    """Measure, print, and say whether the limit holds."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sentences", type=int, default=40, help="sentences of one answer")
    parser.add_argument("--rounds", type=int, default=30, help="streams that are timed")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    allowed, gated = asyncio.run(measure(options.sentences, options.rounds))
    per_sentence = (gated - allowed) / options.sentences
    print(f"allow-all rail  {allowed * 1e3:8.2f} ms a stream of {options.sentences} sentences")
    print(f"sentence gate   {gated * 1e3:8.2f} ms   ({per_sentence * 1e6:.0f} µs more a sentence)")
    print(f"ratio           {gated / allowed:8.2f}      (limit {LIMIT})")
    return 0 if gated / allowed <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
