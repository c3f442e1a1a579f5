"""LangChain chat models in NeMo, and NeMo in LangChain."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("nemoguardrails")
pytest.importorskip("langchain_core")

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableLambda
from nemoguardrails import LLMRails
from nemoguardrails.integrations.langchain.runnable_rails import RunnableRails

from .provider import MODEL, Provider
from .support import BAD, GOOD, GOOD_ITEMS, GOOD_SHOWN, SECRET, SOURCES, collect, config, everything, request

pytestmark = [pytest.mark.framework, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

NOTICE = "The answer stops here"


async def test_a_langchain_chat_model() -> None:
    for text, blocked in ((GOOD, False), (BAD, True)):
        model = GenericFakeChatModel(messages=iter([AIMessage(content=text)] * 4))
        app = LLMRails(config(), llm=model)
        items = await collect(app.stream_async(messages=request()))
        assert items[0] == GOOD_ITEMS[0]
        assert ("guardrails_violation" in items[-1]) is blocked
        assert blocked or items == GOOD_ITEMS
        message = await app.generate_async(messages=request())
        assert (message["content"] == GOOD_SHOWN) is not blocked
        assert SECRET not in "".join(items) + message["content"]


async def test_a_langchain_models_stream_is_closed_at_the_block() -> None:
    seen = {"made": 0, "closed": False}

    class Chat(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "counting"

        def _generate(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

        async def _astream(self, *args: Any, **kwargs: Any) -> Any:
            try:
                for i in range(0, len(BAD), 8):
                    seen["made"] += 1
                    yield ChatGenerationChunk(message=AIMessageChunk(content=BAD[i : i + 8]))
                    await asyncio.sleep(0)
            finally:
                seen["closed"] = True

    items = await collect(LLMRails(config(), llm=Chat()).stream_async(messages=request()))
    assert items[0] == GOOD_ITEMS[0]
    assert "guardrails_violation" in items[1]
    await asyncio.sleep(0.01)
    assert seen["closed"]
    assert seen["made"] < 15


class Whole(BaseChatModel):
    """A chat model with reasoning and a tool call beside its text, whole and as chunks."""

    text: str
    reasoning: str = ""
    tool: bool = False

    @property
    def _llm_type(self) -> str:
        return "whole"

    @property
    def _more(self) -> dict[str, Any]:
        return {"additional_kwargs": {"reasoning_content": self.reasoning}} if self.reasoning else {}

    @property
    def _finish(self) -> dict[str, Any]:
        return {"finish_reason": "tool_calls" if self.tool else "stop"}

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        calls = [{"name": "look_up", "args": {"year": 1931}, "id": "1"}] if self.tool else []
        message = AIMessage(content=self.text, tool_calls=calls, response_metadata=self._finish, **self._more)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        if self.reasoning:
            yield ChatGenerationChunk(message=AIMessageChunk(content="", **self._more))
        for i in range(0, len(self.text), 6):
            yield ChatGenerationChunk(message=AIMessageChunk(content=self.text[i : i + 6]))
        if self.tool:
            call = {"name": "look_up", "args": '{"year": 1931}', "id": "1", "index": 0, "type": "tool_call_chunk"}
            yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[call]))
        yield ChatGenerationChunk(message=AIMessageChunk(content="", response_metadata=self._finish))


async def test_reasoning_is_not_shown() -> None:
    app = LLMRails(config(), llm=Whole(text=GOOD, reasoning="It may have been 1899."))
    items = await collect(app.stream_async(messages=request()))
    assert items == GOOD_ITEMS
    response = await app.generate_async(messages=request(), options={"llm_output": True, "log": {"llm_calls": True}})
    assert response.response[0]["content"] == GOOD_SHOWN
    assert "1899" not in everything(response) + everything(app.explain()) + "".join(items)


@pytest.mark.parametrize(("text", "given"), [("It opened in 1931 [S1].", True), ("It opened in 1932 [S1].", False)])
async def test_tool_calls_only_after_a_clean_end(text: str, given: bool) -> None:
    app = LLMRails(config(yaml="passthrough: True"), llm=Whole(text=text, tool=True))
    message = await app.generate_async(messages=request())
    assert bool(message.get("tool_calls")) is given
    seen: list[Any] = []
    original = app.llm.stream_async

    async def watched(*args: Any, **kwargs: Any) -> Any:
        async for chunk in original(*args, **kwargs):
            seen.append((chunk.delta_content, chunk.delta_tool_calls))
            yield chunk

    app.llm.stream_async = watched
    await collect(app.stream_async(messages=request()))
    calls = [n for n, (_, called) in enumerate(seen) if called]
    assert bool(calls) is given
    assert not given or not any(text for text, _ in seen[calls[0] + 1 :])


async def test_blocked_text_is_nowhere(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> None:
    caplog.set_level(logging.DEBUG)
    app = LLMRails(config(), llm=Whole(text=BAD), verbose=True)
    await collect(app.stream_async(messages=request()))
    await app.generate_async(messages=request(), options={"log": {"llm_calls": True, "internal_events": True}})
    printed = "".join(capsys.readouterr())
    assert "The hall opened in 1931." in printed + caplog.text
    assert SECRET not in printed + caplog.text + everything(app.explain()) + everything(app.events_history_cache)


def app_of(kind: str, text: str) -> Any:
    if kind == "llm":
        return RunnableRails(config(), llm=Whole(text=text))
    if kind == "pipe":
        return RunnableRails(config()) | Whole(text=text)
    return RunnableRails(config(), runnable=RunnableLambda(lambda _: {"output": text}))


def asked(kind: str) -> dict[str, Any]:
    question = {"input": "When did the hall open?"}
    return question | ({"sources": SOURCES} if kind == "runnable" else {"context": {"sources": SOURCES}})


@pytest.mark.parametrize("kind", ["llm", "pipe", "runnable"])
async def test_runnable_rails(kind: str) -> None:
    assert await app_of(kind, GOOD).ainvoke(asked(kind)) == {"output": GOOD_SHOWN}
    pieces = [p["output"] async for p in app_of(kind, GOOD).astream(asked(kind))]
    assert "".join(pieces) == GOOD_SHOWN
    blocked = await app_of(kind, BAD).ainvoke(asked(kind))
    assert blocked["output"].startswith(NOTICE)
    pieces = [p["output"] async for p in app_of(kind, BAD).astream(asked(kind))]
    assert pieces[0] == GOOD_ITEMS[0]
    assert "guardrails_violation" in pieces[1]
    assert SECRET not in repr((blocked, pieces))


@pytest.mark.parametrize("kind", ["llm", "pipe", "runnable"])
def test_runnable_rails_synchronously(kind: str) -> None:
    assert app_of(kind, GOOD).invoke(asked(kind)) == {"output": GOOD_SHOWN}
    pieces = [p["output"] for p in app_of(kind, BAD).stream(asked(kind))]
    assert pieces[0] == GOOD_ITEMS[0]
    assert SECRET not in repr(pieces)


async def test_the_openai_model_of_langchain_over_http() -> None:
    openai = pytest.importorskip("langchain_openai")
    with Provider({"word-good": GOOD, "word-bad": {"text": BAD, "delay": 0.005}}) as provider:
        app = LLMRails(config(), llm=openai.ChatOpenAI(model=MODEL, base_url=provider.url, api_key="none"))
        assert await collect(app.stream_async(messages=request(question="word-good"))) == GOOD_ITEMS
        items = await collect(app.stream_async(messages=request(question="word-bad")))
        assert items[0] == GOOD_ITEMS[0]
        assert "guardrails_violation" in items[1]
        for _ in range(100):
            if provider.requests[1]["gone"]:
                break
            await asyncio.sleep(0.01)
        assert provider.requests[1]["gone"]
        assert provider.requests[1]["pieces"] < 20
        assert (await app.generate_async(messages=request(question="word-bad")))["content"].startswith(NOTICE)
