"""What the server sends, byte for byte as a client without the openai SDK reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nemoguardrails")
pytest.importorskip("openai")
pytest.importorskip("fastapi")

from guardrails_plugins.cli import main

from .provider import MODEL, Provider
from .server import ANSWERS, Server, events, raw, read
from .support import GOOD_ITEMS, GOOD_SHOWN, SECRET, SOURCES

pytestmark = pytest.mark.framework


def test_the_wire_of_a_stream(server: Server) -> None:
    answer = raw(server, "word-good", stream=True)
    assert answer.headers["content-type"].startswith("text/event-stream")
    sent = events(answer)
    assert [e["choices"][0]["delta"]["content"] for e in sent if e["choices"][0]["delta"].get("content")] == GOOD_ITEMS
    assert {e["object"] for e in sent} == {"chat.completion.chunk"}


def test_the_wire_of_a_block(server: Server) -> None:
    sent = events(raw(server, "word-bad", stream=True))
    assert [e["choices"][0]["delta"]["content"] for e in sent[:-1]] == GOOD_ITEMS[:1]
    error = sent[-1]["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"].startswith("Blocked by sentence gate rails (value_unsupported). The answer stops here")
    assert (error["type"], error["param"], error["code"]) == (
        "guardrails_violation",
        "sentence gate",
        "content_blocked",
    )


def test_the_wire_of_a_whole_answer(server: Server) -> None:
    good = raw(server, "word-good", stream=False).json()
    assert good["object"] == "chat.completion"
    assert good["choices"][0]["message"]["content"] == GOOD_SHOWN
    bad = raw(server, "word-bad", stream=False)
    assert bad.status_code == 200
    assert bad.json()["choices"][0]["message"]["content"].startswith("The answer stops here")
    assert SECRET not in bad.text


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    "more",
    [
        {"options": {"rails": {"output": False}}},
        {"options": {"rails": ["input", "dialog"]}},
        {"context": {"sources": SOURCES, "skip_output_rails": True}},
        {"options": {"output_vars": True, "llm_output": True, "log": {"llm_calls": True, "internal_events": True}}},
    ],
)
def test_no_request_gets_at_blocked_text(server: Server, more: dict[str, Any], stream: bool) -> None:
    answer = raw(server, "word-bad", stream=stream, **more)
    assert answer.status_code == 200
    assert "The answer stops here" in answer.text
    assert SECRET not in answer.text


def test_a_request_without_sources(server: Server) -> None:
    asked = len(server.provider.requests)
    sent = events(raw(server, "word-good", stream=True, context={}))
    assert "check_failed" in sent[-1]["error"]["message"]
    assert "1931" not in raw(server, "word-good", stream=False, context={}).text
    assert len(server.provider.requests) == asked


@pytest.mark.parametrize("environment", [{}, {"NEMO_GUARDRAILS_IORAILS_ENGINE": "1"}])
def test_the_folder_as_init_writes_it_with_a_model_added(environment: dict[str, str], tmp_path: Path) -> None:
    """Configuration alone; also where NeMo is told to take IORails, from which it falls back."""
    folder = tmp_path / "my_config"
    assert main(["init", "nemo", str(folder)]) == 0
    with Provider(ANSWERS) as provider:
        model = f"models: [{{type: main, engine: openai, model: {MODEL}, parameters: {{base_url: '{provider.url}'}}}}]"
        settings = (folder / "config.yml").read_text()
        (folder / "config.yml").write_text(settings.replace("models: []", model))
        running = Server(folder, provider, **environment)
        try:
            running.wait()
            assert read(running.ask("word-good")) == (GOOD_ITEMS, None)
            shown, error = read(running.ask("word-bad"))
            assert shown == GOOD_ITEMS[:1]
            assert error.type == "guardrails_violation"
            whole = running.ask("word-bad", stream=False).choices[0].message.content
            assert whole.startswith("The answer stops here")
            assert ("Falling back to LLMRails" in running.log) is bool(environment)
            assert SECRET not in running.log + whole
        finally:
            running.stop()
