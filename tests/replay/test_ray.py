"""Ray Data gives the local report to the digit, on a local cluster of two workers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from guardrails_plugins import GatePolicy
from guardrails_plugins.cli import main
from guardrails_plugins.replay.engine import replay
from tests.replay.test_replay import BAD, BROKEN, FALSE, GOOD, write

ray = pytest.importorskip("ray", reason="the extra ray is not installed")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster() -> Any:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1")
    yield
    ray.shutdown()


def test_the_report_equals_the_local_one(cluster: Any, tmp_path: Path) -> None:
    from guardrails_plugins.replay.ray_engine import replay_ray

    policies = (GatePolicy(), GatePolicy(citations="off"))
    file = write(tmp_path / "many.jsonl", [GOOD, BAD, BROKEN[1], "", FALSE] * 70)
    there = replay_ray([str(file)], policies, show_text=True).as_dict()
    assert there == replay([file], policies, workers=1, show_text=True).as_dict()
    assert there["policy"]["answers"]["total"] == 210


def test_parquet_is_read_too(cluster: Any, tmp_path: Path) -> None:
    from guardrails_plugins.replay.ray_engine import replay_ray

    rows = [{"answer": r["answer"], "sources": r["sources"], "label": r.get("label")} for r in (GOOD, BAD, FALSE)]
    path = str(tmp_path / "table")
    ray.data.from_items(rows).write_parquet(path)
    files = [str(p) for p in sorted(Path(path).glob("*.parquet"))]
    data = replay_ray(files, (GatePolicy(),)).as_dict()
    assert (data["answers"]["count"], data["answers"]["total"]) == (2, 3)


def test_the_command(cluster: Any, tmp_path: Path, capsys: Any) -> None:
    file = write(tmp_path / "a.jsonl", [GOOD, BAD])
    assert main(["replay", str(file), "--engine", "ray", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["answers"]["total"] == 2
