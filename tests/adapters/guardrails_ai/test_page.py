"""The documentation page: its code runs, and prints what the page says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.framework
PAGE = Path(__file__).parents[3] / "docs" / "guardrails-ai.md"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_page_says_what_its_code_prints() -> None:
    namespace: dict[str, Any] = {}
    printed = ""
    compared = 0
    for kind, body in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if kind == "python":
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(body, str(PAGE), "exec"), namespace)
            printed = output.getvalue()
        else:
            assert printed == body
            compared += 1
    assert compared == 4
