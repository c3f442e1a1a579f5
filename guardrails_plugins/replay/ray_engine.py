"""The same judge over Ray Data: recordings from JSON Lines or Parquet, by path or URL (extra: ray)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from guardrails_plugins.core.errors import GateError
from guardrails_plugins.core.policy import GatePolicy
from guardrails_plugins.replay.engine import Batch, Result, empty, judge_batch
from guardrails_plugins.replay.records import Line
from guardrails_plugins.replay.report import Changes, Report


class RayMissingError(GateError):
    """Ray is not installed."""


def replay_ray(files: Sequence[str], policies: tuple[GatePolicy, ...], *, show_text: bool = False) -> Result:
    """Judge files on the cluster that `ray.init` finds or starts; the result equals the local one.

    Raises `RayMissingError` without the extra.
    """
    try:
        import ray
    except ModuleNotFoundError:
        raise RayMissingError("--engine ray needs the extra: pip install 'guardrails-plugins[ray]'") from None
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False)
    # Batches come back in their order, so that lines can be counted on: the report equals the local one.
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    result = empty(policies)
    for file in files:
        table = file.endswith(".parquet")
        data = ray.data.read_parquet(file) if table else ray.data.read_text(file, drop_empty_lines=False)
        rows = data.map_batches(_judge, batch_size=64, fn_args=(file, policies, show_text), batch_format="numpy")
        before = 0
        for row in rows.iter_rows():
            part = json.loads(row["part"])
            result.merge(_restore(part, before))
            before += part["lines"]
    return result


def _judge(batch: dict[str, Any], file: str, policies: tuple[GatePolicy, ...], show_text: bool) -> dict[str, list[str]]:
    """One batch of recordings as one row: its part of the result."""
    rows = batch["text"] if list(batch) == ["text"] else _rows(batch)
    lines = tuple(Line(number, 0, row.encode()) for number, row in enumerate(rows, 1))
    part = judge_batch(Batch(file, lines), policies, show_text)
    dumped = {"reports": [r.dump() for r in part.reports], "changes": part.changes.as_dict(), "lines": len(lines)}
    return {"part": [json.dumps(dumped)]}


def _rows(batch: dict[str, Any]) -> list[str]:
    """Rows of a table as JSON: arrays become lists."""
    names = list(batch)
    return [
        json.dumps({n: batch[n][i] for n in names}, default=lambda v: v.tolist()) for i in range(len(batch[names[0]]))
    ]


def _restore(part: dict[str, Any], before: int) -> Result:
    """A part of the result, its line numbers moved behind those of the parts before it."""
    for report in part["reports"]:
        for examples in report["examples"].values():
            for example in examples:
                example["line"] += before
        report["named"] = [[file, line + before, reason] for file, line, reason in report["named"]]
    return Result(tuple(map(Report.restore, part["reports"])), Changes.restore(part["changes"]))
