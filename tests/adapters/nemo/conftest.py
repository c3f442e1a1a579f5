"""The server that the NeMo tests share: it takes seconds to start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """`nemoguardrails server --config` over the shipped folder and a provider on this machine."""
    for needed in ("nemoguardrails", "openai", "fastapi"):
        pytest.importorskip(needed)
    from .provider import MODEL, Provider
    from .server import ANSWERS, Server
    from .support import FOLDER, write

    folder = tmp_path_factory.mktemp("nemo") / "gate"
    folder.mkdir()
    with Provider(ANSWERS) as provider:
        model = f"models: [{{type: main, engine: openai, model: {MODEL}, parameters: {{base_url: '{provider.url}'}}}}]"
        write(folder, yaml=model, prompt=True)
        (folder / "config.py").write_text((FOLDER / "config.py").read_text())
        running = Server(folder, provider)
        try:
            running.wait()
            yield running
        finally:
            running.stop()
