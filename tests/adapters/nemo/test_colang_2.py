"""Colang 2: whole answers are gated by a flow of the user's; what would not hold is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nemoguardrails")

from nemoguardrails import LLMRails, RailsConfig
from nemoguardrails.actions.actions import ActionResult
from nemoguardrails.exceptions import StreamingNotSupportedError

from guardrails_plugins.adapters.nemo import NemoConfigError

from .support import BAD, CONFIG_PY, GOOD, GOOD_SHOWN, SEARCH, SECRET, SOURCES, FakeModel, everything, request

pytestmark = pytest.mark.framework

NOTICE = "The answer stops here"

MAIN = """
import core
import guardrails
import llm

flow main
  activate llm continuation
  activate greeting
"""

FROM_AN_ACTION = """
flow greeting
  user said "When did the hall open?"
  $answer = await LookUpAction()
  bot say $answer
"""

FROM_THE_MODEL = """
flow greeting
  user said "When did the hall open?"
  $answer = ..."Answer the question from the sources."
  bot say $answer
"""

GATE = """
flow output rails $output_text
  $gate = await SentenceGateAction(text=$output_text)
  if $gate.is_blocked
    $notice = $gate.metadata["notice"]
    bot say $notice
    abort
  if $gate.is_transform
    global $bot_message
    $bot_message = $gate.transform_text["bot_message"]
"""


def made(folder: Path, text: str, *, colang: str = MAIN + FROM_AN_ACTION + GATE, yaml: str = "") -> LLMRails:
    """A Colang 2 app in a folder of its own, with our config.py."""
    (folder / "config.yml").write_text(f"colang_version: '2.x'\nmodels: []\n{SEARCH}\n{yaml}")
    (folder / "main.co").write_text(colang)
    (folder / "config.py").write_text(CONFIG_PY)
    app = LLMRails(RailsConfig.from_path(str(folder)), llm=FakeModel(text))

    async def look_up() -> str:
        return text

    app.register_action(look_up, "LookUpAction")
    return app


async def said(app: LLMRails, messages: Any = None) -> str:
    message: Any = await app.generate_async(messages=messages or request())
    text: str = message["content"]
    return text


async def test_text_of_an_action(tmp_path: Path) -> None:
    assert await said(made(tmp_path, GOOD)) == GOOD_SHOWN
    blocked = await said(made(tmp_path, BAD))
    assert blocked.startswith(NOTICE)
    assert SECRET not in blocked


async def test_text_of_the_model(tmp_path: Path) -> None:
    colang = MAIN + FROM_THE_MODEL + GATE
    assert await said(made(tmp_path, f'"{GOOD.splitlines()[0]}"', colang=colang)) == GOOD_SHOWN.splitlines()[0]
    blocked = await said(made(tmp_path, f'"{BAD}"', colang=colang))
    assert blocked.startswith(NOTICE)
    assert SECRET not in blocked


async def test_what_the_model_says_when_no_flow_matches(tmp_path: Path) -> None:
    line = 'user intent: user asked\nbot intent: bot answer\nbot action: bot say "{}"'
    app = made(tmp_path, line.replace("{}", BAD))
    blocked = await said(app, request(question="Something else?"))
    assert NOTICE in blocked
    assert SECRET not in blocked


async def test_the_prompt_setting_adds_nothing(tmp_path: Path) -> None:
    yaml = "custom_data: {sentence_gate: {prompt: True}}"
    app = made(tmp_path, f'"{GOOD.splitlines()[0]}"', colang=MAIN + FROM_THE_MODEL + GATE, yaml=yaml)
    assert await said(app) == GOOD_SHOWN.splitlines()[0]
    prompts = app.llm.inner.prompts
    assert prompts
    assert SOURCES[1] not in str(prompts)


async def test_relevant_chunks_of_the_context(tmp_path: Path) -> None:
    messages = request(None, relevant_chunks="\n".join(SOURCES), relevant_chunks_sep=SOURCES)
    assert await said(made(tmp_path, GOOD), messages) == GOOD_SHOWN


async def test_a_retrieval_action_of_ones_own(tmp_path: Path) -> None:
    colang = FROM_AN_ACTION.replace("  $answer", "  await FindAction()\n  $answer")
    for found, begins in ((SOURCES, "The hall opened in 1931. It"), (["It has 52 desks."], NOTICE)):
        app = made(tmp_path, GOOD, colang=MAIN + colang + GATE)

        async def find(found: list[str] = found) -> ActionResult:
            updates = {"relevant_chunks": "\n".join(found), "relevant_chunks_sep": found}
            return ActionResult(return_value=True, context_updates=updates)

        app.register_action(find, "FindAction")
        shown = await said(app, [{"role": "user", "content": "When did the hall open?"}])
        assert shown.startswith(begins)


async def test_sources_of_an_earlier_event_of_the_conversation(tmp_path: Path) -> None:
    app = made(tmp_path, GOOD)
    sources = [{"type": "ContextUpdate", "data": {"sources": SOURCES}}]
    question = [{"type": "UtteranceUserActionFinished", "final_transcript": "When did the hall open?"}]
    _, state = await app.process_events_async(sources, blocking=True)
    out, _ = await app.process_events_async(question, state=state, blocking=True)
    assert [e["script"] for e in out if e["type"] == "StartUtteranceBotAction"] == [GOOD_SHOWN]
    other, _ = await app.process_events_async(question, blocking=True)
    assert "1931" not in str([e["script"] for e in other if e["type"] == "StartUtteranceBotAction"])


async def test_without_sources(tmp_path: Path) -> None:
    shown = await said(made(tmp_path, GOOD), request(None))
    assert "1931" not in shown
    assert shown


async def test_the_events_interface(tmp_path: Path) -> None:
    """`process_events_async`, by which `nemoguardrails chat` talks to Colang 2."""
    for text, begins in ((GOOD, "The hall opened in 1931. It"), (BAD, NOTICE)):
        app = made(tmp_path, text)
        events = [
            {"type": "ContextUpdate", "data": {"sources": SOURCES}},
            {"type": "UtteranceUserActionFinished", "final_transcript": "When did the hall open?"},
        ]
        out, _ = await app.process_events_async(events, blocking=True)
        scripts = [e["script"] for e in out if e["type"] == "StartUtteranceBotAction"]
        assert scripts
        assert scripts[0].startswith(begins)
        assert SECRET not in everything(scripts)


def test_streams_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StreamingNotSupportedError, match="Colang 2"):
        made(tmp_path, GOOD).stream_async(messages=request())


@pytest.mark.parametrize(
    "colang",
    [
        MAIN + FROM_AN_ACTION,
        MAIN + FROM_AN_ACTION + GATE.replace("flow output rails $output_text", "flow my rails $output_text"),
        MAIN.replace("import guardrails\n", "") + FROM_AN_ACTION + GATE,
    ],
)
def test_our_adapter_without_a_flow_that_runs_it_is_an_error(colang: str, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError) as caught:
        made(tmp_path, GOOD, colang=colang)
    assert isinstance(caught.value.__cause__, NemoConfigError)
    assert "await SentenceGateAction(text=$output_text)" in str(caught.value.__cause__)


async def test_the_flow_may_call_it_by_another_flow(tmp_path: Path) -> None:
    other = GATE.replace("flow output rails $output_text", "flow sentence gate $output_text")
    colang = f"{MAIN}{FROM_AN_ACTION}{other}\nflow output rails $output_text\n  sentence gate $output_text\n"
    assert (await said(made(tmp_path, BAD, colang=colang))).startswith(NOTICE)


def test_content_capture_would_record_unjudged_text_and_is_refused(tmp_path: Path) -> None:
    yaml = "tracing: {enabled: True, enable_content_capture: True, adapters: [{name: FileSystem, filepath: %s}]}"
    with pytest.raises(RuntimeError) as caught:
        made(tmp_path, GOOD, yaml=yaml % (tmp_path / "traces.jsonl"))
    assert "tracing.enable_content_capture" in str(caught.value.__cause__)


def test_wrong_settings_are_refused_here_too(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError) as caught:
        made(tmp_path, GOOD, yaml="custom_data: {sentence_gate: {languages: en}}")
    assert "language" in str(caught.value.__cause__)
