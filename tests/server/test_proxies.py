"""Real nginx and real Caddy with the files of `deploy/`: each sentence arrives before the next is written."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from guardrails_plugins.server.app import create_app
from guardrails_plugins.server.providers import OpenAI
from tests.conftest import require_program
from tests.server.fake_provider import FakeProvider, Finish, Wait, pieces, running, until
from tests.server.support import GOOD, QUESTION, ask, events, service

DEPLOY = Path(__file__).parents[2] / "deploy"
FIRST, SECOND = GOOD[: GOOD.index("Children")], GOOD[GOOD.index("Children") :]
PAUSE = 1.0
"""Seconds between the two sentences: what comes in one lump comes after it."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def nginx(upstream: str, folder: Path, *, gzip: bool) -> Iterator[str]:
    port = free_port()
    text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    assert "proxy_buffering off" not in text
    text = text.replace("127.0.0.1:8000", upstream.removeprefix("http://")).replace(
        "127.0.0.1:8080", f"127.0.0.1:{port}"
    )
    if gzip:
        text = text.replace("gzip off;", "gzip on; gzip_types *; gzip_proxied any; gzip_min_length 1;")
    (folder / "nginx.conf").write_text(text, encoding="utf-8")
    command = [require_program("nginx"), "-p", str(folder), "-c", "nginx.conf", "-g", "daemon off;"]
    if os.geteuid() == 0:
        command[-1] += " user root;"
    with process(command, port, folder):
        yield f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def caddy(upstream: str, folder: Path) -> Iterator[str]:
    port = free_port()
    text = (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
    text = text.replace("127.0.0.1:8000", upstream.removeprefix("http://")).replace(
        "127.0.0.1:8080", f"127.0.0.1:{port}"
    )
    (folder / "Caddyfile").write_text(text, encoding="utf-8")
    command = [require_program("caddy"), "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    with process(command, port, folder):
        yield f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def process(command: list[str], port: int, folder: Path) -> Iterator[None]:
    environment = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    with (folder / "log").open("wb") as log:
        started = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    try:
        ready = until(lambda: started.poll() is not None or _answers(port), 20)
        assert ready, (folder / "log").read_text()
        assert started.poll() is None, (folder / "log").read_text()
        yield
    finally:
        started.send_signal(signal.SIGTERM)
        try:
            started.wait(10)
        except subprocess.TimeoutExpired:
            started.kill()


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


PROXIES = ["nginx", "nginx-gzip", "caddy", "none"]


@pytest.fixture(params=PROXIES)
def through(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, FakeProvider, object]]:
    fake = FakeProvider()
    with running(fake.app) as upstream:
        made = service(tmp_path, OpenAI("f", base_url=f"{upstream}/v1", api_key="none"), ping_s=0.2)
        with running(create_app(made)) as gate:
            (folder := tmp_path / "proxy").mkdir()
            if request.param == "caddy":
                proxy = caddy(gate, folder)
            elif request.param == "none":
                proxy = contextlib.nullcontext(gate)
            else:
                proxy = nginx(gate, folder, gzip=request.param == "nginx-gzip")
            with proxy as address:
                yield address, fake, made


def test_each_sentence_arrives_before_the_next_is_written(through: tuple[str, FakeProvider, object]) -> None:
    address, fake, _ = through
    fake.script = [*pieces(FIRST + SECOND[:4]), Wait(PAUSE), *pieces(SECOND[4:]), Finish()]
    arrived: list[float] = []
    pings = 0
    body = {"question": QUESTION}
    headers = {"accept-encoding": "gzip, deflate"}
    with httpx.stream(
        "POST", f"{address}/v1/answers", json=body, headers=headers, timeout=30, trust_env=False
    ) as reply:
        assert reply.status_code == 200
        for line in reply.iter_lines():
            if line == "event: sentence":
                arrived.append(time.monotonic())
            pings += line == ": ping"
    assert len(arrived) == 2
    assert arrived[1] - arrived[0] > PAUSE * 0.7
    assert pings >= 3


def test_a_client_that_goes_away_reaches_the_provider(through: tuple[str, FakeProvider, object]) -> None:
    address, fake, made = through
    fake.script = [*pieces(FIRST + SECOND[:4]), Wait(), Finish()]
    body = {"question": QUESTION}
    with httpx.stream("POST", f"{address}/v1/answers", json=body, timeout=30, trust_env=False) as reply:
        for line in reply.iter_lines():
            if line == "event: sentence":
                break
    assert until(lambda: fake.streams[0].closed_after is not None)
    assert until(lambda: made.budget.spent().streams == 1)  # type: ignore[attr-defined]


def test_a_whole_answer_and_the_page_pass(through: tuple[str, FakeProvider, object]) -> None:
    address, fake, _ = through
    fake.script = [*pieces(GOOD), Finish()]
    found = events(ask(address).text)
    assert found[-1][1]["state"] == "completed"
    assert "<!doctype html>" in httpx.get(f"{address}/", trust_env=False).text
    refused = httpx.post(
        f"{address}/v1/answers",
        content=b"{}",
        headers={"Content-Type": "application/json"},
        timeout=10,
        trust_env=False,
    )
    assert json.loads(refused.text)["error"]["code"] == "no_question"


@pytest.mark.parametrize("kind", ["nginx", "caddy"])
def test_a_proxy_that_dies_leaves_nothing_open(kind: str, tmp_path: Path) -> None:
    fake = FakeProvider([*pieces(FIRST + SECOND[:4]), Wait(), Finish()])
    with running(fake.app) as upstream:
        made = service(tmp_path, OpenAI("f", base_url=f"{upstream}/v1", api_key="none"), ping_s=0.2)
        with running(create_app(made)) as gate:
            (folder := tmp_path / "proxy").mkdir()
            proxy = caddy(gate, folder) if kind == "caddy" else nginx(gate, folder, gzip=False)
            stack = contextlib.ExitStack()
            address = stack.enter_context(proxy)
            body = {"question": QUESTION}
            text = ""
            with (
                contextlib.suppress(httpx.HTTPError),
                httpx.stream("POST", f"{address}/v1/answers", json=body, timeout=30, trust_env=False) as reply,
            ):
                for line in reply.iter_lines():
                    text += line + "\n"
                    if line == "event: sentence":
                        stack.close()
            assert until(lambda: fake.streams[0].closed_after is not None)
            assert until(lambda: b"sentence_gate_open_streams 0.0" in made.metrics.text())
            for block in text.split("\n\n")[:-1]:
                assert block.startswith((":", "event: ")), block
