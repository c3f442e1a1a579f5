"""Beside other rails: input rails, other output rails, predefined messages, passthrough functions."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("nemoguardrails")

from nemoguardrails.actions.rail_outcome import RailOutcome

from .support import (
    BAD,
    GOOD,
    GOOD_ITEMS,
    GOOD_SHOWN,
    SECRET,
    DialogModel,
    FakeModel,
    collect,
    rails,
    request,
    searching,
)

pytestmark = pytest.mark.framework

INPUT = """
define subflow no hall
  if "hall" in $user_message
    bot refuse to respond
    stop
"""


async def test_an_input_rails_refusal_reaches_the_reader_unjudged() -> None:
    model = FakeModel(GOOD)
    app = rails(model, yaml="rails: {input: {flows: [no hall]}}", colang=INPUT)
    assert await collect(app.stream_async(messages=request())) == ["I'm sorry, I can't respond to that."]
    message = await app.generate_async(messages=request())
    assert message["content"] == "I'm sorry, I can't respond to that."
    assert model.calls == 0
    other = request(question="When did it open?")
    assert await collect(app.stream_async(messages=other)) == GOOD_ITEMS


RENDERED = """
define subflow no hall
  bot name the hall
  stop

define bot name the hall
  "I do not talk about {{ place }} 2019."
"""


async def test_a_predefined_message_with_a_variable() -> None:
    app = rails(FakeModel(GOOD), yaml="rails: {input: {flows: [no hall]}}", colang=RENDERED)
    messages = request(place="halls")
    assert await collect(app.stream_async(messages=messages)) == ["I do not talk about halls 2019."]
    assert (await app.generate_async(messages=messages))["content"] == "I do not talk about halls 2019."


OUTPUT = """
define subflow other
  $outcome = execute other_check(text=$bot_message)
  if $outcome.is_blocked
    bot refuse to respond
    stop
"""


def with_other(model: Any, order: str, seen: list[str], banned: str = "!") -> Any:
    async def other_check(text: str = "", **_: Any) -> RailOutcome:
        seen.append(text)
        return RailOutcome.block() if banned in text else RailOutcome.allow()

    app = rails(model, yaml=f"rails: {{output: {{flows: [{order}]}}}}", colang=OUTPUT)
    app.register_action(other_check, "other_check")
    return app


@pytest.mark.parametrize("order", ["other, sentence gate", "sentence gate, other"])
async def test_other_output_rails_see_the_same_sentences(order: str) -> None:
    seen: list[str] = []
    app = with_other(FakeModel(GOOD), order, seen)
    assert await collect(app.stream_async(messages=request())) == GOOD_ITEMS
    assert seen == [*GOOD_ITEMS, GOOD_SHOWN]  # NeMo shows every rail the whole once more
    assert not any("[S1]" in s for s in seen)


@pytest.mark.parametrize("order", ["other, sentence gate", "sentence gate, other"])
async def test_another_rails_block_ends_the_stream_and_closes_the_provider(order: str) -> None:
    model = FakeModel(GOOD + "It has 52 desks [S1]. " * 60, delay=0.002)
    app = with_other(model, order, [], banned="52")
    items = await collect(app.stream_async(messages=request()))
    assert items[0] == GOOD_ITEMS[0]
    assert json.loads(items[1])["error"]["param"] == "other"
    assert model.closed
    assert model.made < 25


REWRITES = """
define subflow rewriter
  $bot_message = execute rewrite(text=$bot_message)
"""


@pytest.mark.parametrize(
    ("order", "added", "shown"),
    [
        ("rewriter, sentence gate", " It had 99 lifts.", None),
        ("rewriter, sentence gate", " Yes.", None),  # the sentences before it have lost their markers
        ("rewriter, sentence gate", "", "It opened in 1931."),
        ("sentence gate, rewriter", " It had 99 lifts.", "It opened in 1931. It had 99 lifts."),
    ],
)
async def test_a_rail_that_rewrites(order: str, added: str, shown: str | None) -> None:
    """What it makes before ours is judged; behind ours it has the last word (docs/nemo.md says so)."""
    app = rails(FakeModel("It opened in 1931 [S1]."), yaml=f"rails: {{output: {{flows: [{order}]}}}}", colang=REWRITES)

    async def rewrite(text: str = "") -> str:
        return text + added

    app.register_action(rewrite, "rewrite")
    message = (await app.generate_async(messages=request()))["content"]
    assert message == shown if shown is not None else message.startswith("The answer stops here")


async def test_an_answer_cut_in_the_middle_of_a_figure_is_judged_anew() -> None:
    flows = "rails: {output: {flows: [rewriter, sentence gate]}}"
    for length, stands in ((len("It opened in 1"), False), (len("It opened in 1931."), True)):
        app = rails(FakeModel("It opened in 1931 [S1]. It has 52 desks [S1]."), yaml=flows, colang=REWRITES)

        async def rewrite(text: str = "", length: int = length) -> str:
            return text[:length]

        app.register_action(rewrite, "rewrite")
        message = (await app.generate_async(messages=request()))["content"]
        assert (message == "It opened in 1931.") is stands
        assert stands or message.startswith("The answer stops here")


async def test_no_other_rail_sees_blocked_text() -> None:
    seen: list[str] = []
    app = with_other(FakeModel(BAD), "other, sentence gate", seen)
    await collect(app.stream_async(messages=request()))
    await app.generate_async(messages=request())
    assert seen
    assert SECRET not in "".join(seen)


async def test_what_a_rail_with_a_model_costs() -> None:
    """docs/nemo.md: asked once a sentence, and once more on the whole text; behind ours, not for what is withheld."""
    task = "{task: self_check_output, content: 'Is this bad? {{ bot_response }}', output_parser: is_content_safe}"
    for text, shown, asked in ((GOOD, GOOD_ITEMS, 4), (BAD, GOOD_ITEMS[:1], 1)):
        judge = FakeModel("no")
        yaml = f"rails: {{output: {{flows: [sentence gate, self check output]}}}}\nprompts: [{task}]"
        app = rails(FakeModel(text), yaml=yaml)
        app.register_action_param("self_check_output_llm", judge)
        items = await collect(app.stream_async(messages=request()))
        assert items[: len(shown)] == shown
        assert len(items) == len(shown) + (text is BAD)
        assert judge.calls == asked
        said = [str(prompt) for prompt in judge.prompts]
        assert all(sentence.strip() in "\n".join(said) for sentence in shown)
        assert SECRET not in "".join(said)


async def test_an_output_rail_that_breaks_is_nemos_error() -> None:
    app = rails(FakeModel(GOOD), yaml="rails: {output: {flows: [other, sentence gate]}}", colang=OUTPUT)

    async def other_check(text: str = "", **_: Any) -> RailOutcome:
        raise ValueError("broken")

    app.register_action(other_check, "other_check")
    items = await collect(app.stream_async(messages=request()))
    assert len(items) == 1
    assert json.loads(items[0])["error"]["code"] == "rail_execution_failure"


SAYS = """
define user ask anything
  "when did it open"

define flow
  user ...
  $answer = execute look_up
  bot $answer
"""


@pytest.mark.parametrize(
    ("text", "shown", "code"),
    [(GOOD, GOOD_SHOWN, None), (BAD, "The hall opened in 1931.", "value_unsupported")],
)
async def test_text_of_an_action_is_judged_when_it_becomes_a_message(
    text: str, shown: str, code: str | None, tmp_path: Any
) -> None:
    app = searching(DialogModel("unused"), tmp_path, colang=SAYS)

    async def look_up(**_: Any) -> str:
        return text

    app.register_action(look_up, "look_up")
    items = await collect(app.stream_async(messages=request()))
    assert items[0].rstrip() == shown.rstrip()
    assert len(items) == (1 if code is None else 2)
    assert code is None or code in items[1]
    whole = (await app.generate_async(messages=request()))["content"]
    assert SECRET not in whole
    assert code is not None or whole.rstrip() == shown.rstrip()


@pytest.mark.parametrize("text", [GOOD, BAD])
async def test_a_passthrough_function(text: str) -> None:
    app = rails(FakeModel("unused"), yaml="passthrough: True")

    async def answer(context: Any, events: Any) -> tuple[str, dict[str, str]]:
        return text, {"raw": text}

    app.passthrough_fn = answer
    items = await collect(app.stream_async(messages=request()))
    message = await app.generate_async(messages=request(), options={"output_vars": True})
    if text is GOOD:
        assert "".join(items) == GOOD_SHOWN
        assert message.response[0]["content"] == GOOD_SHOWN
    else:
        assert items[0] == GOOD_ITEMS[0]
        assert json.loads(items[1])["error"]["sentence_gate"]["codes"] == ["value_unsupported"]
        assert SECRET not in repr(message)
