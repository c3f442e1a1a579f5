"""The documentation: every Python block runs, every command parses, every link leads somewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from guardrails_plugins.cli import parser_of
from tests.conftest import missing

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(p.name for p in DOCS.glob("*.md"))
OWN_TESTS = {"nemo.md", "guardrails-ai.md"}
"""Pages whose blocks need a framework and run in its adapter's own tests."""

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)


def blocks(page: str, language: str) -> list[str]:
    return [body for kind, body in BLOCK.findall((DOCS / page).read_text(encoding="utf-8")) if kind == language]


@pytest.mark.parametrize("page", [p for p in PAGES if p not in OWN_TESTS])
def test_python_blocks_run_in_order(page: str) -> None:
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        exec(compile(block, page, "exec"), names)


def test_some_pages_have_python_blocks() -> None:
    assert sum(bool(blocks(p, "python")) for p in PAGES) >= 6


@pytest.mark.parametrize("page", [*PAGES, "../README.md"])
def test_commands_of_ours_parse(page: str) -> None:
    for block in blocks(page, "bash"):
        for line in block.replace("\\\n", " ").splitlines():
            for command in line.split("#")[0].split("&&"):
                words = [w for w in shlex.split(command) if "=" not in w or w.startswith("-")]
                if words[:1] == ["sentence-gate"]:
                    found = parser_of(words[1])
                    assert found is not None
                    found.parse_args(words[1:])


def test_each_page_is_in_the_site() -> None:
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [p for p in PAGES if f": {p}" not in site] == []


def test_the_tests_that_the_launch_page_names_are_there() -> None:
    named = re.findall(
        r"`((?:tests|benchmarks)/[\w./*]+)`", (DOCS / "before-you-launch.md").read_text(encoding="utf-8")
    )
    assert len(named) > 10
    for name in named:
        assert list(ROOT.glob(name)), name


def test_the_site_builds_and_its_links_hold(tmp_path: Path) -> None:
    try:
        import material  # noqa: F401
        import mkdocs  # noqa: F401
    except ImportError:
        missing("MkDocs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    reference = (tmp_path / "site" / "reference" / "index.html").read_text(encoding="utf-8")
    assert "SentenceGate" in reference
    assert "gate_stream_sync" in reference
