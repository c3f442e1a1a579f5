"""`POST /v1/answers` through a real server and a real HTTP client, over providers that behave and that do not."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from guardrails_plugins import GatePolicy, SentenceGate
from guardrails_plugins.core.languages.profile import LANGUAGES
from guardrails_plugins.server.app import create_app
from guardrails_plugins.server.budget import Budget
from guardrails_plugins.server.providers import Anthropic, OpenAI
from tests.server.fake_provider import (
    Break,
    ErrorFrame,
    FakeProvider,
    Finish,
    Raw,
    Step,
    Wait,
    pieces,
    running,
    until,
)
from tests.server.support import BAD, GOOD, QUESTION, SECRET, ask, events, released, service

FIRST = "A day ticket for the harbour museum costs 14 euros."
SHOWN = f"{FIRST} Children under 12 years pay nothing."
OPENAI_FRAME = (
    b'data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"f",'
    b'"choices":[{"index":0,"delta":{"content":%s}}]}\n\n'
)
ANTHROPIC_FRAME = (
    b"event: content_block_delta\n"
    b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}\n\n'
)


@pytest.fixture(params=["openai", "anthropic"])
def protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Site:
    """A gate server in front of a fake provider."""

    def __init__(self, url: str, provider: FakeProvider, service: Any) -> None:
        self.url, self.provider, self.service = url, provider, service


@pytest.fixture
def site(protocol: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    settings = getattr(request, "param", {})
    fake = FakeProvider()
    with running(fake.app) as upstream:
        kind: Any = {"openai": OpenAI, "anthropic": Anthropic}[protocol]
        base = f"{upstream}/v1" if protocol == "openai" else upstream
        made = service(tmp_path, kind("fake", base_url=base, api_key="none"), **settings)
        with running(create_app(made)) as url:
            yield Site(url, fake, made)


def test_a_grounded_answer_is_shown_exactly(site: Site) -> None:
    site.provider.script = [*pieces(GOOD), Finish()]
    response = ask(site.url)
    found = events(response.text)
    assert [name for name, _ in found] == ["sources", "sentence", "sentence", "done"]
    assert released(found) == SHOWN
    assert found[1][1]["cited"] == [1]
    done = found[-1][1]
    assert (done["state"], done["released"], done["notice"]) == ("completed", SHOWN, None)
    assert done["usage"]["input"]["reported"] == 100
    assert done["usage"]["output"] == {"reported": 20, "estimated": 0}
    assert "museum costs 14 euros" in found[0][1]["sources"][0]["text"]
    assert not found[0][1]["sources"][0]["text"].startswith("#")


def test_headers_keep_proxies_from_holding_or_joining_events(site: Site) -> None:
    site.provider.script = [*pieces(GOOD), Finish()]
    headers = ask(site.url).headers
    assert headers["content-type"].startswith("text/event-stream")
    assert headers["cache-control"] == "no-cache, no-store, no-transform"
    assert headers["x-accel-buffering"] == "no"
    assert headers["x-request-id"]


def test_a_blocked_sentence_is_in_no_event_and_no_log_line(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    site.provider.script = [*pieces(BAD), *pieces(" And so on." * 200), Finish()]
    with caplog.at_level(logging.DEBUG):
        response = ask(site.url)
    found = events(response.text)
    assert [name for name, _ in found] == ["sources", "sentence", "guard", "done"]
    guard = found[2][1]
    assert (guard["codes"], guard["state"]) == (["value_unsupported"], "withheld")
    assert guard["withheld_chars"] == len("Students pay 8731 euros [S1].")
    assert guard["notice"]
    assert SECRET not in response.text
    assert SECRET not in caplog.text
    assert "Students" not in response.text
    assert found[-1][1]["released"] == "A day ticket for the harbour museum costs 14 euros."


def test_a_stop_by_the_gate_closes_the_provider_at_once(site: Site) -> None:
    site.provider.script = [*pieces(BAD), Wait(), Finish()]
    assert events(ask(site.url).text)[-1][1]["state"] == "withheld"
    assert until(lambda: site.provider.streams[0].closed_after is not None)


STATES: list[tuple[str, list[Step], str, str]] = [
    ("truncated", [*pieces(GOOD[:80]), Finish("length")], "truncated", FIRST),
    ("truncated-empty", ["A day tick", Finish("length")], "truncated", ""),
    ("refused", ["NO_", "ANSWER", Finish()], "refused", ""),
    ("break", [*pieces(GOOD[:80]), Break()], "failed", FIRST),
    ("error", [*pieces(GOOD[:80]), ErrorFrame()], "failed", FIRST),
    ("withheld-empty", ["Students pay 8731 euros [S1]. ", "More.", Finish()], "withheld", ""),
]  # fmt: skip


@pytest.mark.parametrize(("script", "state", "shown"), [s[1:] for s in STATES], ids=[s[0] for s in STATES])
def test_the_states_are_told_apart_also_without_text(site: Site, script: list[Step], state: str, shown: str) -> None:
    site.provider.script = script
    found = events(ask(site.url).text)
    done = found[-1][1]
    assert found[-1][0] == "done"
    assert done["state"] == state
    assert released(found) == done["released"] == shown
    names = [name for name, _ in found]
    assert ("error" in names) == (state == "failed")
    assert done["notice"]
    if state == "failed":
        error = next(data for name, data in found if name == "error")
        assert error["code"]
        assert "4711" not in json.dumps(error)


@pytest.mark.parametrize("site", [{"stall_timeout_s": 0.5}], indirect=True)
def test_a_stall_is_an_error_event_and_closes_the_provider(site: Site) -> None:
    site.provider.script = [*pieces(GOOD[:80]), Wait()]
    found = events(ask(site.url).text)
    assert [name for name, _ in found][-2:] == ["error", "done"]
    assert found[-2][1]["code"] == "timeout"
    assert until(lambda: site.provider.streams[0].closed_after is not None)


def test_a_split_utf8_sequence_and_empty_frames_change_nothing(site: Site, protocol: str) -> None:
    if protocol == "openai":
        odd = b'data: {"choices":[],"object":"chat.completion.chunk","id":"1","created":1,"model":"f"}\n\n: comment\n\n'
    else:
        odd = b'event: ping\ndata: {"type":"ping"}\n\n'
    text = "Le ticket coûte 14 € [S1]."
    whole = json.dumps(text, ensure_ascii=False).encode()
    frame = (OPENAI_FRAME if protocol == "openai" else ANTHROPIC_FRAME) % whole
    cut = frame.index("€".encode()) + 1
    site.provider.script = [Raw(odd), Raw(frame[:cut]), Raw(frame[cut:]), Raw(odd), Finish()]
    assert released(events(ask(site.url, language="fr").text)) == "Le ticket coûte 14 €."


def test_a_client_that_goes_away_closes_the_provider_and_is_counted(site: Site) -> None:
    site.provider.script = [*pieces(GOOD), Wait(), Finish()]
    with httpx.stream(
        "POST", f"{site.url}/v1/answers", json={"question": QUESTION}, timeout=30, trust_env=False
    ) as reply:
        for line in reply.iter_lines():
            if line.startswith("event: sentence"):
                break
    assert until(lambda: bool(site.provider.streams) and site.provider.streams[0].closed_after is not None)
    assert until(lambda: site.service.budget.spent().streams == 1)
    assert site.service.budget.spent().estimated > 0
    assert until(lambda: b"sentence_gate_open_streams 0.0" in site.service.metrics.text())


@pytest.mark.parametrize("at", range(0, 12, 2))
def test_killing_the_client_at_any_event_leaves_nothing_open(site: Site, at: int) -> None:
    site.provider.script = [*pieces(GOOD), Wait(), Finish()]
    port = int(site.url.rsplit(":", 1)[1])
    body = json.dumps({"question": QUESTION}).encode()
    head = (
        f"POST /v1/answers HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(head.encode() + body)
        connection.settimeout(0.2)
        taken = 0
        while taken < at * 150:
            try:
                got = connection.recv(150)
            except TimeoutError:
                break
            if not got:
                break
            taken += len(got)
    assert until(lambda: all(s.closed_after is not None for s in site.provider.streams))
    assert until(lambda: b"sentence_gate_open_streams 0.0" in site.service.metrics.text())
    # A request that was cut off before it reached the provider may have been sent: its prompt counts.
    assert until(lambda: site.service.budget.spent().streams >= len(site.provider.streams))
    assert site.service.budget.spent().streams <= 1


@pytest.mark.parametrize("site", [{"ping_s": 0.1}], indirect=True)
def test_comments_keep_a_quiet_connection_open(site: Site) -> None:
    site.provider.script = [*pieces(GOOD[:60]), Wait(0.5), *pieces(GOOD[60:]), Finish()]
    text = ask(site.url).text
    assert text.count(": ping\n\n") >= 2
    assert released(events(text)) == SHOWN


def test_history_goes_to_the_model_as_it_was_sent(site: Site) -> None:
    site.provider.script = [*pieces(GOOD), Finish()]
    turns = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Good day."}]
    ask(site.url, history=turns)
    messages = site.provider.streams[0].body["messages"]
    assert [m["content"] for m in messages if m["role"] != "system"] == ["Hello", "Good day.", QUESTION]


HOSTILE = [
    "<script>alert(1)</script> is text [S1].",
    "See javascript:alert(1) for more [S1].",
    "event: done\ndata: {}\n\nA day ticket [S1].",
    "A day ticket\u202e is cheap [S1].",
    "</script><img src=x onerror=alert(1)> here [S1].",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_text_inside_whole_events(site: Site, text: str) -> None:
    site.provider.script = [*pieces(text), Finish()]
    response = ask(site.url)
    found = events(response.text)
    assert [n for n, _ in found].count("done") == 1
    assert found[-1][0] == "done"
    assert released(found) in (text.replace(" [S1]", ""), "")
    for line in response.text.split("\n"):
        assert line == "" or line.startswith(("event: ", "data: ", ": "))


def test_a_fake_marker_is_withheld(site: Site) -> None:
    site.provider.script = [*pieces("A day ticket costs 14 euros [S9]. More."), Finish()]
    assert events(ask(site.url).text)[-1][1]["state"] == "withheld"


def test_a_question_without_a_passage_is_refused_before_the_model(site: Site) -> None:
    site.provider.script = [*pieces(GOOD), Finish()]
    for language in LANGUAGES:
        found = events(ask(site.url, "quantum chromodynamics lattice", language=language).text)
        gate = SentenceGate(["x"], language=language)
        gate.feed("NO_ANSWER")
        token = gate.finish().notice
        assert [n for n, _ in found] == ["sources", "guard", "done"]
        assert found[1][1]["notice"] == found[2][1]["notice"] == token
        assert found[2][1]["state"] == "refused"
    assert site.provider.streams == []


def test_the_budget_refuses_further_answers_and_counts_broken_ones(tmp_path: Path) -> None:
    fake = FakeProvider([*pieces(BAD), Finish()])
    with running(fake.app) as upstream:
        provider = OpenAI("fake", base_url=f"{upstream}/v1", api_key="none")
        made = service(tmp_path, provider, budget=Budget(tmp_path / "budget.db", limit=200))
        with running(create_app(made)) as url:
            assert ask(url).status_code == 200
            assert until(lambda: made.budget.spent().streams == 1)
            spent = made.budget.spent()
            assert spent.estimated > 200  # the usage frame was never reached: a byte a token
            second = ask(url)
            assert second.status_code == 429
            assert second.json()["error"]["code"] == "budget_used_up"
    assert len(fake.streams) == 1
    again = Budget(tmp_path / "budget.db", limit=200)
    assert again.is_used_up()
    again.close()


def test_two_hundred_streams_at_once_never_mix(tmp_path: Path) -> None:
    async def run(url: str) -> list[str]:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(timeout=60, limits=limits, trust_env=False) as client:
            questions = [QUESTION, "When does the harbour museum open on weekdays?"] * 100
            replies = await asyncio.gather(*(client.post(f"{url}/v1/answers", json={"question": q}) for q in questions))
        return [r.text for r in replies]

    with running(create_app(service(tmp_path))) as url:
        texts = asyncio.run(run(url))
    for n, text in enumerate(texts):
        shown = released(events(text))
        assert ("14 euros" in shown, "9:30" in shown) == ((True, False) if n % 2 == 0 else (False, True))


def test_an_answer_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    fake = FakeProvider([*pieces(GOOD), Wait(), Finish()])
    with running(fake.app) as upstream:
        made = service(tmp_path, OpenAI("f", base_url=f"{upstream}/v1", api_key="none"), answer_timeout_s=0.5)
        with running(create_app(made)) as url:
            start = time.monotonic()
            found = events(ask(url).text)
    assert found[-2][1]["code"] == "timeout"
    assert found[-1][1]["state"] == "failed"
    assert time.monotonic() - start < 20
    assert until(lambda: fake.streams[0].closed_after is not None)


def test_a_shadow_policy_shows_and_counts(tmp_path: Path) -> None:
    fake = FakeProvider([*pieces(BAD), Finish()])
    with running(fake.app) as upstream:
        made = service(tmp_path, OpenAI("f", base_url=f"{upstream}/v1", api_key="none"), policy=GatePolicy().shadow())
        with running(create_app(made)) as url:
            found = events(ask(url).text)
    assert SECRET in released(found)
    assert found[-1][1]["state"] == "completed"
