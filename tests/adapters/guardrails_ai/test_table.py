"""The outcome table of the adapter, the README and the page are one text."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardrails_plugins.adapters.guardrails_ai import OUTCOME_TABLE, OnFailKind

pytestmark = pytest.mark.framework
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("page", ["README.md", "docs/guardrails-ai.md"])
def test_the_table_stands_in_the_documentation(page: str) -> None:
    assert OUTCOME_TABLE in (ROOT / page).read_text(encoding="utf-8")


def test_the_table_names_every_kind() -> None:
    for kind in OnFailKind:
        assert f"`{kind}`" in OUTCOME_TABLE
