"""The flow itself, for configurations that list it without having copied rails.co."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from nemoguardrails.colang import parse_colang_file
from nemoguardrails.rails.llm.utils import get_action_details_from_flow_id

from guardrails_plugins.adapters.nemo.errors import NemoConfigError
from guardrails_plugins.adapters.nemo.settings import ACTION, FLOW

ACTION_2 = "SentenceGateAction"
"""The action's name in Colang 2."""

OUTPUT_2 = "output rails"
"""The flow that Colang 2 runs on every utterance, when ``guardrails`` is imported."""


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


def check_flow(config: Any) -> None:
    """Raise `NemoConfigError` when the flow that is to run the gate's action does not."""
    if config.colang_version == "1.0":
        # NeMo takes the first `execute` line of the flow for the rail of a stream.
        try:
            action = get_action_details_from_flow_id(FLOW, config.flows)[0]
        except ValueError:
            action = None
        if action != ACTION:
            raise NemoConfigError(
                f"let the flow {FLOW!r} of your Colang files begin with '$sentence_gate = execute {ACTION}' "
                f"(it executes {action}), or delete it: the package brings its own"
            )
        return
    flows = {flow.name: flow for flow in config.flows}
    if "run output rails" not in flows or ACTION_2 not in _reached(flows, OUTPUT_2):
        raise NemoConfigError(
            f"the sentence gate is installed but nothing runs it: 'import guardrails' and call "
            f"'await {ACTION_2}(text=$output_text)' in 'flow {OUTPUT_2} $output_text' of your Colang 2 files"
        )


def _reached(flows: dict[str, Any], name: str) -> set[str]:
    """Names of all flows and actions that a Colang 2 flow may call, directly or by others."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        flow = flows.get(waiting.pop())
        for called in _called(flow.elements) if flow is not None else ():
            if called not in seen:
                seen.add(called)
                waiting.append(called)
    return seen


def _called(element: Any) -> Iterator[str]:
    if isinstance(element, (list, tuple)):
        for part in element:
            yield from _called(part)
    elif isinstance(element, dict):
        yield from _called(list(element.values()))
    elif is_dataclass(element):
        name = getattr(element, "name", None)
        if type(element).__name__ == "Spec" and isinstance(name, str):
            yield name
        yield from _called([getattr(element, f.name) for f in fields(element)])
