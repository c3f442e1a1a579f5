"""The benchmark of a sentence through a Guard, against the stock sentence chunker, runs and prints."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.framework, pytest.mark.slow]
BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "guardrails_cost.py"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The benchmark as a module; what it sets is put back."""
    from guardrails.settings import settings

    monkeypatch.setattr(settings, "disable_tracing", True)
    spec = importlib.util.spec_from_file_location("guardrails_cost", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(__import__("sys").modules, "guardrails_cost", module)
    spec.loader.exec_module(module)
    return module


def test_the_benchmark_measures_both_ways_at_each_length(
    benchmark: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The figures are printed, not asserted: machines are noisy."""
    monkeypatch.setattr("sys.argv", ["guardrails_cost.py", "--sentences", "10", "20", "--repeat", "1"])
    assert benchmark.main() in (0, 1)
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == ["sentences", "ours,", "µs", "stock,", "µs", "ratio", "gate,", "µs"]
    cells = [[float(cell) for cell in row.split()] for row in rows[:2]]
    assert [row[0] for row in cells] == [10, 20]
    assert all(cell > 0 for row in cells for cell in row)
    assert all(abs(row[3] - row[1] / row[2]) < 0.01 for row in cells)
