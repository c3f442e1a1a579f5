"""What a call may not switch off.

NeMo lets a request turn its output rails off: by the `options`, or, meant for its own use, by
variables in a context message. Both come over HTTP from whoever may send a request, and text that
a flow of the configuration says would then go out unjudged. So the rail of the gate stays on. The
other output rails then run too: NeMo 0.24 runs them all as soon as one is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nemoguardrails.rails.llm.options import GenerationOptions

from guardrails_plugins.adapters.nemo.settings import FLOW

RESERVED = frozenset({"skip_output_rails", "generation_options", "triggered_output_rail"})
"""Context variables by which NeMo's own flows decide whether output rails run."""


def gated_options(options: Any) -> Any:
    """The options of a call with the flow of the gate among its output rails.

    They stay as they are when output rails are on, and when no answer is made (`dialog` off, as
    `check_async` does for the rails that it is asked for).
    """
    if not options or not isinstance(options, (dict, GenerationOptions)):
        return options
    made = GenerationOptions(**options) if isinstance(options, dict) else options
    output = made.rails.output
    if made.rails.dialog is False or output is True or (isinstance(output, list) and FLOW in output):
        return options
    rails = made.rails.model_copy(update={"output": [*(output or ()), FLOW]})
    return made.model_copy(update={"rails": rails})


def gated_messages(messages: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
    """The messages without `RESERVED` variables in context messages and events; the caller's stay as they are."""
    if messages is None:
        return None
    return [_message(m) for m in messages]


def gated_events(events: Any) -> Any:
    """The same for a list of events."""
    return [_event(e) for e in events] if isinstance(events, list) else events


def _message(message: dict[str, Any]) -> dict[str, Any]:
    if message.get("role") == "context":
        return _without(message, "content")
    if message.get("role") == "event" and isinstance(message.get("event"), Mapping):
        return {**message, "event": _event(message["event"])}
    return message


def _event(event: Any) -> Any:
    if isinstance(event, dict) and event.get("type") == "ContextUpdate":
        return _without(event, "data")
    return event


def _without(holder: dict[str, Any], key: str) -> dict[str, Any]:
    content = holder.get(key)
    if not isinstance(content, Mapping) or not RESERVED & content.keys():
        return holder
    return {**holder, key: {k: v for k, v in content.items() if k not in RESERVED}}
