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
from starlette.requests import ClientDisconnect

from guardrails_plugins.server.answers import Answer, Service
from guardrails_plugins.server.ask import SCHEMA, RequestError, parse
from guardrails_plugins.server.sse import HEADERS, PING, encode

logger = logging.getLogger("guardrails_plugins")

LAST_WORDS_S = 5.0
"""Seconds that a reader has to take the end of an answer that broke off; one that reads nothing has none left."""

DESCRIPTION = """Events of the stream: `sources` (id, sources), `sentence` (text, cited), `guard` (codes, notice,
withheld_chars, state), `error` (code, message), `done` (state, notice, released, usage, tool_calls). A comment keeps
the connection open every 15 seconds. The states `completed`, `withheld`, `refused`, `truncated` and `failed` are told
apart in `done`, also when no text came."""

LAST = {"type": "http.response.body", "body": b"", "more_body": False}

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
        return JSONResponse({"error": {"code": error.code, "message": str(error)}}, error.status, error.headers)

    @app.post(
        "/v1/answers",
        description=DESCRIPTION,
        response_class=Response,
        responses={
            200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}},
            400: {},
            401: {},
            413: {},
            415: {},
        },
        openapi_extra={"requestBody": {"required": True, "content": {"application/json": {"schema": SCHEMA}}}},
    )
    async def answers(request: Request) -> Response:
        _authorise(request, settings.bearer_key)
        _require_json(request)
        ask = parse(await _body(request, settings.max_body_bytes), settings)
        if service.budget.is_used_up():
            raise RequestError(429, "budget_used_up", "this month's budget is used up; try again next month")
        return EventStream(service, Answer(service, ask))

    # Named, since the page's mount would answer them as files that are not there.
    @app.api_route("/v1/answers", methods=["GET", "HEAD"], include_in_schema=False)
    async def no_answers() -> Response:
        raise RequestError(405, "method_not_allowed", "ask with POST", {"Allow": "POST"})

    @app.head("/healthz", include_in_schema=False)
    @app.get("/healthz")
    async def healthz() -> dict[str, Any]:
        return {"status": "ok", "passages": len(service.library)}

    @app.head("/metrics", include_in_schema=False)
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


def _require_json(request: Request) -> None:
    """Any page may send a form or plain text to this server through its visitor's browser; JSON a browser sends
    only where the server allows it (the CORS protocol of https://fetch.spec.whatwg.org)."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != "application/json":
        raise RequestError(415, "not_json", "send the body as JSON, with 'Content-Type: application/json'")


async def _body(request: Request, limit: int) -> bytes:
    """The body, read no further than the limit."""
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > limit:
                raise RequestError(413, "body_too_large", f"the body has more than {limit} bytes")
    except ClientDisconnect:
        raise RequestError(400, "body_cut_off", "the client left before the whole body had come") from None
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
        self._begun = False

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
        events = self._answer.events()
        try:
            async with asyncio.timeout(self._service.settings.answer_timeout_s):
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                self._begun = True
                async for name, data in events:
                    await self._send(send, encode(name, data))
                return await send(LAST)
        except TimeoutError:
            code, message = "timeout", "the answer took too long"
        except Exception as error:
            # The text of an exception may quote the answer: its kind is all that is told.
            logger.error("stream %s: %s", self._answer.id, type(error).__name__)
            code, message = "internal", f"the answer broke off ({type(error).__name__})"
        finally:
            await events.aclose()
        # The provider is closed by now: a reader that takes nothing keeps only its own connection.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS_S):
                await self._fail(send, code, message)

    async def _fail(self, send: Send, code: str, message: str) -> None:
        if not self._begun:
            return
        for name, data in self._answer.broken(code, message):
            await self._send(send, encode(name, data))
        await send(LAST)

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
