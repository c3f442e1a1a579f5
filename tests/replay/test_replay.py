"""Recordings judged offline: counts, labels, bad lines, resuming, parallel and changed policies."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from guardrails_plugins import GatePolicy
from guardrails_plugins.cli import main
from guardrails_plugins.replay.engine import ResumeError, replay
from guardrails_plugins.replay.page import page
from guardrails_plugins.replay.report import wilson

SECRET = "QZX8841"
SOURCES = ["The hall has 412 seats.", "The tower has 9 rooms."]
GOOD = {"id": "good", "sources": SOURCES, "answer": "The hall has 412 seats [S1].", "label": "grounded"}
BAD = {
    "id": "bad",
    "sources": SOURCES,
    "answer": f"It shut in {SECRET} [S1]. The hall has 412 seats [S1].",
    "spans": [[0, 21]],
}
FALSE = {"id": "false", "sources": SOURCES, "answer": "The hall has 412 seats.", "spans": []}
LOG = {
    "messages": [
        {"role": "context", "content": {"sources": SOURCES, "language": "en"}},
        {"role": "user", "content": "How many seats?"},
        {"role": "assistant", "content": "The tower has 9 rooms [S1]."},
    ]
}
BROKEN = [
    '{"answer": 3, "sources": []}',
    "not json",
    '["list"]',
    '{"answer": "a", "sources": "one"}',
    "[" * 100_000,
    f'{{"answer": "a", "sources": [], "id": {"9" * 5000}}}',
]


def write(path: Path, rows: list[Any]) -> Path:
    text = "".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path / "a.jsonl", [GOOD, BROKEN[0], BAD, "", FALSE, *BROKEN[1:], LOG])


def test_counts_labels_and_bad_lines(file: Path) -> None:
    data = replay([file], (GatePolicy(),), workers=1).as_dict()
    assert (data["answers"]["count"], data["answers"]["total"]) == (3, 4)
    assert (data["sentences"]["count"], data["sentences"]["total"]) == (3, 5)
    assert (data["false_answers"]["count"], data["false_answers"]["total"]) == (1, 2)
    assert (data["caught_answers"]["count"], data["caught_answers"]["total"]) == (1, 1)
    assert (data["caught_sentences"]["count"], data["caught_sentences"]["total"]) == (1, 1)
    assert data["states"] == {"completed": 1, "withheld": 3}
    assert data["skipped"] == len(BROKEN)
    assert [s["line"] for s in data["skipped_lines"]] == [2, 6, 7, 8, 9, 10]
    causes = {row["cause"]: row["sentences"] for row in data["causes"]}
    assert causes["value_unsupported/identifier"] == 1
    assert causes["value_miscited/number"] == 2


def test_a_packed_file_gives_the_same(file: Path, tmp_path: Path) -> None:
    packed = tmp_path / "b.jsonl.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    plain, unpacked = (replay([f], (GatePolicy(),), workers=1).as_dict() for f in (file, packed))
    assert plain["sentences"] == unpacked["sentences"]


def test_parallel_gives_the_same_to_the_digit(tmp_path: Path) -> None:
    file = write(tmp_path / "many.jsonl", [GOOD, BAD, FALSE, BROKEN[0], LOG] * 60)
    one = replay([file], (GatePolicy(), GatePolicy(citations="off")), workers=1).as_dict()
    two = replay([file], (GatePolicy(), GatePolicy(citations="off")), workers=2).as_dict()
    assert one == two
    assert one["policy"]["answers"]["total"] == 240


def test_a_broken_off_replay_goes_on_where_it_was(tmp_path: Path) -> None:
    file = write(tmp_path / "many.jsonl", [GOOD, BAD, FALSE] * 100)
    state = tmp_path / "state.json"
    whole = replay([file], (GatePolicy(),), workers=1).as_dict()

    class Stop(Exception):
        pass

    def stop(_: int) -> None:
        raise Stop

    with pytest.raises(Stop):
        replay([file], (GatePolicy(),), workers=1, resume=state, advance=stop)
    kept = json.loads(state.read_text(encoding="utf-8"))
    assert 0 < kept["reports"][0]["answers"][1] < 300
    assert replay([file], (GatePolicy(),), workers=1, resume=state).as_dict() == whole
    # What is whole is not judged again.
    assert replay([file], (GatePolicy(),), workers=1, resume=state).as_dict() == whole
    # Another policy is another replay.
    assert replay([file], (GatePolicy(citations="off"),), workers=1, resume=state).as_dict() != whole


def test_a_file_that_is_no_state_is_named(file: Path, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text("hello", encoding="utf-8")
    with pytest.raises(ResumeError, match="no state of a replay"):
        replay([file], (GatePolicy(),), workers=1, resume=tmp_path / "s.json")


def test_what_a_second_policy_changes(file: Path) -> None:
    changes = replay([file], (GatePolicy(), GatePolicy(citations="off")), workers=1).as_dict()["changes"]
    assert (changes["answers_stopped"], changes["answers_released"]) == (0, 2)
    assert changes["causes_released"]["citation_missing"] == 1


def test_text_of_withheld_sentences_appears_only_when_asked(file: Path, tmp_path: Path, capsys: Any) -> None:
    html = tmp_path / "r.html"
    assert main(["replay", str(file), "--workers", "1", "--html", str(html)]) == 0
    assert SECRET not in capsys.readouterr().out + html.read_text(encoding="utf-8")
    assert main(["replay", str(file), "--workers", "1", "--html", str(html), "--show-text"]) == 0
    assert SECRET in capsys.readouterr().out
    assert SECRET in html.read_text(encoding="utf-8")


def test_a_lone_surrogate_is_written_as_its_escape(tmp_path: Path, capsys: Any) -> None:
    odd = '{"sources": ["a"], "answer": "It shut in QZX8841 \\ud800 [S1]."}'
    html = tmp_path / "r.html"
    file = write(tmp_path / "s.jsonl", [odd])
    assert main(["replay", str(file), "--workers", "1", "--html", str(html), "--show-text"]) == 0
    assert "QZX8841 \\ud800" in capsys.readouterr().out
    assert "QZX8841 \\ud800" in html.read_text(encoding="utf-8")


@pytest.mark.parametrize("depth", [900, 960, 990])
def test_a_line_that_can_just_be_read_is_skipped_or_judged(tmp_path: Path, depth: int) -> None:
    deep = "[" * depth + "]" * depth
    rows = [f'{{"answer": "a", "sources": [], "{key}": {deep}}}' for key in ("id", "language", "label", "spans")]
    data = replay([write(tmp_path / "d.jsonl", [*rows, GOOD])], (GatePolicy(),), workers=1).as_dict()
    assert data["answers"]["total"] + data["skipped"] == 5


def test_the_page_needs_nothing_from_elsewhere_and_escapes_text(tmp_path: Path) -> None:
    evil = {"sources": ["a"], "answer": "<script>alert(8841)</script> is here."}
    result = replay([write(tmp_path / "e.jsonl", [evil])], (GatePolicy(),), workers=1, show_text=True)
    text = page(result.as_dict())
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text
    assert "http" not in text
    assert text.count("<svg") == 1


def test_the_json_report(file: Path, capsys: Any) -> None:
    assert main(["replay", str(file), "--workers", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["answers"]["total"] == 4


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["nowhere.jsonl"], "nowhere.jsonl"),
        (["{file}", "--workers", "0"], "workers"),
        (["{file}", "--policy", "no.toml"], "no.toml"),
    ],
)
def test_wrong_input(arguments: list[str], names: str, file: Path, capsys: Any) -> None:
    assert main(["replay", *(a.format(file=file) for a in arguments)]) == 2
    assert names in capsys.readouterr().err


def test_the_interval_is_wilsons() -> None:
    low, high = wilson(8, 10)
    assert (round(low, 4), round(high, 4)) == (0.4902, 0.9433)
    assert wilson(0, 0) == (0.0, 1.0)


def test_what_the_recorder_writes_is_what_replay_reads(tmp_path: Path) -> None:
    from guardrails_plugins import SentenceGate, gate_stream_sync

    path = tmp_path / "kept.jsonl"
    list(gate_stream_sync([BAD["answer"]], SentenceGate(SOURCES), record=path))
    data = replay([path], (GatePolicy(),), workers=1).as_dict()
    assert data["answers"]["count"] == 1
