"""All strategies over all answers: running them, and one row for each."""

from __future__ import annotations

import asyncio
import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from guardrails_plugins.compare.recorded import Recorded
from guardrails_plugins.compare.seen import Figures, figures
from guardrails_plugins.compare.strategies import Strategy


@dataclass(frozen=True, slots=True)
class Row:
    """One strategy over all answers. Seconds are virtual; None where there is nothing to measure."""

    strategy: str
    kind: str
    group: str
    note: str
    leaking_answers: int
    leaked_chars: int
    leaked_values: int
    missed: int
    false_stops: int
    lost_chars: int
    altered: int
    errors: tuple[str, ...]
    first_text_s: float | None
    hold_median_s: float | None
    hold_95_s: float | None
    pieces_after: float
    closing_s: float | None
    checks: int
    check_chars: int

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {name: getattr(self, name) for name in self.__slots__}


def row(strategy: Strategy, found: Sequence[Figures]) -> Row:
    """The figures of one strategy, taken together."""
    holds = sorted(hold for f in found for hold in f.hold_s)
    firsts = [f.first_text_s for f in found if f.first_text_s is not None]
    closings = [f.closing_s for f in found if f.closing_s is not None]
    violating = [f for f in found if f.identical is None and not f.false_stop]
    return Row(
        strategy=strategy.name,
        kind=strategy.kind,
        group=strategy.group,
        note=strategy.note,
        leaking_answers=sum(f.leaked_chars > 0 for f in found),
        leaked_chars=sum(f.leaked_chars for f in found),
        leaked_values=sum(f.leaked_values for f in found),
        missed=sum(f.missed for f in found),
        false_stops=sum(f.false_stop for f in found),
        lost_chars=sum(f.lost_chars for f in found),
        altered=sum(f.identical is False for f in found),
        errors=tuple(sorted({f.error for f in found if f.error is not None})),
        first_text_s=_round(statistics.median(firsts)) if firsts else None,
        hold_median_s=_round(statistics.median(holds)) if holds else None,
        hold_95_s=_round(holds[min(len(holds) - 1, int(0.95 * len(holds)))]) if holds else None,
        pieces_after=_round(sum(f.pieces_after for f in found) / max(1, len(violating))),
        closing_s=_round(max(closings)) if closings else None,
        checks=sum(f.checks for f in found),
        check_chars=sum(f.check_chars for f in found),
    )


def compare(
    strategies: Iterable[Strategy],
    answers: Sequence[Recorded],
    *,
    advance: Callable[[float], None] | None = None,
) -> tuple[list[Row], dict[str, list[Figures]]]:
    """Run each strategy on each answer. `advance` is called with 1 after each answer.

    Inside a running event loop (a notebook) the work is done in a thread, where none runs.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _compare(strategies, answers, advance)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(_compare, strategies, answers, advance).result()


def _compare(
    strategies: Iterable[Strategy], answers: Sequence[Recorded], advance: Callable[[float], None] | None
) -> tuple[list[Row], dict[str, list[Figures]]]:
    rows: list[Row] = []
    all_figures: dict[str, list[Figures]] = {}
    for strategy in strategies:
        found = []
        for recorded in answers:
            found.append(figures(strategy.name, strategy.run(recorded)))
            if advance is not None:
                advance(1)
        all_figures[strategy.name] = found
        rows.append(row(strategy, found))
    return rows, all_figures


def _round(value: float) -> float:
    return value if math.isinf(value) else round(value, 4)
