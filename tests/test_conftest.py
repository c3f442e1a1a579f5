"""The guards of the test run itself."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from tests import case_files
from tests.conftest import OFFLINE, NetworkBlockedError, require_module, require_program


def test_only_loopback_can_be_reached() -> None:
    with pytest.raises(NetworkBlockedError), socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.connect(("192.0.2.1", 80))
    with pytest.raises(NetworkBlockedError):
        socket.getaddrinfo("example.com", 80)
    with socket.socket() as server, socket.socket() as client:
        server.bind(("127.0.0.1", 0))
        server.listen()
        client.connect(server.getsockname())


def test_telemetry_is_off() -> None:
    assert {name: os.environ[name] for name in OFFLINE} == OFFLINE


def test_a_missing_program_skips_or_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SENTENCE_GATE_REQUIRE_ALL", raising=False)
    with pytest.raises(pytest.skip.Exception):
        require_program("no-such-program-anywhere")
    monkeypatch.setenv("SENTENCE_GATE_REQUIRE_ALL", "1")
    with pytest.raises(pytest.fail.Exception, match="forbids skipping"):
        require_program("no-such-program-anywhere")
    with pytest.raises(pytest.fail.Exception, match="forbids skipping"):
        require_module("no_such_module_anywhere")


GOOD = {"id": "en-x", "text": "A.", "sentences": ["A."]}


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        json.dumps(GOOD | {"id": "de-x"}),
        json.dumps(GOOD | {"max_char": 3}),
        json.dumps(GOOD | {"text": 3}),
        json.dumps(GOOD | {"known_failure": " "}),
        json.dumps(GOOD | {"language": "xx"}),
        json.dumps({"id": "en-x", "text": "A."}),
        json.dumps(GOOD) + "\n" + json.dumps(GOOD),
    ],
)
def test_a_malformed_case_is_an_error(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "split.jsonl").write_text(line, encoding="utf-8")
    monkeypatch.setattr(case_files, "CASES", tmp_path)
    with pytest.raises(case_files.MalformedCase):
        case_files._all_cases.__wrapped__()
