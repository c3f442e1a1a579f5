"""The HTTP side: `POST /v1/answers` as Server-Sent Events, the page, health and metrics."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib import resources
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import JSONResponse
from fastapi.staticfiles import StaticFiles

from guardrails_plugins.server.answers import Answer, Event, Service
from guardrails_plugins.server.ask import SCHEMA, RequestError, parse
from guardrails_plugins.server.sse import HEADERS, PING, encode

logger = logging.getLogger("guardrails_plugins")

DESCRIPTION = """Events of the stream: `sources` (id, sources), `sentence` (text, cited), `guard` (codes, notice,
withheld_chars, state), `error` (code, message), `done` (state, notice, released, usage, tool_calls). A comment keeps
the connection open every 15 seconds. The states `completed`, `withheld`, `refused`, `truncated` and `failed` are told
apart in `done`, also when no text came."""

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


def create_app(service: Service) -> FastAPI:
    """The application over one service."""

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.library.close()
        service.budget.close()

    app = FastAPI(title="Sentence gate", version="1", lifespan=lifespan)
    settings = service.settings
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware, allow_origins=list(settings.cors_origins), allow_methods=["POST"], allow_headers=["*"]
        )

    @app.exception_handler(RequestError)
    async def refuse(_: Request, error: RequestError) -> JSONResponse:
        return JSONResponse({"error": {"code": error.code, "message": str(error)}}, error.status)

    @app.post(
        "/v1/answers",
        description=DESCRIPTION,
        response_class=Response,
        responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}, 400: {}, 401: {}, 413: {}},
        openapi_extra={"requestBody": {"required": True, "content": {"application/json": {"schema": SCHEMA}}}},
    )
    async def answers(request: Request) -> Response:
        _authorise(request, settings.bearer_key)
        ask = parse(await _body(request, settings.max_body_bytes), settings)
        if service.budget.is_used_up():
            raise RequestError(429, "budget_used_up", "this month's budget is used up; try again next month")
        return EventStream(service, Answer(service, ask))

    @app.get("/healthz")
    async def healthz() -> dict[str, Any]:
        return {"status": "ok", "passages": len(service.library)}

    @app.get("/metrics", response_class=Response)
    async def metrics(request: Request) -> Response:
        _authorise(request, settings.bearer_key)
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")

    page = Path(str(resources.files("guardrails_plugins.server").joinpath("page")))
    app.mount("/", StaticFiles(directory=page, html=True), name="page")
    return app


def _authorise(request: Request, key: str | None) -> None:
    if key is None:
        return
    given = request.headers.get("authorization", "")
    if not hmac.compare_digest(given.encode(), f"Bearer {key}".encode()):
        raise RequestError(401, "unauthorised", "send the key as 'Authorization: Bearer …'")


async def _body(request: Request, limit: int) -> bytes:
    """The body, read no further than the limit."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > limit:
            raise RequestError(413, "body_too_large", f"the body has more than {limit} bytes")
    return bytes(body)


class EventStream(Response):
    """Sends an answer's events, pings between them, and ends the answer when the client goes away."""

    def __init__(self, service: Service, answer: Answer) -> None:
        super().__init__(headers={**HEADERS, "X-Request-Id": answer.id}, media_type="text/event-stream")
        # An event stream is UTF-8 by definition; its length is not known.
        self.headers["content-type"] = "text/event-stream"
        del self.headers["content-length"]
        gauge = service.metrics.open
        if gauge._value.get() >= service.settings.max_streams:
            raise RequestError(503, "too_many_streams", "too many answers are being written; try again in a moment")
        gauge.inc()
        self._service = service
        self._answer = answer
        self._lock = asyncio.Lock()

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        tasks = [
            asyncio.create_task(self._produce(send)),
            asyncio.create_task(_until_gone(receive)),
            asyncio.create_task(self._ping(send)),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._service.metrics.open.dec()

    async def _produce(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        events = self._answer.events()
        try:
            async with asyncio.timeout(self._service.settings.answer_timeout_s):
                async for name, data in events:
                    await self._send(send, encode(name, data))
        except TimeoutError:
            await self._fail(send, "timeout", "the answer took too long")
        except Exception as error:
            # The text of an exception may quote the answer: its kind is all that is told.
            logger.error("stream %s: %s", self._answer.id, type(error).__name__)
            await self._fail(send, "internal", f"the answer broke off ({type(error).__name__})")
        finally:
            await events.aclose()  # type: ignore[attr-defined]
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _fail(self, send: Send, code: str, message: str) -> None:
        failures: list[Event] = [("error", {"code": code, "message": message}), ("done", {"state": "failed"})]
        for name, data in failures:
            await self._send(send, encode(name, data))

    async def _ping(self, send: Send) -> None:
        while True:
            await asyncio.sleep(self._service.settings.ping_s)
            await self._send(send, PING)

    async def _send(self, send: Send, data: bytes) -> None:
        async with self._lock:  # whole events only, whoever sends
            await send({"type": "http.response.body", "body": data, "more_body": True})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
