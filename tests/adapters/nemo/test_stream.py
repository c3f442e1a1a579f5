"""Streaming: one judged sentence an item, the text exact, whatever the chunking."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

pytest.importorskip("nemoguardrails")

from nemoguardrails.types import LLMResponseChunk, ToolCall, ToolCallFunction, UsageInfo

from guardrails_plugins import check_text

from .support import GOOD, GOOD_ITEMS, GOOD_SHOWN, SOURCES, FakeModel, collect, rails, request

pytestmark = pytest.mark.framework


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
async def test_a_judged_sentence_is_an_item(size: int) -> None:
    model = FakeModel(GOOD, size=size)
    assert await collect(rails(model).stream_async(messages=request())) == GOOD_ITEMS
    assert model.closed


async def test_the_first_sentence_comes_while_the_model_still_writes() -> None:
    model = FakeModel(GOOD, size=5, delay=0.005)
    stream = rails(model).stream_async(messages=request())
    assert await anext(stream) == GOOD_ITEMS[0]
    assert model.made < len(model.pieces) // 2
    await stream.aclose()


async def test_keep_markers() -> None:
    app = rails(FakeModel(GOOD), policy={"keep_markers": True})
    assert "".join(await collect(app.stream_async(messages=request()))) == GOOD


@pytest.mark.parametrize(
    "text",
    [
        'The sign says "Use".\nUser names in the U\n\nUser: reads in 1931 [S1].  ',
        '"Hours" is the title.\n\n- 52 desks [S1]\n- opened in 1931 [S1]\n',
        "  Bot message: yes.\n\tIt has 52 desks [S1].",
        '{"error": {"message": "x", "type": "guardrails_violation"}}\nIt opened in 1931 [S1].',
        "It opened in 1931 [S1]. 👩‍👩‍👧 Yes\u200c!\u00a0\u2028",
    ],
)
async def test_text_is_exact_where_nemo_would_cut_or_join(text: str) -> None:
    items = await collect(rails(FakeModel(text, size=4)).stream_async(messages=request()))
    assert "".join(items) == text.replace(" [S1]", "")


async def test_a_prompt_instead_of_messages_has_no_sources_and_fails_closed() -> None:
    model = FakeModel(GOOD)
    items = await collect(rails(model).stream_async(prompt="When did it open?"))
    assert len(items) == 1
    assert "check_failed" in items[0]
    assert "No sources came with the request" in items[0]
    assert model.calls == 0


async def test_a_model_that_gives_no_finish_reason_has_ended() -> None:
    assert await collect(rails(FakeModel(GOOD, finish=None)).stream_async(messages=request())) == GOOD_ITEMS


async def test_reasoning_is_not_shown() -> None:
    for model in (
        FakeModel(GOOD, reasoning="I think that it was 1899."),
        FakeModel("<think>I think that it was 1899.</think>\n" + GOOD),
    ):
        app = rails(model)
        assert await collect(app.stream_async(messages=request())) == GOOD_ITEMS
        assert "1899" not in repr(app.explain().llm_calls)
        message = await app.generate_async(messages=request())
        assert message["content"] == GOOD_SHOWN


async def test_usage_that_the_provider_reports_reaches_nemo() -> None:
    usage = LLMResponseChunk(usage=UsageInfo(input_tokens=11, output_tokens=22, total_tokens=33))
    app = rails(FakeModel(GOOD, extra=[usage]))
    await collect(app.stream_async(messages=request()))
    assert app.explain().llm_calls[-1].total_tokens == 33


CALL = [ToolCall(id="1", function=ToolCallFunction(name="look_up", arguments={"year": 1931}))]


@pytest.mark.parametrize(("text", "given"), [("It opened in 1931 [S1].", True), ("It opened in 1932 [S1].", False)])
async def test_tool_calls_only_after_a_clean_end(text: str, given: bool) -> None:
    app = rails(FakeModel(text, finish="tool_calls", tool_calls=CALL), yaml="passthrough: True")
    message = await app.generate_async(messages=request())
    assert bool(message.get("tool_calls")) is given
    seen: list[Any] = []
    original = app.llm.stream_async

    async def watched(*args: Any, **kwargs: Any) -> Any:
        async for chunk in original(*args, **kwargs):
            seen.append(chunk.delta_tool_calls)
            yield chunk

    app.llm.stream_async = watched
    await collect(app.stream_async(messages=request()))
    assert any(seen) is given


async def test_several_streams_of_one_app_in_a_row() -> None:
    app = rails(FakeModel(GOOD))
    for _ in range(3):
        assert await collect(app.stream_async(messages=request())) == GOOD_ITEMS


async def test_a_later_turn_with_history() -> None:
    app = rails(FakeModel(GOOD))
    first = await app.generate_async(messages=request())
    turns = [*request(), first, {"role": "user", "content": "And again?"}]
    assert await collect(app.stream_async(messages=turns)) == GOOD_ITEMS
    assert (await app.generate_async(messages=turns))["content"] == GOOD_SHOWN


async def test_with_metadata_asked_for_the_items_are_the_same() -> None:
    items = await collect(rails(FakeModel(GOOD)).stream_async(messages=request(), include_metadata=True))
    assert [i["text"] if isinstance(i, dict) else i for i in items] == GOOD_ITEMS


async def test_generate_async_with_a_handler_of_ones_own_is_gated_too() -> None:
    from nemoguardrails.streaming import StreamingHandler

    handler = StreamingHandler()
    app = rails(FakeModel("It opened in 1931 [S1]. Late fees ended in 2019 [S2]. More."))
    task = asyncio.create_task(app.generate_async(messages=request(), streaming_handler=handler))
    shown = "".join([item async for item in handler])
    await task
    assert shown.startswith("It opened in 1931.")
    assert "2019" not in shown


def test_the_synchronous_call() -> None:
    assert rails(FakeModel(GOOD)).generate(messages=request())["content"] == GOOD_SHOWN


CUT = [
    (
        "en",
        "Hours:\n\n1. Opened in 1931 [S1].\n2. It has 52 desks [S1].\n\n> Yes. **No!** [S2] It ended in 2020 [S2].  \n",
    ),
    ("en", "# Hall\n\n| a | b |\n|---|---|\n| 1931 [S1] | 52 [S1] |\n\n```\nx = 52\n```\nIt had 53 desks [S1]. More."),
    ("de", "Der Saal wurde 1931 eröffnet [S1]. Er hat z. B. 52 Tische [S1]. Gebühren endeten 2020 [S2]!"),
    ("zh", "阅览室于1931年开放[S1]。有52张桌子[S1]。“很好。”是的。"),
    ("fa", "تالار در ۱۹۳۱ باز شد [S1]. ۵۲ میز دارد [S1]. پایان."),
    ("en", "It opened in 1931 [S1]. NO_ANSWER"),
    ("en", "NO_ANSW is a word. It opened in 1931 [S1]"),
]


@pytest.mark.parametrize(("language", "text"), CUT)
async def test_chunking_never_matters(language: str, text: str) -> None:
    chance = random.Random(len(text))
    expected = check_text(text, SOURCES, language=language)
    for _ in range(4):
        cuts = sorted(chance.sample(range(1, len(text)), min(len(text) - 1, chance.randint(0, 25))))
        pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        items = await collect(rails(FakeModel(pieces)).stream_async(messages=request(language=language)))
        shown = "".join(i for i in items if not i.startswith('{"error"'))
        if expected.state == "refused" and expected.text == "":
            assert shown == expected.notice
        else:
            assert shown == expected.text
        assert items[-1].startswith('{"error"') is (expected.state == "withheld")
