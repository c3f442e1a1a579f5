"""Guardrails AI with its telemetry off: it reads ~/.guardrailsrc at each `Guard()`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import require_module


@pytest.fixture(scope="package", autouse=True)
def quiet_guardrails(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A home folder whose run configuration sends no metrics."""
    require_module("guardrails")
    from guardrails.classes.rc import RC
    from guardrails.settings import settings

    home: Path = tmp_path_factory.mktemp("home")
    (home / ".guardrailsrc").write_text("enable_metrics=false\nuse_remote_inferencing=false\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        settings.rc = RC.load()
        yield
