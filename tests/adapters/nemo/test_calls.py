"""A request cannot switch the gate off: not by options, not by context variables, not by events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nemoguardrails")

from nemoguardrails.rails.llm.options import GenerationOptions

from guardrails_plugins.adapters.nemo.calls import gated_events, gated_messages, gated_options

from .support import BAD, GOOD_ITEMS, SECRET, SOURCES, DialogModel, FakeModel, collect, rails, request, searching
from .test_rails import SAYS, with_other

pytestmark = pytest.mark.framework

OFF: list[Any] = [
    {"rails": {"output": False}},
    {"rails": {"output": []}},
    {"rails": {"output": ["other"]}},
    {"rails": ["input", "dialog"]},
    GenerationOptions(rails={"output": False}),  # type: ignore[arg-type]
]

NOTICE = "The answer stops here"


def by_model(_: Path) -> Any:
    return rails(FakeModel(BAD))


def by_action(folder: Path) -> Any:
    app = searching(DialogModel("unused"), folder, colang=SAYS)

    async def look_up(**_: Any) -> str:
        return BAD

    app.register_action(look_up, "look_up")
    return app


def by_passthrough(_: Path) -> Any:
    app = rails(FakeModel(BAD), yaml="passthrough: True")

    async def answer(context: Any, events: Any) -> tuple[str, dict[str, str]]:
        return BAD, {}

    app.passthrough_fn = answer
    return app


@pytest.mark.parametrize("made", [by_model, by_action, by_passthrough])
@pytest.mark.parametrize("options", OFF)
async def test_options(options: Any, made: Any, tmp_path: Path) -> None:
    app = made(tmp_path)
    items = await collect(app.stream_async(messages=request(), options=options))
    assert items[0] == GOOD_ITEMS[0]
    assert "value_unsupported" in items[1]
    assert len(items) == 2
    response = (await app.generate_async(messages=request(), options=options)).response
    assert response[0]["content"].startswith(NOTICE)
    assert SECRET not in repr((items, response))


@pytest.mark.parametrize(
    "variables",
    [
        {"skip_output_rails": True},
        {"generation_options": {"rails": {"output": False, "input": True, "dialog": True, "retrieval": True}}},
    ],
)
@pytest.mark.parametrize("way", ["context", "event", "events"])
async def test_context_variables(variables: dict[str, Any], way: str, tmp_path: Path) -> None:
    app = by_action(tmp_path)
    if way == "events":
        events = [
            {"type": "ContextUpdate", "data": {"sources": SOURCES, **variables}},
            {"type": "UtteranceUserActionFinished", "final_transcript": "When did it open?"},
        ]
        new = await app.generate_events_async(events)
        said = [e["script"] for e in new if e["type"] == "StartUtteranceBotAction"]
        assert len(said) == 1
        assert said[0].startswith(NOTICE)
        assert "skip_output_rails" in events[0]["data"] or "generation_options" in events[0]["data"]
        return
    messages = request(**variables) if way == "context" else request()
    if way == "event":
        messages.insert(1, {"role": "event", "event": {"type": "ContextUpdate", "data": variables}})
    items = await collect(app.stream_async(messages=messages))
    message = await app.generate_async(messages=messages)
    assert message["content"].startswith(NOTICE)
    assert SECRET not in "".join(items) + message["content"]


@pytest.mark.parametrize("output", [True, False, ["sentence gate"]])
async def test_other_output_rails_run_whenever_ours_does(output: Any) -> None:
    seen: list[str] = []
    app = with_other(FakeModel("It opened in 1931 [S1]."), "other, sentence gate", seen)
    response = await app.generate_async(messages=request(), options={"rails": {"output": output}})
    assert seen == ["It opened in 1931."]
    assert response.response[0]["content"] == "It opened in 1931."


def test_what_stays_as_it_is() -> None:
    assert gated_options(None) is None
    for options in ({"log": {}}, {"rails": {"output": ["sentence gate"]}}, {"rails": {"dialog": False}}, "wrong"):
        assert gated_options(options) is options
    messages = [{"role": "context", "content": {"sources": []}}, {"role": "user", "content": "skip_output_rails"}]
    assert gated_messages(messages) == messages
    assert gated_messages(None) is None
    given = {"role": "context", "content": {"skip_output_rails": True, "sources": []}}
    assert gated_messages([given]) == messages[:1]
    assert given["content"]["skip_output_rails"] is True
    assert gated_events(None) is None


async def test_check_async_of_input_rails_runs_no_output_rail() -> None:
    from nemoguardrails.rails.llm.options import RailStatus, RailType

    app = rails(
        FakeModel(""), yaml="rails: {input: {flows: [no hall]}}", colang="define subflow no hall\n  $seen = 1\n"
    )
    asked: list[dict[str, Any]] = request()
    result = await app.check_async(asked, rail_types=[RailType.INPUT])
    assert result.status is RailStatus.PASSED


async def test_a_session_that_is_missing_blocks() -> None:
    """NeMo's own loop, called around the gated methods, shows nothing."""
    app = rails(FakeModel(""))

    async def pieces() -> AsyncIterator[str]:
        yield "It opened in 1931."

    streaming = app.config.rails.output.streaming
    items = await collect(app._run_output_rails_in_streaming(pieces(), streaming, messages=request()))
    assert len(items) == 1
    assert "content_blocked" in items[0]


async def test_an_action_that_breaks_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    from guardrails_plugins.adapters.nemo import session

    def broken(*_: Any) -> Any:
        raise RuntimeError(SECRET)

    app = rails(FakeModel("It opened in 1931 [S1]."))
    monkeypatch.setattr(session.Session, "arrived", broken)
    items = await collect(app.stream_async(messages=request()))
    assert len(items) == 1
    assert "content_blocked" in items[0]
    assert SECRET not in items[0]
    monkeypatch.setattr(session.Session, "recall", broken)
    whole = (await app.generate_async(messages=request()))["content"]
    assert "1931" not in whole
    assert SECRET not in whole


@pytest.mark.parametrize("how", ["stream", "whole"])
async def test_a_built_in_check_that_breaks_blocks(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from guardrails_plugins.core import judge

    app = rails(FakeModel("It opened in 1931 [S1]."))

    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError(SECRET)

    monkeypatch.setattr(judge.Judge, "violations", broken)
    if how == "stream":
        shown = "".join(await collect(app.stream_async(messages=request())))
        assert "check_failed" in shown
    else:
        shown = (await app.generate_async(messages=request()))["content"]
    assert "1931" not in shown
    assert SECRET not in shown
