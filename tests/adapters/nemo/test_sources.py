"""Where sources come from; the sources of one request never reach another's."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

pytest.importorskip("nemoguardrails")

from guardrails_plugins.core.sources import Source, SourceIndex

from .support import (
    FOLDER,
    GOOD,
    GOOD_ITEMS,
    GOOD_SHOWN,
    KNOWLEDGE,
    SOURCES,
    DialogModel,
    FakeModel,
    collect,
    rails,
    request,
    searching,
)

pytestmark = pytest.mark.framework

ASK = [{"role": "user", "content": "When did the hall open?"}]


@pytest.mark.parametrize(
    "sources",
    [
        SOURCES,
        tuple(SOURCES),
        [{"text": t} for t in SOURCES],
        [Source(t, id="x", language="en") for t in SOURCES],
        SourceIndex(SOURCES),
    ],
)
async def test_every_form_of_source(sources: Any) -> None:
    app = rails(FakeModel(GOOD))
    messages = request(sources)
    assert await collect(app.stream_async(messages=messages)) == GOOD_ITEMS
    assert (await app.generate_async(messages=messages))["content"] == GOOD_SHOWN
    assert messages[0]["content"]["sources"] is sources


async def test_an_empty_list_is_judged_against_nothing() -> None:
    items = await collect(rails(FakeModel("It opened in 1931.")).stream_async(messages=request([])))
    assert "citation_missing" in items[-1]
    assert await collect(rails(FakeModel("Hello.")).stream_async(messages=request([]))) == ["Hello."]


async def test_relevant_chunks_in_the_context_message() -> None:
    for content in (
        {"relevant_chunks": "\n".join(SOURCES), "relevant_chunks_sep": SOURCES},
        {"relevant_chunks": SOURCES},
    ):
        app = rails(FakeModel(GOOD))
        messages = [{"role": "context", "content": content}, *ASK]
        assert await collect(app.stream_async(messages=messages)) == GOOD_ITEMS
        assert (await app.generate_async(messages=messages))["content"] == GOOD_SHOWN


async def test_nemos_own_knowledge_base_in_general_mode(tmp_path: Any) -> None:
    app = searching(FakeModel(GOOD), tmp_path, knowledge=KNOWLEDGE)
    assert await collect(app.stream_async(messages=ASK)) == GOOD_ITEMS
    assert (await app.generate_async(messages=ASK))["content"] == GOOD_SHOWN
    app.update_llm(FakeModel("It opened in 1932 [S1]."))
    assert "value_unsupported" in (await collect(app.stream_async(messages=ASK)))[-1]


DIALOG = """
define user ask about the hall
  "when did the hall open"

define flow
  user ask about the hall
  bot tell about the hall
"""


@pytest.mark.parametrize("wrapped", ["{}", '  "{}"', 'Bot message: "{}"'])
async def test_dialog_mode_with_a_knowledge_base(wrapped: str, tmp_path: Any) -> None:
    text = GOOD.rstrip()
    app = searching(DialogModel(wrapped.replace("{}", text)), tmp_path, colang=DIALOG, knowledge=KNOWLEDGE)
    assert "".join(await collect(app.stream_async(messages=ASK))) == GOOD_SHOWN.rstrip()
    assert (await app.generate_async(messages=ASK))["content"] == GOOD_SHOWN.rstrip()
    app.update_llm(DialogModel(wrapped.replace("{}", "It opened in 1931 [S1]. It closed in 1999 [S1].")))
    items = await collect(app.stream_async(messages=ASK))
    assert items[0] == "It opened in 1931."
    assert "value_unsupported" in items[1]
    assert "1999" not in (await app.generate_async(messages=ASK))["content"]


async def test_a_custom_retrieval_action(tmp_path: Any) -> None:
    from nemoguardrails.actions.actions import ActionResult

    async def retrieve_relevant_chunks(context: Any = None) -> ActionResult:
        updates = {"relevant_chunks": "\n".join(SOURCES), "relevant_chunks_sep": SOURCES}
        return ActionResult(return_value=updates["relevant_chunks"], context_updates=updates)

    app = searching(DialogModel(GOOD), tmp_path, colang=DIALOG)
    app.register_action(retrieve_relevant_chunks, "retrieve_relevant_chunks")
    assert "".join(await collect(app.stream_async(messages=ASK))) == GOOD_SHOWN
    assert (await app.generate_async(messages=ASK))["content"].rstrip() == GOOD_SHOWN.rstrip()


async def test_a_retrieval_rail_changes_the_sources(tmp_path: Any) -> None:
    rail = DIALOG + '\ndefine subflow only hall\n  $relevant_chunks = "The hall opened in 1931."\n'
    model = DialogModel("It opened in 1931 [S1]. It has 52 desks [S1].")
    app = searching(model, tmp_path, yaml="rails: {retrieval: {flows: [only hall]}}", colang=rail)
    items = await collect(app.stream_async(messages=ASK))
    assert items[0] == "It opened in 1931."
    assert "value_unsupported" in items[1]


async def test_the_prompt_carries_instructions_and_numbered_sources() -> None:
    for setting, there in ((True, True), (False, False)):
        model = FakeModel(GOOD)
        app = rails(model, prompt=setting)
        await collect(app.stream_async(messages=request()))
        await app.generate_async(messages=request())
        for prompt in model.prompts:
            text = prompt if isinstance(prompt, str) else "\n".join(m.content for m in prompt)
            assert (SOURCES[1] in text) is there
            assert ("[S1]" in text) is there


async def test_200_streams_at_once_each_against_its_own_sources() -> None:
    chance = random.Random(20)

    class Asked(FakeModel):
        async def stream_async(self, prompt: Any, *, stop: Any = None, **kwargs: Any) -> Any:
            from nemoguardrails.types import LLMResponseChunk

            text = prompt if isinstance(prompt, str) else prompt[-1].content
            number = text.split("number ")[-1].split("?")[0]
            for piece in ("It has ", number, " desks [S1]. ", "It has ", "7777 rooms [S1]. ", "Yes."):
                await asyncio.sleep(chance.random() * 0.01)
                yield LLMResponseChunk(delta_content=piece)
            yield LLMResponseChunk(finish_reason="stop")

    app = rails(Asked(""))

    async def one(n: int) -> list[Any]:
        # Every third request has a source for both figures, the others hold those of no other.
        sources = [f"There are {n} desks."] + (["There are 7777 rooms."] if n % 3 == 0 else [])
        if n % 3 == 0:
            sources = [" ".join(sources)]
        return await collect(app.stream_async(messages=request(sources, question=f"Is it number {n}?")))

    numbers = range(1000, 1200)
    for n, items in zip(numbers, await asyncio.gather(*(one(n) for n in numbers)), strict=True):
        assert items[0] == f"It has {n} desks."
        if n % 3 == 0:
            assert items[1:] == [" It has 7777 rooms.", " Yes."]
        else:
            assert "value_unsupported" in items[1]
            assert len(items) == 2


def test_the_folder_is_where_the_tests_think() -> None:
    assert (FOLDER / "rails.co").is_file()
