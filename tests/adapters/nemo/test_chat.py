"""`nemoguardrails chat` as the program it is: a process of its own, a keyboard, a provider over HTTP."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("nemoguardrails")

from .provider import MODEL, Provider
from .support import BAD, CONFIG_PY, FOLDER, GOOD, KNOWLEDGE, SEARCH, SECRET, write

pytestmark = pytest.mark.framework

ANSWERS = {"word-good": GOOD, "word-bad": BAD, "word-refuse": "NO_ANSWER"}

NOTICE = "The answer stops here"


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider(ANSWERS) as running:
        yield running


def chat(folder: Path, provider: Provider, said: list[str], *options: str, **environment: str) -> str:
    """What the chat prints, its log included, while somebody types some lines and then leaves."""
    model = f"models: [{{type: main, engine: openai, model: {MODEL}, parameters: {{base_url: '{provider.url}'}}}}]"
    write(folder, yaml=f"{model}\n{SEARCH}", prompt=True)
    (folder / "config.py").write_text(CONFIG_PY)
    (folder / "kb").mkdir()
    (folder / "kb" / "hall.md").write_text(KNOWLEDGE)
    paths = os.pathsep.join([str(FOLDER.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "nemoguardrails", "chat", "--config", str(folder), *options],
        input="".join(f"{line}\n" for line in said),
        capture_output=True,
        text=True,
        timeout=120,
        env={
            **os.environ,
            "OPENAI_API_KEY": "none",
            "PYTHONPATH": paths,
            "COLUMNS": "400",
            "NO_COLOR": "1",
            **environment,
        },
        cwd=folder,
    )
    assert "Aborted" in done.stderr, done.stderr  # the end of the keyboard
    return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)


def test_streaming(tmp_path: Path, provider: Provider) -> None:
    printed = chat(tmp_path, provider, ["word-bad?", "word-refuse?"], "--streaming")
    assert "The hall opened in 1931." in printed
    assert "[S1]" not in printed
    assert "Blocked by sentence gate rails (value_unsupported)" in printed
    assert NOTICE in printed
    assert "NO_ANSWER" not in printed
    assert SECRET not in printed
    assert provider.requests[-1]["stream"]


def test_the_whole_answer_while_it_streams(tmp_path: Path, provider: Provider) -> None:
    printed = chat(tmp_path, provider, ["word-good?"], "--streaming")
    assert "The hall opened in 1931. It has 52 desks.\n\nLate fees ended in 2020." in printed


def test_not_streaming(tmp_path: Path, provider: Provider) -> None:
    printed = chat(tmp_path, provider, ["word-bad?", "word-good?"])
    assert "The hall opened in 1931. It has 52 desks.\n\nLate fees ended in 2020." in printed
    assert NOTICE in printed
    assert "[S1]" not in printed
    assert SECRET not in printed
    assert not provider.requests[-1]["stream"]


@pytest.mark.parametrize("streaming", [True, False])
def test_verbose(tmp_path: Path, provider: Provider, streaming: bool) -> None:
    options = ["--verbose", "--streaming"] if streaming else ["--verbose"]
    printed = chat(tmp_path, provider, ["word-bad?", "word-good?"], *options)
    assert "LLM Prompt" in printed  # the log that --verbose adds
    assert "The hall opened in 1931." in printed
    assert SECRET not in printed


@pytest.mark.parametrize("options", [(), ("--streaming",)])
def test_when_nemo_is_told_to_use_iorails(tmp_path: Path, provider: Provider, options: tuple[str, ...]) -> None:
    printed = chat(tmp_path, provider, ["word-bad?"], *options, NEMO_GUARDRAILS_IORAILS_ENGINE="1")
    assert "Falling back to LLMRails" in printed
    assert NOTICE in printed
    assert SECRET not in printed
