"""Other ways into NeMo: Guardrails (IORails), LangChain models."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("nemoguardrails")

from nemoguardrails import Guardrails, LLMRails

from .support import (
    BAD,
    GOOD,
    GOOD_ITEMS,
    GOOD_SHOWN,
    SECRET,
    FakeModel,
    collect,
    config,
    request,
)

pytestmark = pytest.mark.framework


async def test_guardrails_falls_back_to_llmrails_with_our_rail() -> None:
    model = FakeModel(BAD, delay=0.001)
    app = Guardrails(config(), llm=model)
    assert not app.use_iorails_engine
    items = await collect(app.stream_async(messages=request()))
    assert items[0] == GOOD_ITEMS[0]
    assert "guardrails_violation" in items[1]
    assert model.closed
    assert (await app.generate_async(messages=request()))["content"] != GOOD_SHOWN
    app.update_llm(FakeModel(GOOD))
    assert await collect(app.stream_async(messages=request())) == GOOD_ITEMS


async def test_guardrails_without_a_model_of_ones_own_falls_back_too() -> None:
    from nemoguardrails.guardrails.iorails import IORails

    assert IORails.unsupported_reason(config(), None) is not None


async def test_guardrails_aclose_closes_the_provider() -> None:
    model = FakeModel(GOOD * 50, delay=0.001)
    app = Guardrails(config(), llm=model)
    stream = app.stream_async(messages=request())
    async for _ in stream:
        break
    await stream.aclose()
    del stream
    for _ in range(100):
        await asyncio.sleep(0.005)
        if model.closed:
            break
    assert model.closed
    assert model.made < len(model.pieces)


async def test_the_driver_around_another_engines_stream() -> None:
    """What docs/nemo.md shows for the time after LLMRails."""
    from guardrails_plugins import SentenceGate, gate_stream

    async def engine() -> Any:
        for i in range(0, len(BAD), 9):
            yield BAD[i : i + 9]

    gate = SentenceGate(request()[0]["content"]["sources"])
    shown = [e.text async for e in gate_stream(engine(), gate) if e.type == "sentence"]
    assert shown == GOOD_ITEMS[:1]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_a_langchain_chat_model() -> None:
    pytest.importorskip("langchain_core")
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

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


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_a_langchain_models_stream_is_closed_at_the_block() -> None:
    pytest.importorskip("langchain_core")
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessageChunk
    from langchain_core.outputs import ChatGenerationChunk

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
