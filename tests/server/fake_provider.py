"""A provider on loopback that speaks the OpenAI and the Anthropic streaming protocols by script.

A script is a list of steps: a text to send, or an object of this module. What the client does with
the connection is recorded, so that a test can see when a stream was closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse


@dataclass(frozen=True)
class Wait:
    """Say nothing for so many seconds (for ever: a stall)."""

    seconds: float = 3600.0


@dataclass(frozen=True)
class Finish:
    """The finish reason, in the OpenAI spelling; usage comes after it, as with `include_usage`."""

    reason: str = "stop"
    usage: bool = True


@dataclass(frozen=True)
class Break:
    """The connection ends in the middle of the stream."""


@dataclass(frozen=True)
class ErrorFrame:
    """An error event inside the open stream."""


@dataclass(frozen=True)
class Raw:
    """Bytes as they are: half a UTF-8 sequence, a frame without choices."""

    data: bytes


Step = str | Wait | Finish | Break | ErrorFrame | Raw


@dataclass
class Stream:
    """One request as the provider saw it."""

    body: dict[str, Any]
    sent: list[str] = field(default_factory=list)
    closed_after: float | None = None
    started: float = field(default_factory=time.monotonic)


class FakeProvider:
    """Serves one script to every request; `streams` records them."""

    def __init__(self, script: list[Step] | None = None) -> None:
        self.script: list[Step] = script or []
        self.streams: list[Stream] = []
        self.app = FastAPI()
        self.app.post("/v1/chat/completions")(self._openai)
        self.app.post("/v1/messages")(self._anthropic)

    async def _openai(self, request: Request) -> StreamingResponse:
        return await self._serve(request, _openai_frames)

    async def _anthropic(self, request: Request) -> StreamingResponse:
        return await self._serve(request, _anthropic_frames)

    async def _serve(self, request: Request, frames: Any) -> StreamingResponse:
        stream = Stream(await request.json())
        self.streams.append(stream)
        return StreamingResponse(self._write(frames(self.script), stream), media_type="text/event-stream")

    async def _write(self, frames: Iterator[tuple[bytes, Step]], stream: Stream) -> AsyncIterator[bytes]:
        try:
            for data, step in frames:
                if isinstance(step, Wait):
                    await asyncio.sleep(step.seconds)
                    continue
                if isinstance(step, Break):
                    raise ConnectionResetError
                yield data
                if isinstance(step, str):
                    stream.sent.append(step)
                await asyncio.sleep(0.002)
        finally:
            stream.closed_after = time.monotonic() - stream.started


def _data(frame: dict[str, Any], *, event: str | None = None) -> bytes:
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(frame, ensure_ascii=False)}\n\n".encode("utf-8", "surrogatepass")


def _chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "fake", "choices": [choice]}


def _openai_frames(script: list[Step]) -> Iterator[tuple[bytes, Step]]:
    yield _data(_chunk({"role": "assistant", "content": ""})), ""
    yield _data({**_chunk({}), "choices": []}), ""
    for step in script:
        if isinstance(step, str):
            yield _data(_chunk({"content": step})), step
        elif isinstance(step, Finish):
            yield _data(_chunk({}, step.reason)), step
            if step.usage:
                usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
                yield _data({**_chunk({}), "choices": [], "usage": usage}), step
            yield b"data: [DONE]\n\n", step
        elif isinstance(step, ErrorFrame):
            yield _data({"error": {"message": "overloaded with 4711", "type": "server_error", "code": "x"}}), step
        else:
            yield step.data if isinstance(step, Raw) else b"", step


ANTHROPIC_REASONS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}


def _anthropic_frames(script: list[Step]) -> Iterator[tuple[bytes, Step]]:
    message = {
        "id": "m1", "type": "message", "role": "assistant", "model": "fake", "content": [], "stop_reason": None,
        "stop_sequence": None, "usage": {"input_tokens": 100, "output_tokens": 1},
    }  # fmt: skip
    yield _data({"type": "message_start", "message": message}, event="message_start"), ""
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    yield _data(block, event="content_block_start"), ""
    yield _data({"type": "ping"}, event="ping"), ""
    for step in script:
        if isinstance(step, str):
            delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": step}}
            yield _data(delta, event="content_block_delta"), step
        elif isinstance(step, Finish):
            yield _data({"type": "content_block_stop", "index": 0}, event="content_block_stop"), step
            reason = {"stop_reason": ANTHROPIC_REASONS[step.reason], "stop_sequence": None}
            end = {"type": "message_delta", "delta": reason, "usage": {"output_tokens": 20}}
            yield _data(end, event="message_delta"), step
            yield _data({"type": "message_stop"}, event="message_stop"), step
        elif isinstance(step, ErrorFrame):
            error = {"type": "error", "error": {"type": "overloaded_error", "message": "overloaded with 4711"}}
            yield _data(error, event="error"), step
        else:
            yield step.data if isinstance(step, Raw) else b"", step


def pieces(text: str, size: int = 5) -> list[Step]:
    """A text as a model writes it."""
    return [text[at : at + size] for at in range(0, len(text), size)]


@contextlib.contextmanager
def running(app: Any) -> Iterator[str]:
    """Serve an application on a free port of loopback; yields its address."""
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started:
        if time.monotonic() > deadline or not thread.is_alive():
            raise RuntimeError("the server did not start")
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)


def until(condition: Any, seconds: float = 10.0) -> bool:
    """Wait until a condition holds; whether it did."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.01)
    return bool(condition())
