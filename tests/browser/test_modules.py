"""The page's event parser, tested on its own by Node's test runner."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.conftest import require_program

HERE = Path(__file__).parent
PAGE = Path(__file__).parents[2] / "guardrails_plugins" / "server" / "page"


def test_the_event_parser_reads_as_the_standard_says(tmp_path: Path) -> None:
    node = require_program("node")
    # Under this name every version of Node takes it as a module.
    module = tmp_path / "sse.mjs"
    module.write_text((PAGE / "sse.js").read_text(encoding="utf-8"), encoding="utf-8")
    done = subprocess.run(
        [node, "--test", "--test-reporter=tap", str(HERE / "sse.test.mjs")],
        env={**os.environ, "SSE_MODULE": str(module)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert "# fail 0" in done.stdout
    assert "# pass 21" in done.stdout
