"""The notebooks run from a clean state, and say what they said when they were kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import require_module

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(p.name for p in FOLDER.glob("*.ipynb"))

pytestmark = pytest.mark.xdist_group("notebooks")


def texts(notebook: Any) -> list[str]:
    """The text that each code cell printed or displayed; pictures and warnings apart."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        said = []
        for output in cell.outputs:
            if output.output_type == "stream" and output.name == "stdout":
                said.append(output.text)
            elif "text/markdown" in output.get("data", {}):
                said.append(output.data["text/markdown"])
        found.append("".join(said))  # how print is cut into pieces is the kernel's affair
    return found


def test_there_are_three() -> None:
    assert NOTEBOOKS == ["framework_comparison.ipynb", "guardrails_ai_quickstart.ipynb", "nemo_quickstart.ipynb"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_runs_and_says_what_it_said(name: str) -> None:
    nbformat, nbclient = require_module("nbformat"), require_module("nbclient")
    kept = nbformat.read(FOLDER / name, as_version=4)
    fresh = nbformat.read(FOLDER / name, as_version=4)
    for cell in fresh.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    os.environ["PYTHONPATH"] = os.pathsep.join([str(FOLDER.parent), os.environ.get("PYTHONPATH", "")])
    nbclient.NotebookClient(fresh, timeout=280, resources={"metadata": {"path": str(FOLDER)}}).execute()
    assert texts(fresh) == texts(kept)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_outputs_are_kept_and_name_no_machine(name: str) -> None:
    nbformat = require_module("nbformat")
    text = (FOLDER / name).read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)
    assert any(texts(notebook))
    for word in ("/home/", "/root/", "/work/", "/tmp/", "Traceback"):
        assert word not in text


def test_the_comparison_has_its_plots() -> None:
    nbformat = require_module("nbformat")
    notebook = nbformat.read(FOLDER / "framework_comparison.ipynb", as_version=4)
    pictures = [
        o for c in notebook.cells if c.cell_type == "code" for o in c.outputs if "image/png" in o.get("data", {})
    ]
    assert len(pictures) == 2
