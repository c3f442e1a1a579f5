"""The flow itself, for configurations that list it without having copied rails.co."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nemoguardrails.colang import parse_colang_file

from guardrails_plugins.adapters.nemo.errors import NemoConfigError
from guardrails_plugins.adapters.nemo.settings import FLOW


def folder() -> Path:
    """The NeMo folder that ships with the package: config.yml, rails.co, config.py."""
    packaged = Path(__file__).parents[2] / "nemo_config"
    if packaged.is_dir():
        return packaged
    return Path(__file__).parents[3] / "nemo_config"  # a source checkout


def provide_flow(app: Any) -> None:
    """Add the flow ``sentence gate`` to a Colang 1 app that does not define one.

    NeMo has made its runtime by the time `init(app)` runs, and takes no further flow through any
    public method; when its own loader is gone, `NemoConfigError` says which file to copy.
    """
    if any(flow.get("id") == FLOW for flow in app.config.flows):
        return
    path = folder() / "rails.co"
    load = getattr(app.runtime, "_load_flow_config", None)
    if load is None:
        raise NemoConfigError(f"the flow {FLOW!r} is not defined: copy {path} into the configuration folder")
    for flow in parse_colang_file(path.name, path.read_text(encoding="utf-8"), version="1.0")["flows"]:
        flow["is_system_flow"] = flow["is_subflow"] = True
        app.config.flows.append(flow)
        load(flow)
