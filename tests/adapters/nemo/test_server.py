"""`nemoguardrails server --config`, through HTTP and the openai SDK, against a provider on this machine."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

pytest.importorskip("nemoguardrails")
pytest.importorskip("openai")
pytest.importorskip("fastapi")

import openai

from .provider import MODEL
from .server import Server, read, texts
from .support import GOOD_ITEMS, GOOD_SHOWN, SECRET, SOURCES

pytestmark = pytest.mark.framework


def test_a_stream(server: Server) -> None:
    assert list(texts(server.ask("word-good"))) == GOOD_ITEMS
    sent = server.provider.requests[-1]["body"]["messages"]
    assert SOURCES[1] in str(sent)


def test_a_block_is_an_api_error_after_the_sentences_that_passed(server: Server) -> None:
    shown, error = read(server.ask("word-bad"))
    assert shown == GOOD_ITEMS[:1]
    assert error is not None
    assert error.type == "guardrails_violation"
    assert error.param == "sentence gate"
    assert error.code == "content_blocked"
    assert "value_unsupported" in error.message
    assert "The answer stops here" in error.message
    deadline = time.monotonic() + 10
    while not server.provider.requests[-1]["gone"] and time.monotonic() < deadline:
        time.sleep(0.02)
    assert server.provider.requests[-1]["gone"]
    assert server.provider.requests[-1]["pieces"] < 20


def test_not_streaming(server: Server) -> None:
    done = server.ask("word-good", stream=False)
    assert done.choices[0].message.content == GOOD_SHOWN
    blocked = server.ask("word-bad", stream=False, options={"log": {"activated_rails": True}})
    assert blocked.choices[0].message.content.startswith("The answer stops here")
    log = str(blocked.model_extra["guardrails"])
    assert "value_unsupported" in log
    assert SECRET not in log


def test_refusal_and_truncation(server: Server) -> None:
    refused = list(texts(server.ask("word-refuse")))
    assert len(refused) == 1
    assert "NO_ANSWER" not in refused[0]
    cut = list(texts(server.ask("word-cut")))
    assert cut[0] == "It opened in 1931."
    assert cut[1].startswith("\n\n")


def test_a_providers_error_keeps_its_status(server: Server) -> None:
    with pytest.raises(openai.RateLimitError):
        server.ask("word-busy")


def test_a_providers_stream_that_breaks_off_drops_the_fragment(server: Server) -> None:
    shown = list(texts(server.ask("word-break")))
    assert shown[0] == GOOD_ITEMS[0]
    assert "desks" not in shown[0] + shown[1]
    assert shown[1].startswith("\n\n")


@pytest.mark.parametrize("word", ["word-slow", "word-stall"])
def test_a_client_that_goes_away(server: Server, word: str) -> None:
    stream = server.ask(word)
    assert next(texts(stream)) == GOOD_ITEMS[0]
    stream.close()
    note = server.provider.requests[-1]
    for _ in range(40):
        time.sleep(0.05)
        if note["gone"]:
            break
    assert note["gone"]
    assert note["pieces"] < 60


def test_a_thread_keeps_only_what_was_shown(server: Server) -> None:
    thread = "thread-of-the-test-0001"
    server.ask("word-bad", stream=False, thread_id=thread)
    server.ask("word-good", stream=False, thread_id=thread)
    assert SECRET not in str(server.provider.requests[-1]["body"])
    assert "The answer stops here" in str(server.provider.requests[-1]["body"])


@pytest.mark.parametrize("word", ["word-good", "word-bad"])
@pytest.mark.parametrize("stream", [True, False])
def test_the_store_of_threads(server: Server, word: str, stream: bool) -> None:
    thread = f"thread-of-{word}-{'stream' if stream else 'whole'}"
    answer = server.ask(word, stream=stream, thread_id=thread)
    if stream:
        read(answer)  # NeMo 0.24 stores no streamed answer
    threads = httpx.get(f"http://127.0.0.1:{server.port}/threads", timeout=5).json()
    assert (f"thread-{thread}" in threads) is not stream
    assert SECRET not in str(threads)
    if not stream:
        kept = json.loads(threads[f"thread-{thread}"])[-1]["content"]
        assert kept == GOOD_SHOWN if word == "word-good" else kept.startswith("The answer stops here")


def test_many_requests_at_once_each_against_its_own_sources(server: Server) -> None:
    def one(number: int) -> tuple[list[str], Any]:
        sources = SOURCES if number % 2 else ["The reading hall opened in 1931.", "Late fees ended in 2020."]
        return read(server.ask("word-good", context={"sources": sources}))

    with ThreadPoolExecutor(12) as pool:
        for number, (shown, error) in enumerate(pool.map(one, range(24))):
            assert shown == (GOOD_ITEMS if number % 2 else GOOD_ITEMS[:1])
            assert (error is None) is bool(number % 2)


def test_checks(server: Server) -> None:
    body = {
        "model": MODEL,
        "messages": [{"role": "user", "content": "When?"}, {"role": "assistant", "content": "It opened in 1932 [S1]."}],
        "guardrails": {"config_id": server.config, "context": {"sources": SOURCES}},
    }
    answer = httpx.post(f"http://127.0.0.1:{server.port}/v1/checks", json=body, timeout=20).json()
    assert answer["status"] == "blocked"
    assert answer["rail"] == "sentence gate"
    assert answer["content"].startswith("The answer stops here")


def test_the_servers_log_holds_no_blocked_text(server: Server) -> None:
    with pytest.raises(openai.APIError):
        list(texts(server.ask("word-bad")))
    server.ask("word-bad", stream=False)
    assert "The hall opened in 1931." in server.log
    assert SECRET not in server.log
