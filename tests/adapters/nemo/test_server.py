"""`nemoguardrails server --config`, through HTTP and the openai SDK, against a provider on this machine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("nemoguardrails")
pytest.importorskip("openai")
pytest.importorskip("fastapi")

import openai

from .provider import MODEL, Provider
from .support import BAD, FOLDER, GOOD, GOOD_ITEMS, GOOD_SHOWN, SECRET, SOURCES, write

pytestmark = pytest.mark.framework

ANSWERS = {
    "word-good": GOOD,
    "word-bad": BAD,
    "word-slow": {"text": GOOD * 30, "delay": 0.02},
    "word-stall": {"text": GOOD, "stall_after": 5},
    "word-refuse": "NO_ANSWER",
    "word-busy": {"text": "", "status": 429},
    "word-cut": {"text": "It opened in 1931 [S1]. It has", "finish": "length"},
    "word-break": {"text": GOOD, "break_after": 6},
}

SERVER = """
import sys
from nemoguardrails.server import api
from nemoguardrails.server.datastore.memory_store import MemoryStore
from nemoguardrails.cli import app
api.register_datastore(MemoryStore())
sys.argv = ["nemoguardrails", "server", *sys.argv[1:]]
app()
"""


class Server:
    """The server as a process of its own, and what it has logged."""

    def __init__(self, folder: Path, provider: Provider) -> None:
        self.provider = provider
        self.config = folder.name
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._log = folder.parent / "server.log"
        paths = os.pathsep.join([str(FOLDER.parent), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "OPENAI_API_KEY": "none", "PYTHONPATH": paths}
        command = [sys.executable, "-c", SERVER, "--config", str(folder), "--port", str(self.port), "--disable-chat-ui"]
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, env=environment, cwd=folder.parent
            )

    def wait(self) -> None:
        for _ in range(300):
            try:
                httpx.get(f"http://127.0.0.1:{self.port}/healthz", timeout=1)
                return
            except httpx.HTTPError:
                assert self.process.poll() is None, self.log
                time.sleep(0.2)
        raise AssertionError(self.log)

    @property
    def log(self) -> str:
        return self._log.read_text()

    def client(self) -> Any:
        return openai.OpenAI(base_url=f"http://127.0.0.1:{self.port}/v1", api_key="none", max_retries=0, timeout=20)

    def ask(self, word: str, *, stream: bool = True, **guardrails: Any) -> Any:
        body = {"config_id": self.config, "context": {"sources": SOURCES}, **guardrails}
        return self.client().chat.completions.create(
            model=MODEL,
            messages=[{"role": "user", "content": f"When did it open? {word}"}],
            stream=stream,
            extra_body={"guardrails": body},
        )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("nemo") / "gate"
    folder.mkdir()
    with Provider(ANSWERS) as provider:
        model = f"models: [{{type: main, engine: openai, model: {MODEL}, parameters: {{base_url: '{provider.url}'}}}}]"
        write(folder, yaml=model, prompt=True)
        (folder / "config.py").write_text((FOLDER / "config.py").read_text())
        running = Server(folder, provider)
        try:
            running.wait()
            yield running
        finally:
            running.process.send_signal(signal.SIGTERM)
            running.process.wait(10)


def texts(stream: Any) -> Iterator[str]:
    for chunk in stream:
        text = chunk.choices[0].delta.content
        if text:
            yield text


def read(stream: Any) -> tuple[list[str], Any]:
    """The texts of a stream, and the error that ended it."""
    shown: list[str] = []
    try:
        shown.extend(texts(stream))
    except openai.APIError as error:
        return shown, error
    return shown, None


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
    time.sleep(0.1)
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
