"""The hub package, built as a wheel and used from a fresh environment."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.conftest import require_module

pytestmark = [pytest.mark.framework, pytest.mark.slow]
ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "hub_validators" / "sentence_gate"
HEADINGS = ["Overview", "Intended use", "Requirements", "Installation", "Usage", "API reference"]
USE = """
import guardrails_ai.sentence_gate, guardrails_plugins
from guardrails import Guard
from guardrails.hub import SentenceGateValidator
from guardrails_ai.sentence_gate import sentence_stream

def llm(*, messages=None, **kwargs):
    yield from ("The hall has 40 se", "ats [S1]. Fees ended in 2", "019 [S1]. More.")

assert SentenceGateValidator is guardrails_ai.sentence_gate.SentenceGateValidator
guard = Guard().use(SentenceGateValidator(on_fail="filter"))
outcomes = guard(sentence_stream(llm), messages=[{"role": "user", "content": "q"}],
                 metadata={"sources": ["The hall has 40 seats."]}, stream=True)
print("".join(outcome.validated_output for outcome in outcomes))
print(guardrails_ai.sentence_gate.__file__)
print(guardrails_plugins.__file__)
"""


def run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300, check=False, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(folder: Path, into: Path) -> None:
    run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-index",
        "--no-build-isolation",
        "-w",
        into,
        folder,
    )


def test_the_wheel_works_in_a_fresh_environment(tmp_path: Path) -> None:
    require_module("hatchling")
    wheels, fresh = tmp_path / "wheels", tmp_path / "fresh"
    build(ROOT, wheels)
    build(PACKAGE, wheels)
    (wheel,) = wheels.glob("guardrails_ai_sentence_gate-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "guardrails_ai/sentence_gate/__init__.py" in names
    assert "guardrails_ai/__init__.py" not in names
    run(sys.executable, "-m", "venv", "--without-pip", fresh)
    python = fresh / "bin" / "python"
    install = ("install", "-q", "--no-deps", "--no-index", "--find-links", wheels)
    run(sys.executable, "-m", "pip", "--python", python, *install, "guardrails-ai-sentence-gate", "guardrails-plugins")
    # The framework and its two hundred dependencies are borrowed, after the fresh environment's own packages.
    site = next((fresh / "lib").glob("python3.*")) / "site-packages"
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    shown, hub, core = run(python, "-W", "ignore", "-c", USE, cwd=fresh).splitlines()[-3:]
    assert shown == "The hall has 40 seats."
    assert hub.startswith(str(fresh))
    assert core.startswith(str(fresh))
    # From outside the checkout: its folders must not be found before the installed packages.
    pytest_of_package = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", PACKAGE, PACKAGE / "tests")
    run(python, "-W", "ignore", *pytest_of_package, cwd=fresh)


def test_the_readme_has_guardrails_headings() -> None:
    readme = (PACKAGE / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", readme, re.MULTILINE) == HEADINGS
