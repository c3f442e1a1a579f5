"""The sources of one request, or of one turn, never support the answer of another."""

from __future__ import annotations

import asyncio
import random
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nemoguardrails")

from nemoguardrails.actions.actions import ActionResult
from nemoguardrails.types import LLMResponse, LLMResponseChunk

from guardrails_plugins.adapters.nemo.turn import retrieved_in_turn

from .support import DialogModel, FakeModel, collect, rails, request, searching
from .test_sources import ASK, DIALOG

pytestmark = pytest.mark.framework

asker: ContextVar[str] = ContextVar("asker", default="")
"""Who asks: what a retrieval action of one's own may know besides the question."""

PIECES = ("It has ", "{n}", " desks [S1]. ", "It has ", "7777 rooms [S1]. ", "Yes.")


class Numbered(DialogModel):
    """Answers with the number in the question, in pieces that come at random times."""

    chance = random.Random(20)

    def _pieces(self, prompt: Any) -> list[str]:
        text = prompt if isinstance(prompt, str) else "\n".join(str(m.content) for m in prompt)
        number = text.split("number ")[-1].split("?")[0]
        return [piece.replace("{n}", number) for piece in PIECES]

    async def stream_async(self, prompt: Any, *, stop: Any = None, **kwargs: Any) -> Any:
        for piece in self._pieces(prompt):
            await asyncio.sleep(self.chance.random() * 0.01)
            yield LLMResponseChunk(delta_content=piece)
        yield LLMResponseChunk(finish_reason="stop")

    async def generate_async(self, prompt: Any, *, stop: Any = None, **kwargs: Any) -> LLMResponse:
        await asyncio.sleep(self.chance.random() * 0.02)
        intent = await super().generate_async(prompt, stop=stop, **kwargs)
        if intent.content.strip():
            return intent
        return LLMResponse(content="".join(self._pieces(prompt)), finish_reason="stop")


def sources_of(number: int) -> list[str]:
    """Every third request has a source for both figures; the others lack the second one."""
    return [f"There are {number} desks." + (" There are 7777 rooms." if number % 3 == 0 else "")]


def is_right(number: int, answer: Any) -> bool:
    if isinstance(answer, list):
        if number % 3 == 0:
            return answer == [f"It has {number} desks.", " It has 7777 rooms.", " Yes."]
        return len(answer) == 2 and answer[0] == f"It has {number} desks." and "value_unsupported" in answer[1]
    if number % 3 == 0:
        return bool(answer["content"] == f"It has {number} desks. It has 7777 rooms. Yes.")
    return bool(answer["content"].startswith("The answer stops here"))


async def test_200_requests_at_once_streaming_and_not() -> None:
    app = rails(Numbered(""))

    async def one(number: int) -> Any:
        messages = request(sources_of(number), question=f"Is it number {number}?")
        if number % 2:
            return await collect(app.stream_async(messages=messages))
        return await app.generate_async(messages=messages)

    numbers = range(1000, 1200)
    answers = await asyncio.gather(*(one(n) for n in numbers))
    assert [n for n, answer in zip(numbers, answers, strict=True) if not is_right(n, answer)] == []


def retrieving(model: Any, folder: Path, chunks: Any) -> Any:
    """Dialog mode with a retrieval action of one's own, which returns `chunks(context)`."""
    app = searching(model, folder, colang=DIALOG)

    async def retrieve_relevant_chunks(context: Any = None) -> ActionResult:
        found = chunks(context or {})
        await asyncio.sleep(random.random() * 0.01)
        updates = {"relevant_chunks": "\n".join(found), "relevant_chunks_sep": found}
        return ActionResult(return_value=updates["relevant_chunks"], context_updates=updates)

    app.register_action(retrieve_relevant_chunks, "retrieve_relevant_chunks")
    return app


async def test_200_retrievals_at_once_streaming_and_not(tmp_path: Path) -> None:
    def chunks(context: dict[str, Any]) -> list[str]:
        return sources_of(int(context["last_user_message"].split("number ")[1].rstrip("?")))

    app = retrieving(Numbered(""), tmp_path, chunks)

    async def one(number: int) -> Any:
        messages = [{"role": "user", "content": f"Is it number {number}?"}]
        if number % 2:
            return await collect(app.stream_async(messages=messages))
        return await app.generate_async(messages=messages)

    numbers = range(1000, 1200)
    answers = await asyncio.gather(*(one(n) for n in numbers))
    assert [n for n, answer in zip(numbers, answers, strict=True) if not is_right(n, answer)] == []


async def answer(app: Any, messages: Any, streaming: bool) -> str:
    if streaming:
        return "".join(await collect(app.stream_async(messages=messages)))
    return str((await app.generate_async(messages=messages))["content"])


def later(first: str) -> list[dict[str, Any]]:
    return [*ASK, {"role": "assistant", "content": first}, {"role": "user", "content": "And when did it open?"}]


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("second", [[], ["It has 52 desks."]])
async def test_what_an_earlier_turn_retrieved_supports_nothing(
    second: list[str], streaming: bool, tmp_path: Path
) -> None:
    found = [["The hall opened in 1931."], second]
    app = retrieving(DialogModel("It opened in 1931 [S1]."), tmp_path, lambda _: found.pop(0))
    first = await answer(app, ASK, streaming)
    assert first == "It opened in 1931."
    assert "1931" not in await answer(app, later(first), streaming)
    assert found == []


@pytest.mark.parametrize("streaming", [True, False])
async def test_another_readers_conversation_with_the_same_words(streaming: bool, tmp_path: Path) -> None:
    """NeMo's history cache gives the one the events of the other, retrieved chunks included."""
    found = {"a": ["The hall opened in 1931."], "b": []}
    app = retrieving(DialogModel("It opened in 1931 [S1]."), tmp_path, lambda _: found[asker.get()])
    asker.set("a")
    first = await answer(app, ASK, streaming)
    assert first == "It opened in 1931."
    asker.set("b")
    assert "1931" not in await answer(app, later(first), streaming)
    asker.set("a")
    assert await answer(app, later(first), streaming) == "It opened in 1931."


@pytest.mark.parametrize("streaming", [True, False])
async def test_sources_of_an_earlier_request_of_the_conversation(streaming: bool) -> None:
    app = rails(FakeModel("It opened in 1931 [S1]."))
    first = await answer(app, request(["The hall opened in 1931."]), streaming)
    assert first == "It opened in 1931."
    assert "1931" not in await answer(app, later(first), streaming)
    assert "1931" not in await answer(app, [*later(first)[:2], *request(["It has 52 desks."])], streaming)


def update(**data: Any) -> dict[str, Any]:
    return {"type": "ContextUpdate", "data": data}


ASKED = {"type": "UtteranceUserActionFinished", "final_transcript": "When?"}


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], (False, None)),
        ([ASKED], (False, None)),
        ([update(relevant_chunks="old"), ASKED], (False, None)),
        ([update(relevant_chunks="old"), ASKED, update(user_message="x")], (False, None)),
        ([update(relevant_chunks="old"), ASKED, update(relevant_chunks="new")], (True, ["new"])),
        ([update(relevant_chunks="old"), ASKED, update(relevant_chunks="")], (True, None)),
        ([ASKED, update(relevant_chunks="", relevant_chunks_sep=[], retrieved_for="When?")], (True, [])),
        # What NeMo's own action does without a knowledge base, alone and before a retrieval rail.
        ([update(relevant_chunks="old"), ASKED, update(relevant_chunks="old\n", retrieved_for=None)], (False, None)),
        (
            [
                update(relevant_chunks="old"),
                ASKED,
                update(relevant_chunks="old\n", relevant_chunks_sep=["old"], retrieved_for=None),
                update(relevant_chunks="new"),
            ],
            (True, ["new"]),
        ),
        ([ASKED, update(relevant_chunks="a\nb", relevant_chunks_sep=["a", "b"])], (True, ["a", "b"])),
    ],
)
def test_what_a_turn_has_retrieved(events: list[Any], expected: Any) -> None:
    assert retrieved_in_turn(events) == expected
