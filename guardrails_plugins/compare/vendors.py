"""Models of hosted services, built from their documents. They are not the services.

Each takes its assumptions as parameters. The checks are the gate's, as for every strategy here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from guardrails_plugins.compare.seen import Watch
from guardrails_plugins.compare.strategies import MODEL, Checker, Strategy, asynchronous

AZURE_DOCUMENT = "Azure OpenAI, Content streaming (learn.microsoft.com, ai-services/openai/concepts/content-streaming)"
BEDROCK_DOCUMENT = "Amazon Bedrock, Configure streaming response behavior (docs.aws.amazon.com, guardrails-streaming)"


def azure_default(*, buffer_chars: int = 400, check_s: float = 0.1) -> Callable[[Watch], Any]:
    """Text is buffered, vetted and then shown. The document names no size: the buffer is an assumption."""
    return _buffered(buffer_chars, check_s)


def bedrock_synchronous(*, buffer_chars: int = 1000, check_s: float = 0.2) -> Callable[[Watch], Any]:
    """One or more response chunks are buffered and scanned before they are sent. The size is an assumption."""
    return _buffered(buffer_chars, check_s)


def azure_asynchronous(*, signal_chars: int = 1000, check_s: float = 0.1) -> Callable[[Watch], Any]:
    """Text is shown at once; the signal comes within about 1,000 characters, as the document says."""
    return _shown_first(signal_chars, check_s)


def bedrock_asynchronous(*, scan_chars: int = 1000, check_s: float = 0.2) -> Callable[[Watch], Any]:
    """Chunks are sent as they are ready and scanned in the background. The scanned size is an assumption."""
    return _shown_first(scan_chars, check_s)


def _buffered(size: int, check_s: float) -> Callable[[Watch], Any]:
    async def read(watch: Watch) -> None:
        checker, held = Checker(watch), ""
        stream = watch.model.astream()
        try:
            async for piece in stream:
                held += piece
                if len(held) < size:
                    continue
                await asyncio.sleep(check_s)
                if checker.blocks(held):
                    watch.stop()
                    return
                watch.show(held)
                held = ""
            if held:
                await asyncio.sleep(check_s)
                watch.stop() if checker.blocks(held) else watch.show(held)
        finally:
            await stream.aclose()

    return read


def _shown_first(size: int, check_s: float) -> Callable[[Watch], Any]:
    async def read(watch: Watch) -> None:
        checker, text, pending = Checker(watch), "", 0
        stream = watch.model.astream()
        due: float | None = None
        try:
            async for piece in stream:
                if due is not None and watch.model.clock.now >= due:
                    watch.stop()
                    return
                text += piece
                pending += len(piece)
                watch.show(piece)
                if pending >= size and due is None:
                    pending = 0
                    if checker.blocks(text):
                        due = watch.model.clock.now + check_s
        finally:
            await stream.aclose()
        await asyncio.sleep(check_s)
        if due is not None or checker.blocks(text):
            watch.stop()

    return read


def strategies() -> Iterator[Strategy]:
    """The four modes, marked as models."""
    for name, read, document in (
        ("Azure OpenAI default (model)", azure_default(), AZURE_DOCUMENT),
        ("Azure OpenAI asynchronous filter (model)", azure_asynchronous(), AZURE_DOCUMENT),
        ("Amazon Bedrock synchronous (model)", bedrock_synchronous(), BEDROCK_DOCUMENT),
        ("Amazon Bedrock asynchronous (model)", bedrock_asynchronous(), BEDROCK_DOCUMENT),
    ):
        yield Strategy(name, MODEL, "vendors", document, partial(asynchronous, read=read))
