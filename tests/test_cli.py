"""The command line: check, init, demo, and what wrong input is answered with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from guardrails_plugins.cli import main

SOURCE = "The hall has 412 seats. It opened in 1998."
ANSWER = "The hall has 412 seats [S1]. It shut in QZX8841 [S1]. We like it. It opened in 1998 [S1]."
SECRET = "QZX8841"


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    answer, sources = tmp_path / "answer.md", tmp_path / "sources"
    sources.mkdir()
    (sources / "a.txt").write_text(SOURCE, encoding="utf-8")
    answer.write_text(ANSWER, encoding="utf-8")
    return str(answer), str(sources)


def test_check_judges_past_a_stop_and_shows_no_blocked_text(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", files[0], "--sources", files[1]]) == 1
    out = capsys.readouterr().out
    assert SECRET not in out
    assert out.count("STOP") == 2
    assert out.count("pass") == 2
    assert "value_unsupported" in out
    assert "first_person" in out
    assert "\033[" not in out


def test_check_shows_blocked_text_when_asked(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", files[0], "--sources", files[1], "--show-text"]) == 1
    assert SECRET in capsys.readouterr().out


def test_check_as_json(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", files[0], "--sources", files[1], "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert result["state"] == "withheld"
    assert [s["passed"] for s in result["sentences"]] == [True, False, False, True]
    assert result["sentences"][1]["text"] is None
    span = result["sentences"][1]["violations"][0]["span"]
    assert ANSWER[slice(*span)] == SECRET


def test_a_clean_answer_exits_with_zero(files: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "clean.txt").write_text("The hall has 412 seats [S1].", encoding="utf-8")
    assert main(["check", str(tmp_path / "clean.txt"), "--sources", files[1]]) == 0


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["check", "{answer}", "--sources", "nowhere"], "does not exist"),
        (["check", "nowhere.txt", "--sources", "{sources}"], "nowhere.txt"),
        (["check", "{answer}", "--sources", "{sources}", "--language", "xx"], "pt"),
        (["check", "{answer}", "--sources", "{sources}", "--policy", "{policy}"], "min_words"),
        (["check", "{answer}", "--sources", "{empty}"], ".txt"),
        (["check", "{answer}", "--sources", "{json}"], "JSON"),
        (["check", "{latin}", "--sources", "{sources}"], "UTF-8"),
        (["init", "nemo", "{sources}"], "empty"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_two(
    arguments: list[str], names: str, files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.toml").write_text("min_word = 3\n", encoding="utf-8")
    (tmp_path / "s.json").write_text("{", encoding="utf-8")
    (tmp_path / "l.txt").write_bytes(b"caf\xe9")
    (tmp_path / "empty").mkdir()
    places: dict[str, Any] = {
        "answer": files[0],
        "sources": files[1],
        "policy": tmp_path / "p.toml",
        "json": tmp_path / "s.json",
        "latin": tmp_path / "l.txt",
        "empty": tmp_path / "empty",
    }
    assert main([a.format(**places) for a in arguments]) == 2
    err = capsys.readouterr().err
    assert names in err
    assert "Traceback" not in err
    assert len(err.strip().splitlines()) == 1


def test_control_characters_of_an_answer_do_not_reach_the_terminal(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "evil.txt").write_text("The \033[31mhall\u202e is old.", encoding="utf-8")
    main(["check", str(tmp_path / "evil.txt"), "--sources", files[1]])
    out = capsys.readouterr().out
    assert "\033" not in out
    assert "\u202e" not in out


def test_init_copies_the_nemo_folder(tmp_path: Path) -> None:
    assert main(["init", "nemo", str(tmp_path / "made")]) == 0
    assert sorted(p.name for p in (tmp_path / "made").iterdir()) == ["config.py", "config.yml", "rails.co"]
    assert "stream_first: False" in (tmp_path / "made" / "config.yml").read_text(encoding="utf-8")


@pytest.mark.framework
@pytest.mark.slow
def test_the_demo_runs_in_under_half_a_minute_and_leaks_only_without_the_gate() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "guardrails_plugins.cli", "demo", "--json"], capture_output=True, text=True, timeout=90
    )
    assert done.returncode == 0, done.stderr[-2000:]
    results = json.loads(done.stdout)
    assert {title: r["leaked"] for title, r in results.items()} == {
        "plain Python, with the gate": False,
        "NeMo Guardrails, with the gate": False,
        "NeMo Guardrails, its own streaming defaults, same check": True,
        "Guardrails AI, with the gate": False,
        "Guardrails AI, its own streaming defaults, same check": True,
    }
    shown = {r["shown"] for title, r in results.items() if "with the gate" in title}
    assert len(shown) == 1
    assert shown.pop().endswith("people under 18 pay nothing.")
