"""The command line: check, init, demo, and what wrong input is answered with."""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from guardrails_plugins.cli import main
from guardrails_plugins.commands.check import read_sources

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
        (
            ["check", "{answer}", "--sources", "{sources}", "--policy", "{policy}"],
            "p.toml: unknown policy key 'min_word'; did you mean 'min_words'",
        ),
        (["check", "{answer}", "--sources", "{wrong}"], "w.json: source 1 has the unknown key"),
        (["check", "{answer}", "--sources", "{empty}"], ".txt"),
        (["check", "{answer}", "--sources", "{json}"], "s.json: not valid JSON (column 2"),
        (["check", "{answer}", "--sources", "{lines}"], "l.jsonl, line 3: not valid JSON (column 1"),
        (["check", "{answer}", "--sources", "{digits}"], "d.json: not valid JSON (a number with too many digits)"),
        (["check", "{answer}", "--sources", "{deep}"], "n.json: not valid JSON (nested too deeply)"),
        (["check", "{latin}", "--sources", "{sources}"], "l.txt, line 2: not UTF-8"),
        (["replay", "{answer}", "{cut}", "--workers", "1"], "c.jsonl.gz cannot be unpacked after line 1"),
        (["replay", "{noise}", "--workers", "1"], "b.jsonl.gz cannot be unpacked after line 0"),
        (["replay", "{unpacked}", "--workers", "1"], "u.jsonl.gz cannot be unpacked after line 0"),
        (["replay", "{answer}", "--workers", "1", "--resume", "{deep}"], "no state of a replay"),
        (["init", "nemo", "{sources}"], "empty"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_two(
    arguments: list[str], names: str, files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.toml").write_text("min_word = 3\n", encoding="utf-8")
    (tmp_path / "s.json").write_text("{", encoding="utf-8")
    (tmp_path / "l.jsonl").write_text('"A text."\n\nno json\n', encoding="utf-8")
    (tmp_path / "d.json").write_text("9" * 5000, encoding="utf-8")
    (tmp_path / "w.json").write_text('{"txt": "a"}', encoding="utf-8")
    (tmp_path / "n.json").write_text("[" * 100_000, encoding="utf-8")
    (tmp_path / "l.txt").write_bytes(b"tea\ncaf\xe9")
    # What is random does not pack: the cut is behind the first line.
    packed = gzip.compress(b"{}\n" + random.Random(3).randbytes(40_000).hex().encode())
    (tmp_path / "c.jsonl.gz").write_bytes(packed[:-100])
    (tmp_path / "b.jsonl.gz").write_bytes(packed[:20] + bytes(range(255, 0, -1)) + packed[275:])
    (tmp_path / "u.jsonl.gz").write_bytes(b"{}\n")
    (tmp_path / "empty").mkdir()
    places: dict[str, Any] = {
        "answer": files[0],
        "sources": files[1],
        "policy": tmp_path / "p.toml",
        "json": tmp_path / "s.json",
        "lines": tmp_path / "l.jsonl",
        "digits": tmp_path / "d.json",
        "wrong": tmp_path / "w.json",
        "deep": tmp_path / "n.json",
        "latin": tmp_path / "l.txt",
        "cut": tmp_path / "c.jsonl.gz",
        "noise": tmp_path / "b.jsonl.gz",
        "unpacked": tmp_path / "u.jsonl.gz",
        "empty": tmp_path / "empty",
    }
    assert main([a.format(**places) for a in arguments]) == 2
    err = capsys.readouterr().err
    assert names in err
    assert "Traceback" not in err
    assert len(err.strip().splitlines()) == 1


def test_only_newlines_part_json_lines(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    file.write_text('"One\u2028text."\n\n{"text": "Another\u0085one."}\n', encoding="utf-8")
    assert [s.text for s in read_sources(file)] == ["One\u2028text.", "Another\u0085one."]


def test_a_byte_order_mark_is_no_text(files: tuple[str, str], tmp_path: Path) -> None:
    for name, text in (("a.txt", "The hall has 412 seats [S1]."), ("s.json", json.dumps(SOURCE)), ("p.toml", "")):
        (tmp_path / name).write_text(text, encoding="utf-8-sig")
    arguments = ["check", str(tmp_path / "a.txt"), "--sources", str(tmp_path / "s.json")]
    assert main([*arguments, "--policy", str(tmp_path / "p.toml")]) == 0


@pytest.mark.parametrize(
    ("given", "code", "says"), [(b"The caf\xc3\xa9 has 412 seats [S1].", 0, ""), (b"caf\xe9", 2, "UTF-8")]
)
def test_standard_input_is_utf_8_whatever_the_locale(
    given: bytes, code: int, says: str, files: tuple[str, str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "guardrails_plugins.cli", "check", "-", "--sources", files[1]],
        input=given, capture_output=True, timeout=60, env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    )  # fmt: skip
    assert done.returncode == code
    assert says.encode() in done.stderr
    assert b"Traceback" not in done.stderr


def test_what_the_output_has_no_letter_for_is_escaped(files: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "fa.txt").write_text("تالار بزرگ است.", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "guardrails_plugins.cli", "check", str(tmp_path / "fa.txt"), "--sources", files[1]],
        capture_output=True, timeout=60, env={**os.environ, "PYTHONIOENCODING": "cp1252"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert b"\\u062a" in done.stdout


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
