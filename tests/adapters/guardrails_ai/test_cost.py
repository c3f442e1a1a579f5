"""The cost of a sentence through a Guard, against the stock sentence chunker (the benchmark, once)."""

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


def test_ours_costs_at_most_a_fifth_and_stays_linear(benchmark: Any) -> None:
    first, last = benchmark.measure([100, 400], repeat=2)
    assert last.ratio <= benchmark.LIMIT
    assert last.ours / first.ours <= benchmark.GROWTH
    assert last.stock / first.stock > last.ours / first.ours
    assert last.gate / first.gate <= benchmark.GROWTH
    assert last.gate < last.ours
