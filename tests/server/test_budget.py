"""The budget when its file is held by another process, and reports that no model can mean."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from guardrails_plugins.core.usage import Usage
from guardrails_plugins.server.budget import MAX_STREAM_TOKENS, Budget


def test_a_locked_file_loses_no_tokens(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "budget.sqlite"
    budget = Budget(file, limit=100)
    budget.add(Usage(output_reported=10))
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    budget.add(Usage(output_reported=20))
    assert not budget.is_used_up()
    budget.add(Usage(output_reported=80))
    assert budget.is_used_up()
    other.execute("ROLLBACK")
    budget.add(Usage(output_reported=1))
    assert budget.spent().reported == 111
    assert budget.spent().streams == 4
    budget.close()
    assert Budget(file).spent().reported == 111
    assert "kept in memory" in caplog.text


def test_a_report_that_no_database_holds_is_counted() -> None:
    budget = Budget(limit=5)
    budget.add(Usage(output_reported=10**30))
    assert budget.spent().reported == MAX_STREAM_TOKENS
    assert budget.is_used_up()
