"""Text that reaches a stream past the gated model: pushed by actions, or said by flows into a handler of one's own."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nemoguardrails")

from nemoguardrails.context import streaming_handler_var
from nemoguardrails.llm.call import llm_call
from nemoguardrails.streaming import StreamingHandler

from .support import (
    BAD,
    GOOD,
    GOOD_ITEMS,
    GOOD_SHOWN,
    SECRET,
    DialogModel,
    FakeModel,
    collect,
    everything,
    rails,
    request,
    searching,
)
from .test_rails import INPUT, RENDERED, SAYS
from .test_sources import DIALOG

pytestmark = pytest.mark.framework

NOTICE = "The answer stops here"

PUSHES = """
define user ask anything
  "when did it open"

define flow
  user ...
  execute push
"""


async def pieces(**_: Any) -> None:
    """Pushes a model's answer as it comes, which is what NeMo's own examples do with a model of one's own."""
    handler = streaming_handler_var.get()
    assert handler is not None
    for start in range(0, len(BAD), 9):
        await handler.push_chunk(BAD[start : start + 9])
        await asyncio.sleep(0)
    await handler.finish()


async def by_model(llm: Any = None, **_: Any) -> None:
    """Streams the model that NeMo hands to actions."""
    await llm_call(llm, "Tell me.", streaming_handler=streaming_handler_var.get())


async def test_pieces_that_an_action_pushes_are_blocked_with_a_message_that_says_what_to_do(tmp_path: Path) -> None:
    app = searching(DialogModel("unused"), tmp_path, colang=PUSHES)
    app.register_action(pieces, "push")
    items = await asyncio.wait_for(collect(app.stream_async(messages=request())), 5)
    assert len(items) == 1
    assert "content_blocked" in items[0]
    assert "gate_items" in items[0]
    assert "The hall" not in everything((items, app.explain()))


@pytest.mark.parametrize(("text", "shown"), [(GOOD, GOOD_ITEMS), (BAD, GOOD_ITEMS[:1])])
async def test_an_action_that_streams_the_model_is_gated(text: str, shown: list[str], tmp_path: Path) -> None:
    app = searching(DialogModel(text), tmp_path, colang=PUSHES)
    app.register_action(by_model, "push")
    items = await asyncio.wait_for(collect(app.stream_async(messages=request())), 5)
    assert items[: len(shown)] == shown
    assert len(items) == len(shown) + (text is BAD)
    assert SECRET not in "".join(items)


async def test_a_model_registered_for_all_actions_is_gated(tmp_path: Path) -> None:
    app = searching(DialogModel("unused"), tmp_path, colang=PUSHES)
    app.register_action(by_model, "push")
    app.register_action_param("llm", DialogModel(BAD))
    items = await asyncio.wait_for(collect(app.stream_async(messages=request())), 5)
    assert items[0] == GOOD_ITEMS[0]
    assert "value_unsupported" in items[1]


async def test_a_model_of_one_action_alone_is_gated(tmp_path: Path) -> None:
    """NeMo takes `<action>_llm` where there is one (`type: generate_bot_message` in config.yml)."""
    app = searching(DialogModel("unused"), tmp_path, colang=DIALOG)
    app.register_action_param("generate_bot_message_llm", FakeModel(BAD))
    items = await collect(app.stream_async(messages=request()))
    assert items[0] == GOOD_ITEMS[0]
    assert "value_unsupported" in items[1]
    whole = (await app.generate_async(messages=request()))["content"]
    assert whole.startswith(NOTICE)


async def heard(app: Any, **context: Any) -> tuple[str, str]:
    """What a handler of one's own gets, and what `generate_async` returns beside it."""
    handler = StreamingHandler()
    task = asyncio.create_task(app.generate_async(messages=request(**context), streaming_handler=handler))
    text = "".join([item async for item in handler])
    message = await asyncio.wait_for(task, 5)
    return text, message["content"]


@pytest.mark.parametrize(("text", "begins"), [(GOOD, GOOD_SHOWN.rstrip()), (BAD, NOTICE)])
async def test_what_a_flow_says_into_a_handler_of_ones_own(text: str, begins: str, tmp_path: Path) -> None:
    app = searching(DialogModel("unused"), tmp_path, colang=SAYS)

    async def look_up(**_: Any) -> str:
        return text

    app.register_action(look_up, "look_up")
    streamed, returned = await heard(app)
    assert streamed.startswith(begins)
    assert returned.startswith(begins)
    assert SECRET not in streamed + returned
    assert "[S1]" not in streamed + returned


async def test_what_a_passthrough_function_says_into_a_handler_of_ones_own() -> None:
    app = rails(FakeModel("unused"), yaml="passthrough: True")

    async def answer(context: Any, events: Any) -> tuple[str, dict[str, str]]:
        return BAD, {}

    app.passthrough_fn = answer
    streamed, returned = await heard(app)
    assert streamed.startswith(NOTICE)
    assert returned.startswith(NOTICE)


async def test_pieces_pushed_into_a_handler_of_ones_own(tmp_path: Path) -> None:
    app = searching(DialogModel("unused"), tmp_path, colang=PUSHES)
    app.register_action(pieces, "push")
    handler = StreamingHandler()
    task = asyncio.create_task(app.generate_async(messages=request(), streaming_handler=handler))
    text = "".join([item async for item in handler])
    await asyncio.wait_for(task, 5)
    assert "The hall" not in text
    assert text


@pytest.mark.parametrize("colang", [INPUT, RENDERED])
async def test_fixed_messages_reach_a_handler_of_ones_own_unjudged(colang: str) -> None:
    app = rails(FakeModel(GOOD), yaml="rails: {input: {flows: [no hall]}}", colang=colang)
    expected = "I do not talk about halls 2019." if colang is RENDERED else "I'm sorry, I can't respond to that."
    assert await heard(app, place="halls") == (expected, expected)
