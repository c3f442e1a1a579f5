"""Other splitters, as functions from the pieces of a stream to the sentences they give out.

Each is measured where its package is installed (`pip install sentence-stream pysbd pipecat-ai
livekit-agents guardrails-ai nemoguardrails`); none is needed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any

Split = Callable[[list[str]], list[str]]


def sentence_stream() -> Split:
    """The generator of sentence-stream."""
    from sentence_stream import stream_to_sentences

    return lambda stream: list(stream_to_sentences(stream))


def pysbd() -> Split:
    """pysbd has no stream: the whole text at once."""
    import pysbd as package

    segmenter = package.Segmenter(language="en", clean=False)
    return lambda stream: list(segmenter.segment("".join(stream)))


def pipecat() -> Split:
    """pipecat's aggregator, which hands sentences to a speech synthesiser."""
    with contextlib.suppress(ImportError):
        from loguru import logger

        logger.disable("pipecat")
    from pipecat.utils.text.simple_text_aggregator import SimpleTextAggregator

    async def read(stream: list[str]) -> list[str]:
        aggregator = SimpleTextAggregator()
        found = [part.text for piece in stream async for part in aggregator.aggregate(piece)]
        rest = await aggregator.flush()
        return found if rest is None else [*found, rest.text]

    return lambda stream: asyncio.run(read(stream))


def livekit() -> Split:
    """LiveKit's basic tokenizer as a stream, with its default lengths."""
    from livekit.agents.tokenize.basic import SentenceTokenizer

    return _livekit(SentenceTokenizer)


def blingfire() -> Split:
    """LiveKit's tokenizer over blingfire, which its speech synthesis uses."""
    from livekit.agents.tokenize.blingfire import SentenceTokenizer

    return _livekit(SentenceTokenizer)


def _livekit(tokenizer: Callable[..., Any]) -> Split:
    logging.getLogger("livekit").setLevel(logging.ERROR)

    async def read(stream: list[str]) -> list[str]:
        tokens = tokenizer(retain_format=True).stream()
        for piece in stream:
            tokens.push_text(piece)
        tokens.end_input()
        return [data.token async for data in tokens]

    return lambda stream: asyncio.run(read(stream))


def guardrails_chunker() -> Split:
    """The chunker with which Guardrails AI feeds a validator, unless the validator brings its own."""
    from guardrails.validator_base import Validator

    class Nothing(Validator):  # type: ignore[misc]
        def __init__(self) -> None:
            pass

    validator = Nothing()

    def run(stream: list[str]) -> list[str]:
        kept, given = "", []
        for piece in stream:
            kept += piece
            found = validator._chunking_function(kept)
            if found:
                given.append(found[0])
                kept = found[1]
        return [*given, kept] if kept else given

    return run


def nemo_buffer() -> Split:
    """The buffer with which NeMo Guardrails feeds its output rails: chunks of tokens, no sentences."""
    from nemoguardrails.rails.llm.buffer import RollingBuffer
    from nemoguardrails.rails.llm.config import OutputRailsStreamingConfig

    async def items(stream: list[str]) -> Any:
        for piece in stream:
            yield piece

    async def read(stream: list[str]) -> list[str]:
        config = OutputRailsStreamingConfig(enabled=True, chunk_size=25, context_size=5)
        buffer = RollingBuffer.from_config(config)
        return ["".join(chunk.user_output_chunks) async for chunk in buffer.process_stream(items(stream))]

    return lambda stream: asyncio.run(read(stream))


PEERS: dict[str, Callable[[], Split]] = {
    "sentence-stream": sentence_stream,
    "pipecat SimpleTextAggregator": pipecat,
    "LiveKit basic SentenceTokenizer": livekit,
    "LiveKit blingfire SentenceTokenizer": blingfire,
    "pysbd (whole text)": pysbd,
    "guardrails-ai stock chunker": guardrails_chunker,
    "nemoguardrails RollingBuffer 25/5": nemo_buffer,
}
PACKAGES = ("sentence-stream", "pipecat-ai", "livekit-agents", "pysbd", "guardrails-ai", "nemoguardrails")
