"""A small provider that speaks the OpenAI chat protocol over HTTP, streaming and not."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

MODEL = "fake-1"


class Provider:
    """Serves `answers` by the last word of the prompt; a thread of its own, on a free loopback port.

    For each request it notes how many pieces it wrote and whether the client went away. An answer
    is a text, or a dictionary with `text` and any of `finish`, `status`, `stall_after`, `delay`,
    `break_after`.
    """

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers
        self.requests: list[dict[str, Any]] = []
        self.port = 0
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Provider:
        self._thread.start()
        self._ready.wait(5)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end)
        self._thread.join(5)

    def _end(self) -> None:
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.call_soon(self._loop.stop)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = next(int(h.split(":")[1]) for h in head.split("\r\n") if h.lower().startswith("content-length"))
            body = json.loads(await reader.readexactly(length))
            note: dict[str, Any] = {"pieces": 0, "gone": False, "stream": bool(body.get("stream")), "body": body}
            self.requests.append(note)
            await self._answer(body, note, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _chosen(self, body: dict[str, Any]) -> dict[str, Any]:
        text = "\n".join(str(m.get("content")) for m in body["messages"])
        for word, answer in self.answers.items():
            if word in text:
                return {"text": answer} if isinstance(answer, str) else answer
        return {"text": ""}

    async def _answer(self, body: Any, note: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answer = self._chosen(body)
        if answer.get("status"):
            data = json.dumps({"error": {"message": "no", "type": "rate_limit_error", "code": None, "param": None}})
            writer.write(f"HTTP/1.1 {answer['status']} No\r\nContent-Type: application/json\r\n".encode())
            writer.write(f"Content-Length: {len(data)}\r\nConnection: close\r\n\r\n{data}".encode())
            await writer.drain()
            return
        usage = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
        if not body.get("stream"):
            choice = {
                "index": 0,
                "message": {"role": "assistant", "content": answer["text"]},
                "finish_reason": answer.get("finish", "stop"),
            }
            data = json.dumps(
                {"id": "c", "object": "chat.completion", "model": MODEL, "choices": [choice], "usage": usage}
            )
            raw = data.encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n")
            writer.write(f"Content-Length: {len(raw)}\r\n\r\n".encode() + raw)
            await writer.drain()
            return
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        gone = asyncio.ensure_future(reader.read())
        gone.add_done_callback(lambda task: task.cancelled() or task.exception())  # a reset is a client gone, too
        text = answer["text"]
        for number, start in enumerate(range(0, len(text), 8)):
            if number == answer.get("stall_after"):
                await asyncio.wait([gone], timeout=20)
            if number == answer.get("break_after"):
                gone.cancel()
                return
            if gone.done():
                note["gone"] = True
                return
            await self._event(
                writer, {"delta": {"content": text[start : start + 8]}, "index": 0, "finish_reason": None}
            )
            note["pieces"] += 1
            await asyncio.sleep(answer.get("delay", 0.002))
        gone.cancel()
        await self._event(writer, {"delta": {}, "index": 0, "finish_reason": answer.get("finish", "stop")}, usage=usage)
        writer.write(b"data: [DONE]\n\n")
        await writer.drain()

    async def _event(self, writer: asyncio.StreamWriter, choice: Any, **more: Any) -> None:
        data = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": MODEL, "choices": [choice], **more}
        writer.write(f"data: {json.dumps(data)}\n\n".encode())
        await writer.drain()
