"""Limits, keys, origins, and what the server says of itself: a clear error for each wrong request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from guardrails_plugins.server.app import create_app
from guardrails_plugins.server.providers import OpenAI
from tests.server.fake_provider import FakeProvider, Finish, Wait, pieces, running, until
from tests.server.support import BAD, GOOD, QUESTION, SECRET, ask, events, service


@pytest.fixture
def url(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    with running(create_app(service(tmp_path, **getattr(request, "param", {})))) as address:
        yield address


def post(url: str, content: bytes, **headers: str) -> httpx.Response:
    given = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return httpx.post(f"{url}/v1/answers", content=content, headers=given, timeout=20, trust_env=False)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_body_that_any_page_could_send_is_refused(url: str, kind: str) -> None:
    refused = post(url, b'{"question": "x"}', content_type=kind)
    assert refused.status_code == 415
    assert refused.json()["error"]["code"] == "not_json"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_an_answer_is_asked_for_with_post(url: str, method: str) -> None:
    refused = httpx.request(method, f"{url}/v1/answers", trust_env=False)
    assert refused.status_code == 405
    assert refused.headers["allow"] == "POST"


WRONG: list[tuple[bytes, int, str, str]] = [
    (b"", 400, "bad_json", "JSON"),
    (b"\xff\xfe", 400, "bad_json", "UTF-8"),
    (b"[" * 100_000, 400, "bad_json", "JSON"),
    (b"[]", 400, "bad_json", "'question'"),
    (b"{}", 400, "no_question", "'question'"),
    (b'{"question": 3}', 400, "no_question", "'question'"),
    (b'{"question": " "}', 400, "no_question", "not empty"),
    (b'{"question": "a", "lang": "en"}', 400, "unknown_key", "known: question, language, history"),
    (b'{"question": "a", "language": "tlh"}', 400, "unknown_language", "en"),
    (b'{"question": "a", "language": 3}', 400, "unknown_language", "en"),
    (b'{"question": "a", "history": "x"}', 400, "bad_history", "list of turns"),
    (b'{"question": "a", "history": [{"role": "system", "content": "x"}]}', 400, "bad_history", "user or assistant"),
    (b'{"question": "a", "history": [3]}', 400, "bad_history", "user or assistant"),
    (json.dumps({"question": "a" * 3000}).encode(), 413, "question_too_long", "at most 2000"),
    (json.dumps({"question": "a", "history": [{"role": "user", "content": "x"}] * 30}).encode(), 413, "history_too_long", "at most 20"),
    (json.dumps({"question": "a", "history": [{"role": "user", "content": "x" * 50_000}]}).encode(), 413, "history_too_long", "characters"),
    (json.dumps({"question": "a" * 300_000}).encode(), 413, "body_too_large", "256000 bytes"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "status", "code", "says"), WRONG, ids=range(len(WRONG)))
def test_each_wrong_request_is_told_what_would_be_right(
    url: str, body: bytes, status: int, code: str, says: str
) -> None:
    reply = post(url, body)
    error = reply.json()["error"]
    assert (reply.status_code, error["code"]) == (status, code)
    assert says in error["message"]


def test_lone_surrogates_in_a_question_break_nothing(url: str) -> None:
    reply = post(url, b'{"question": "What does a day ticket \\ud800 for the harbour museum cost?"}')
    assert events(reply.text)[-1][1]["state"] == "completed"


@pytest.mark.parametrize("url", [{"bearer_key": "s3cret"}], indirect=True)
def test_a_key_is_asked_for_where_one_is_set(url: str) -> None:
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "s3cret"}):
        reply = ask(url, headers=headers)
        assert (reply.status_code, reply.json()["error"]["code"]) == (401, "unauthorised")
        assert httpx.get(f"{url}/metrics", headers=headers, trust_env=False).status_code == 401
    assert ask(url, headers={"authorization": "Bearer s3cret"}).status_code == 200
    assert httpx.get(f"{url}/healthz", trust_env=False).status_code == 200


def test_no_other_origin_may_read_unless_named(url: str) -> None:
    assert "access-control-allow-origin" not in ask(url, headers={"origin": "https://evil.example"}).headers


@pytest.mark.parametrize("url", [{"cors_origins": ("https://good.example",)}], indirect=True)
def test_a_named_origin_may_read_and_no_other(url: str) -> None:
    good = ask(url, headers={"origin": "https://good.example"})
    assert good.headers["access-control-allow-origin"] == "https://good.example"
    assert "access-control-allow-origin" not in ask(url, headers={"origin": "https://evil.example"}).headers


def test_more_streams_than_allowed_are_refused_before_the_model(tmp_path: Path) -> None:
    fake = FakeProvider([*pieces(GOOD), Wait(), Finish()])
    with running(fake.app) as upstream:
        made = service(tmp_path, OpenAI("f", base_url=f"{upstream}/v1", api_key="none"), max_streams=1)
        with running(create_app(made)) as url:
            body = {"question": QUESTION}
            with httpx.stream("POST", f"{url}/v1/answers", json=body, timeout=20, trust_env=False) as reply:
                lines = reply.iter_lines()  # kept: a dropped iterator closes the connection
                next(lines)
                second = ask(url)
            assert (second.status_code, second.json()["error"]["code"]) == (503, "too_many_streams")
            assert until(lambda: b"sentence_gate_open_streams 0.0" in made.metrics.text())
            fake.script = [*pieces(GOOD), Finish()]
            assert ask(url).status_code == 200


def test_metrics_count_and_carry_no_text(tmp_path: Path) -> None:
    fake = FakeProvider([*pieces(BAD), Finish()])
    with running(fake.app) as upstream:
        made = service(tmp_path, OpenAI("f", base_url=f"{upstream}/v1", api_key="none"))
        with running(create_app(made)) as url:
            ask(url)
            ask(url, "quantum chromodynamics")
            text = httpx.get(f"{url}/metrics", trust_env=False).text
    for line in (
        "sentence_gate_sentences_total 1.0",
        'sentence_gate_stops_total{code="value_unsupported"} 1.0',
        'sentence_gate_answers_total{state="withheld"} 1.0',
        'sentence_gate_answers_total{state="refused"} 1.0',
        'sentence_gate_provider_closings_total{cause="withheld"} 1.0',
        "sentence_gate_hold_seconds_count 1.0",
        "sentence_gate_first_sentence_seconds_count 1.0",
        "sentence_gate_open_streams 0.0",
    ):
        assert line in text
    assert 'sentence_gate_tokens_total{direction="output",source="estimated"}' in text
    assert SECRET not in text
    assert "ticket" not in text


def test_spans_carry_codes_and_counts_but_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_SDK_DISABLED", raising=False)
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", lambda name: provider.get_tracer(name))
    fake = FakeProvider([*pieces(BAD), Finish()])
    with running(fake.app) as upstream:
        made = service(tmp_path, OpenAI("f", base_url=f"{upstream}/v1", api_key="none"))
        with running(create_app(made)) as url:
            ask(url)
            assert until(lambda: bool(exporter.get_finished_spans()))
    spans = [s for s in exporter.get_finished_spans() if s.name == "sentence_gate.answer"]
    names = [event.name for event in spans[0].events]
    assert names == ["sentence", "guard"]
    written = repr([dict(s.attributes or {}) for s in spans] + [dict(e.attributes or {}) for e in spans[0].events])
    assert "value_unsupported" in written
    assert SECRET not in written
    assert "ticket" not in written


def test_health_and_the_description_of_the_interface(url: str) -> None:
    health = httpx.get(f"{url}/healthz", trust_env=False).json()
    assert health["status"] == "ok"
    assert health["passages"] >= 2
    api: dict[str, Any] = httpx.get(f"{url}/openapi.json", trust_env=False).json()
    operation = api["paths"]["/v1/answers"]["post"]
    assert "text/event-stream" in operation["responses"]["200"]["content"]
    assert operation["requestBody"]["content"]["application/json"]["schema"]["required"] == ["question"]
    for name in ("sources", "sentence", "guard", "error", "done"):
        assert f"`{name}`" in operation["description"]


def test_the_page_and_its_modules_are_served(url: str) -> None:
    page = httpx.get(f"{url}/", trust_env=False)
    assert page.headers["content-type"].startswith("text/html")
    for name in ("app.js", "sse.js", "render.js", "texts.js", "style.css"):
        assert httpx.get(f"{url}/{name}", trust_env=False).status_code == 200
    assert "http://" not in page.text.replace("http://www.w3.org", "")
    assert "https://" not in page.text
