"""`nemoguardrails server` as a process, and ways to ask it."""

from __future__ import annotations

import json
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
import openai

from .provider import MODEL, Provider
from .support import BAD, FOLDER, GOOD, SOURCES

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
store = MemoryStore()
api.register_datastore(store)
api.app.add_api_route("/threads", lambda: store.data)
sys.argv = ["nemoguardrails", "server", *sys.argv[1:]]
app()
"""


class Server:
    """The server as a process of its own, and what it has logged."""

    def __init__(self, folder: Path, provider: Provider, **environment: str) -> None:
        self.provider = provider
        self.config = folder.name
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._log = folder.parent / "server.log"
        paths = os.pathsep.join([str(FOLDER.parent), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "OPENAI_API_KEY": "none", "PYTHONPATH": paths, **environment}
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

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(10)

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


def raw(server: Server, word: str, *, stream: bool, context: dict[str, Any] | None = None, **guardrails: Any) -> Any:
    """The answer of the server as it is on the wire."""
    body = {
        "model": MODEL,
        "stream": stream,
        "messages": [{"role": "user", "content": f"When did it open? {word}"}],
        "guardrails": {
            "config_id": server.config,
            "context": {"sources": SOURCES} if context is None else context,
            **guardrails,
        },
    }
    return httpx.post(f"http://127.0.0.1:{server.port}/v1/chat/completions", json=body, timeout=20)


def events(answer: Any) -> list[Any]:
    """The data of the server-sent events of an answer."""
    lines = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]
