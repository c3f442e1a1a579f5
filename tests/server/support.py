"""A service over a few documents, and a client that reads its events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx

from guardrails_plugins.server.answers import Service
from guardrails_plugins.server.budget import Budget
from guardrails_plugins.server.metrics import Metrics
from guardrails_plugins.server.providers import Extractive
from guardrails_plugins.server.retrieval import Library
from guardrails_plugins.server.settings import Settings

FEES = """# Fees

A day ticket for the harbour museum costs 14 euros. Children under 12 years pay nothing.

# Opening hours

The harbour museum opens at 9:30 on weekdays. It stays closed on 1 January.
"""
PERSIAN = """# موزه

بلیت موزهٔ بندر ۱۴ یورو است. موزه ساعت ۹:۳۰ باز می‌شود.
"""
GOOD = "A day ticket for the harbour museum costs 14 euros [S1]. Children under 12 years pay nothing [S1]."
BAD = "A day ticket for the harbour museum costs 14 euros [S1]. Students pay 8731 euros [S1]. More follows here [S1]."
SECRET = "8731"
QUESTION = "What does a day ticket for the harbour museum cost?"


def folder(path: Path) -> Path:
    """The documents, written to a folder."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "fees.md").write_text(FEES, encoding="utf-8")
    (path / "persian.md").write_text(PERSIAN, encoding="utf-8")
    return path


def service(path: Path, provider: Any = None, *, budget: Budget | None = None, **settings: Any) -> Service:
    """A service over the documents."""
    library = Library(folder(path / "docs"))
    library.index()
    chosen = provider if provider is not None else Extractive(piece_seconds=0)
    return Service(library, chosen, Settings(**settings), budget or Budget(), Metrics())


def events(text: str) -> list[tuple[str, dict[str, Any]]]:
    """The events of a whole stream; comments are dropped."""
    found = []
    for block in text.split("\n\n"):
        lines = [line for line in block.split("\n") if line and not line.startswith(":")]
        if lines:
            name = next(line[7:] for line in lines if line.startswith("event: "))
            data = "\n".join(line[6:] for line in lines if line.startswith("data: "))
            found.append((name, json.loads(data)))
    return found


def ask(url: str, question: str = QUESTION, **more: Any) -> httpx.Response:
    """One whole answer."""
    headers = more.pop("headers", {})
    body = {"question": question, **more}
    return httpx.post(f"{url}/v1/answers", json=body, headers=headers, timeout=30, trust_env=False)


def released(found: list[tuple[str, dict[str, Any]]]) -> str:
    """All released text."""
    return "".join(data["text"] for name, data in found if name == "sentence")
