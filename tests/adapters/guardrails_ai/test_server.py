"""The Guardrails server (guardrails-api) with a guard of ours, through its OpenAI-compatible endpoint."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest
from guardrails import Guard

from guardrails_plugins.adapters.guardrails_ai import MetadataError, SentenceGateValidator, SentenceGuard
from tests.adapters.guardrails_ai.support import EN, INVENTED, MESSAGES, Provider, cut
from tests.conftest import require_module

pytestmark = pytest.mark.framework
EARLIER = ["The hall has 40 seats.", "\n\nMembers pay 12 euros."]
SOURCES = json.dumps([EN.source])
"""The endpoint takes OpenAI's metadata: texts only, so the list travels as JSON."""


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The server's own application in this process, its guards in memory, its model mocked by LiteLLM."""
    require_module("guardrails_api")
    litellm = require_module("litellm")
    testclient = require_module("fastapi.testclient")
    from guardrails_api.app import create_app
    from guardrails_api.clients.memory_guard_client import MemoryGuardClient

    (tmp_path / "config.py").write_text("", encoding="utf-8")
    app = create_app(None, str(tmp_path / "config.py"), 8000)
    for name in ("completion", "acompletion"):
        monkeypatch.setattr(litellm, name, functools.partial(getattr(litellm, name), mock_response=EN.text))
    for kind in ("fix", "filter", "exception"):
        guard = SentenceGuard(id=kind, name=kind).use(SentenceGateValidator(on_fail=kind))
        monkeypatch.setitem(MemoryGuardClient.guards, kind, guard)
    for name, kind in (("bare", "fix"), ("bare noop", "noop")):
        bare = Guard(id=name, name=name).use(SentenceGateValidator(on_fail=kind))
        monkeypatch.setitem(MemoryGuardClient.guards, name, bare)
    return testclient.TestClient(app, raise_server_exceptions=False)


def ask(client: Any, guard: str, *, stream: bool) -> Any:
    body = {"model": "gpt-4o-mini", "messages": MESSAGES, "stream": stream, "metadata": {"sources": SOURCES}}
    return client.post(f"/guards/{guard}/openai/v1/chat/completions", json=body)


def frames(text: str) -> list[dict[str, Any]]:
    return [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: ")]


def test_every_frame_carries_what_passed_and_nothing_else(client: Any) -> None:
    for guard in ("filter", "exception"):
        response = ask(client, guard, stream=True)
        got = [frame["choices"][0]["delta"]["content"] for frame in frames(response.text)]
        assert [text for text in got if text] == EARLIER
        assert INVENTED not in response.text
        assert "Late" not in response.text


def test_the_notice_is_sent_as_text(client: Any) -> None:
    got = frames(ask(client, "fix", stream=True).text)
    texts = [frame["choices"][0]["delta"]["content"] for frame in got]
    assert texts[:2] == EARLIER
    assert texts[2].startswith("\n\n")
    assert texts == [frame["guardrails"]["validated_output"] for frame in got]
    assert got[-1]["guardrails"]["validation_passed"] is False


def test_without_streaming_a_failing_answer_is_an_error_under_exception(client: Any) -> None:
    response = ask(client, "exception", stream=False)
    assert response.status_code == 400
    assert "value_unsupported" in response.text
    assert INVENTED not in response.text


def test_a_plain_guard_holds_the_answer_and_its_frames_carry_nothing_raw(client: Any) -> None:
    for guard, shown in (("bare", "".join(EARLIER)), ("bare noop", EN.text.replace(" [S1]", ""))):
        response = ask(client, guard, stream=True)
        assert response.status_code == 200
        got = frames(response.text)
        texts = [frame["choices"][0]["delta"]["content"] for frame in got]
        assert "".join(texts).startswith(shown)
        assert texts == [frame["guardrails"]["validated_output"] for frame in got]
        if guard == "bare":
            assert INVENTED not in "".join(texts)


def test_a_guard_that_the_server_restores_carries_nothing_raw(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a database holds is no guard but its saved form."""
    from guardrails_ai.types import Guard as Saved
    from guardrails_api.clients.memory_guard_client import MemoryGuardClient

    guard = Guard(id="saved", name="saved").use(SentenceGateValidator(on_fail="filter"))
    saved = Saved.model_validate(guard.model_dump(exclude_none=True))
    monkeypatch.setitem(MemoryGuardClient.guards, "saved", saved)
    texts = [f["choices"][0]["delta"]["content"] for f in frames(ask(client, "saved", stream=True).text)]
    assert "".join(texts) == "".join(EARLIER)


@pytest.mark.parametrize("guard", ["fix", "filter", "bare"])
def test_without_streaming_the_choices_carry_what_passed(client: Any, guard: str) -> None:
    response = ask(client, guard, stream=False)
    assert response.status_code == 200
    body = response.json()
    content = body["choices"][0]["message"]["content"]
    assert content.startswith("".join(EARLIER))
    assert content == body["guardrails"]["validated_output"]
    assert INVENTED not in content


def test_the_validate_route_judges_and_refuses_to_stream(client: Any) -> None:
    """The server makes an AsyncGuard there, which cannot tell that a stream has ended."""
    whole = client.post("/guards/filter/validate", json={"llm_output": EN.text, "metadata": EN.metadata})
    assert whole.status_code == 200
    assert whole.json()["validatedOutput"] == "".join(EARLIER)
    body = {"model": "gpt-4o-mini", "messages": MESSAGES, "metadata": EN.metadata, "stream": True}
    streamed = client.post("/guards/filter/validate", json=body)
    assert "async_sentence_stream" in streamed.text
    assert "hall" not in streamed.text


@pytest.mark.parametrize("stream", [True, False])
def test_the_validator_s_own_sources_serve(client: Any, monkeypatch: pytest.MonkeyPatch, stream: bool) -> None:
    from guardrails_api.clients.memory_guard_client import MemoryGuardClient

    own = SentenceGuard(id="own", name="own").use(SentenceGateValidator(on_fail="filter", sources=[EN.source]))
    monkeypatch.setitem(MemoryGuardClient.guards, "own", own)
    body = {"model": "gpt-4o-mini", "messages": MESSAGES, "stream": stream}
    response = client.post("/guards/own/openai/v1/chat/completions", json=body)
    if stream:
        assert "".join(f["choices"][0]["delta"]["content"] for f in frames(response.text)) == "".join(EARLIER)
    else:
        assert response.json()["choices"][0]["message"]["content"] == "".join(EARLIER)


def test_the_guard_streams_for_any_caller() -> None:
    guard = SentenceGuard().use(SentenceGateValidator(on_fail="filter"))
    provider = Provider(cut(EN.text, 6))
    outcomes = list(guard(provider, messages=MESSAGES, metadata=EN.metadata, stream=True))
    assert [o.validated_output for o in outcomes] == [*EARLIER, ""]
    assert provider.closed
    assert guard(provider, messages=MESSAGES, metadata=EN.metadata).validated_output == "".join(EARLIER)
    with pytest.raises(MetadataError):
        guard(messages=MESSAGES, metadata=EN.metadata, stream=True)
