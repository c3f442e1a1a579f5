"""docs/nemo.md says what the shipped folder says, and every block of it runs."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nemoguardrails")

import yaml
from nemoguardrails import Guardrails, LLMRails, RailsConfig

from guardrails_plugins.adapters.nemo import NemoSettings
from guardrails_plugins.cli import main

from .provider import MODEL, Provider
from .server import Server
from .support import BAD, FOLDER, GOOD, GOOD_ITEMS, SECRET, SOURCES, FakeModel, collect, rails, request
from .test_colang_2 import GATE

pytestmark = pytest.mark.framework

PAGE = (Path(__file__).parents[3] / "docs" / "nemo.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, flags=re.DOTALL)


def block(kind: str, word: str) -> str:
    """The one block of a kind that holds a word."""
    (found,) = [b for b in blocks(kind) if word in b]
    return found


def test_no_block_is_left_out() -> None:
    """Each kind of block has its tests below; a new one has to get its own."""
    counts = {kind: len(blocks(kind)) for kind in re.findall(r"```(\w+)\n", PAGE)}
    assert counts == {"bash": 3, "python": 6, "text": 3, "yaml": 2, "colang": 1}


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    lines = [shlex.split(line, comments=True) for b in blocks("bash") for line in b.splitlines()]
    pip, init, server, chat, benchmark = lines
    extras = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert pip == ["pip", "install", "guardrails-plugins[nemo]"]
    assert any(line.startswith("nemoguardrails[") for line in extras["nemo"])
    assert init[0] == "sentence-gate"
    assert main(init[1:]) == 0
    written = tmp_path / init[-1]
    text = (written / "config.yml").read_text().replace("models: []\n", block("yaml", "gpt-4o-mini"))
    (written / "config.yml").write_text(text)
    app = LLMRails(RailsConfig.from_path(str(written)))
    assert app.llm.model_name == "gpt-4o-mini"
    # What these two do is tested in test_server.py and test_chat.py, with the same words.
    assert server == ["nemoguardrails", "server", "--config", init[-1]]
    assert chat == ["nemoguardrails", "chat", "--config", init[-1], "--streaming"]
    assert (FOLDER.parent / benchmark[1]).is_file()


def test_the_yaml_is_that_of_the_folder() -> None:
    shown = yaml.safe_load(block("yaml", "sentence gate"))
    assert {**shown, "models": []} == yaml.safe_load((FOLDER / "config.yml").read_text())


def test_every_setting_is_explained() -> None:
    for name in set(NemoSettings.__dataclass_fields__) - {"tracing"}:
        assert f"| `{name}` |" in PAGE


def test_the_colang_is_the_tested_one() -> None:
    assert blocks("colang")[0].strip() in GATE


async def test_the_ten_lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(FOLDER.parent)
    names: dict[str, Any] = {}
    exec(block("python", "async def main"), names)
    await names["main"](FakeModel("It opened in 1931 [S1]. It closed in 1999 [S1]. And so on."))
    printed = capsys.readouterr().out.splitlines()
    expected = blocks("text")[0].splitlines()
    assert printed[0] == expected[0]
    assert printed[1].startswith(expected[1].split("…")[0])
    assert len(printed) == 2


@pytest.mark.parametrize("word", ["import init", "import install"])
async def test_the_config_py(word: str, tmp_path: Path) -> None:
    (tmp_path / "config.yml").write_text((FOLDER / "config.yml").read_text())
    (tmp_path / "config.py").write_text(block("python", word))
    app = LLMRails(RailsConfig.from_path(str(tmp_path)), llm=FakeModel(GOOD))
    assert await collect(app.stream_async(messages=request())) == GOOD_ITEMS


def test_the_openai_client(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    code = block("python", "from openai import")
    for shown, real in (
        ("http://localhost:8000/v1", f"http://127.0.0.1:{server.port}/v1"),
        ('"config_id": "my_config"', f'"config_id": "{server.config}"'),
        ('"gpt-4o-mini"', f'"{MODEL}"'),
        ('"content": "…"', '"content": "word-bad"'),
        ('["…"]', repr(SOURCES)),
    ):
        assert shown in code
        code = code.replace(shown, real)
    exec(code, {})
    printed = capsys.readouterr().out.splitlines()
    expected = blocks("text")[1].splitlines()
    assert printed[:2] == expected[:2]
    assert printed[2].startswith(expected[2].split("…")[0])
    assert len(printed) == 3


async def test_a_stream_of_ones_own() -> None:
    async def my_stream() -> AsyncIterator[str]:
        for start in range(0, len(GOOD), 5):
            yield GOOD[start : start + 5]

    names: dict[str, Any] = {"rails": rails(FakeModel("")), "messages": request(), "my_stream": my_stream()}
    exec(block("python", "import gate_items"), names)
    assert await collect(names["stream"]) == GOOD_ITEMS


async def test_the_driver_around_iorails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    names: dict[str, Any] = {}
    exec(block("python", "async def answer"), names)
    with Provider({"word-good": GOOD, "word-bad": BAD}) as provider:
        model = {"type": "main", "engine": "openai", "model": MODEL, "parameters": {"base_url": provider.url}}
        engine = Guardrails(RailsConfig.from_content(config={"models": [model]}))
        assert engine.use_iorails_engine
        for word, expected in (
            ("word-good", GOOD_ITEMS),
            ("word-bad", [GOOD_ITEMS[0], "[guard: value_unsupported]"]),
        ):
            sent: list[str] = []

            async def send(text: str, sent: list[str] = sent) -> None:
                sent.append(text)

            await names["answer"](engine, [{"role": "user", "content": word}], SOURCES, send)
            assert sent == expected
            assert SECRET not in "".join(sent)
        await engine.shutdown()
