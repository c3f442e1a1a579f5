"""The comparison: the same figures each run, no harm in the gate's rows, and each framework as it was found."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from guardrails_plugins.cli import main
from guardrails_plugins.compare import guardrails_ai, nemo, vendors
from guardrails_plugins.compare.clock import Clock, run
from guardrails_plugins.compare.command import quiet
from guardrails_plugins.compare.picture import HARMS, picture
from guardrails_plugins.compare.recorded import Recorded, load, shipped
from guardrails_plugins.compare.strategies import MODEL, Strategy, plain
from guardrails_plugins.compare.table import compare
from guardrails_plugins.core.errors import GateError
from guardrails_plugins.core.languages.profile import LANGUAGES
from guardrails_plugins.core.outcome import Code

EXPECTED = Path(__file__).parent / "expected.json"
"""What each strategy did with the versions that were compared; see `docs/comparison.md` for how to renew it."""

PINNED = ("en", "fa", "zh")
FIELDS = (*HARMS, "errors", "first_text_s", "hold_95_s", "pieces_after")

ALL = [*plain(), *vendors.strategies(), *nemo.strategies(), *guardrails_ai.strategies()]
GATE = [s for s in ALL if s.group == "gate"]
OTHERS = [s for s in ALL if s.group != "gate"]
ANSWERS = shipped()


def name(strategy: Strategy) -> str:
    return strategy.name


def figures_of(strategy: Strategy, answers: list[Recorded]) -> dict[str, object]:
    with quiet():
        rows, _ = compare([strategy], answers)
    return json.loads(json.dumps({key: getattr(rows[0], key) for key in FIELDS}))


@pytest.mark.parametrize("strategy", GATE, ids=name)
def test_the_gate_leaks_loses_and_alters_nothing_in_ten_languages(strategy: Strategy) -> None:
    with quiet():
        rows, figures = compare([strategy], ANSWERS)
    row = rows[0]
    assert [key for key in HARMS if getattr(row, key)] == []
    assert row.errors == ()
    assert {f.answer.split("-")[0] for f in figures[strategy.name]} == set(LANGUAGES)
    assert row.closing_s == 0
    assert row.hold_95_s is not None
    assert row.hold_95_s <= 0.04  # two pieces of the model: what the next sentence's first word takes


@pytest.mark.parametrize("strategy", OTHERS, ids=name)
def test_each_strategy_does_what_was_found(strategy: Strategy) -> None:
    expected = json.loads(EXPECTED.read_text(encoding="utf-8"))
    answers = [a for a in ANSWERS if a.language in PINNED]
    assert figures_of(strategy, answers) == expected[strategy.name], (
        f"{strategy.name} ({strategy.note}) no longer does what {EXPECTED.name} says: has the framework changed?"
    )


@pytest.mark.parametrize("strategy", [s for s in ALL if s.group in ("plain", "gate", "nemo")][::3], ids=name)
def test_a_second_run_gives_the_same_figures(strategy: Strategy) -> None:
    answers = [a for a in ANSWERS if a.language in ("de", "hi")]
    with quiet():
        first = compare([strategy], answers)
        second = compare([strategy], answers)
    assert first == second


def test_the_shipped_answers_cover_languages_and_codes() -> None:
    assert len(ANSWERS) >= 40
    assert len({a.id for a in ANSWERS}) == len(ANSWERS)
    assert {a.language for a in ANSWERS} == set(LANGUAGES)
    codes = Counter(a.code for a in ANSWERS)
    assert codes[None] >= 20
    assert {str(c) for c in Code} - {"check_failed", "provider_filtered"} == {c for c in codes if c}
    for answer in ANSWERS:
        if answer.code == "value_unsupported":
            assert answer.invented
            assert all(v in answer.answer and not any(v in s for s in answer.sources) for v in answer.invented)


def test_models_are_marked_as_models() -> None:
    for strategy in vendors.strategies():
        assert strategy.kind == MODEL
        assert "(model)" in strategy.name
        assert "http" not in strategy.note
        assert ".com" in strategy.note
    assert not [s for s in ALL if s.kind == MODEL and s.group != "vendors"]


def test_virtual_time_passes_at_once_and_in_order() -> None:
    import asyncio
    import time

    clock = Clock()

    async def main() -> list[str]:
        order: list[str] = []

        async def after(seconds: float, what: str) -> None:
            await asyncio.sleep(seconds)
            order.append(f"{what} {clock.now}")

        await asyncio.gather(after(3600, "b"), after(60, "a"))
        return order

    started = time.monotonic()
    assert run(clock, main) == ["a 60.0", "b 3600.0"]
    assert time.monotonic() - started < 30


def test_the_page_is_whole_and_carries_no_text_of_answers(tmp_path: Path) -> None:
    answers = [a for a in ANSWERS if a.language == "en"]
    with quiet():
        rows, figures = compare(list(plain()), answers)
    page = picture(rows, figures, answers)
    assert page.count("<svg") == 2
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    assert "417 million" not in page
    for strategy in plain():
        assert strategy.name in page


def test_the_command_prints_a_table_json_and_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert main(["compare", "--language", "en", "--group", "plain", "--html", str(page)]) == 0
    assert "show, then check the whole" in capsys.readouterr().out
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert main(["compare", "--language", "en", "--group", "plain", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert {row["strategy"] for row in data["rows"]} == {s.name for s in plain() if s.group == "plain"}


def test_ones_own_file_and_what_is_wrong_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "own.jsonl"
    own.write_text(
        json.dumps({"answer": "It has 7 rooms [S1]. More.", "sources": ["It has 7 rooms."]}) + "\n", encoding="utf-8"
    )
    assert main(["compare", str(own), "--group", "plain"]) == 0
    assert "1 answers" in capsys.readouterr().out
    for text, says in (
        ("", "no recorded answer"),
        ("{", "line 1: not valid JSON"),
        ("\n" + "[" * 100_000, "line 2: not valid JSON"),
        ('{"answer": 3}', "no text 'answer'"),
        ('{"answer": "a", "sources": "b"}', "list of texts"),
        ('{"answer": "a", "sources": ["b"], "violating": "c"}', "does not stand"),
        ('{"answer": "a", "sources": ["b"], "language": "xx"}', "line 1: no language data"),
        ('{"answer": "a", "sources": ["b"], "violating": 5}', "does not stand"),
        ('{"answer": "a", "sources": ["b"], "invented": 5}', "list of texts"),
        ('{"answer": "a", "sources": ["b"], "code": []}', "'code' must be a text"),
    ):
        own.write_text(text, encoding="utf-8")
        with pytest.raises(GateError, match=says):
            load(own)
        assert main(["compare", str(own)]) == 2
        assert says in capsys.readouterr().err
    assert main(["compare", str(tmp_path / "absent")]) == 2


def renew() -> None:
    """Write `expected.json` anew: ``python -m tests.compare.test_compare``."""
    answers = [a for a in ANSWERS if a.language in PINNED]
    found = {s.name: figures_of(s, answers) for s in OTHERS}
    EXPECTED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    renew()
