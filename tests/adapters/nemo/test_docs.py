"""docs/nemo.md says what the shipped folder says, and its code runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nemoguardrails")

import yaml

from guardrails_plugins.adapters.nemo import NemoSettings

from .support import FOLDER, FakeModel
from .test_colang_2 import GATE

pytestmark = pytest.mark.framework

PAGE = (Path(__file__).parents[3] / "docs" / "nemo.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_yaml_is_that_of_the_folder() -> None:
    shown = yaml.safe_load(blocks("yaml")[0])
    assert {**shown, "models": []} == yaml.safe_load((FOLDER / "config.yml").read_text())


def test_every_setting_is_explained() -> None:
    for name in set(NemoSettings.__dataclass_fields__) - {"tracing"}:
        assert f"| `{name}` |" in PAGE


def test_the_colang_is_the_tested_one() -> None:
    assert blocks("colang")[0].strip() in GATE


async def test_the_ten_lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(FOLDER.parent)
    names: dict[str, Any] = {}
    exec(blocks("python")[0], names)
    await names["main"](FakeModel("It opened in 1931 [S1]. It closed in 1999 [S1]. And so on."))
    printed = capsys.readouterr().out.splitlines()
    expected = blocks("text")[0].splitlines()
    assert printed[0] == expected[0]
    assert printed[1].startswith(expected[1].split("…")[0])
    assert len(printed) == 2
