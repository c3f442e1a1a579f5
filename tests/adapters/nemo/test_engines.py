"""The engine behind `Guardrails(...)`, and the driver for the time after LLMRails."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("nemoguardrails")

from nemoguardrails import Guardrails

from .provider import MODEL, Provider
from .support import (
    BAD,
    GOOD,
    GOOD_ITEMS,
    GOOD_SHOWN,
    SECRET,
    FakeModel,
    collect,
    config,
    everything,
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


async def test_guardrails_with_the_model_of_its_configuration_falls_back_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `llm=` it is our flow alone that keeps NeMo from taking IORails, which knows no rail of one's own."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with Provider({"word-good": GOOD, "word-bad": BAD}) as provider:
        model = f"models: [{{type: main, engine: openai, model: {MODEL}, parameters: {{base_url: '{provider.url}'}}}}]"
        app = Guardrails(config(yaml=model))
        assert not app.use_iorails_engine
        assert await collect(app.stream_async(messages=request(question="word-good"))) == GOOD_ITEMS
        items = await collect(app.stream_async(messages=request(question="word-bad")))
        assert items[0] == GOOD_ITEMS[0]
        assert "guardrails_violation" in items[1]
        message = await app.generate_async(messages=request(question="word-bad"))
        assert SECRET not in repr((items, message, everything(app.explain())))
        for _ in range(100):
            if provider.requests[1]["gone"]:
                break
            await asyncio.sleep(0.01)
        assert provider.requests[1]["gone"]


def test_iorails_alone_refuses_our_rail() -> None:
    with pytest.raises(ValueError, match="IORails cannot be used"):
        Guardrails(config(), require_iorails=True)


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
