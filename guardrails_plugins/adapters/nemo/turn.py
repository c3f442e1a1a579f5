"""What NeMo retrieved in the turn that is being answered, as its events tell.

The context of a conversation keeps `relevant_chunks` until somebody overwrites them, and NeMo's
history cache hands the events of one conversation to any other that begins with the same words.
So what stands in the context may belong to an earlier turn or to another request; only an update
after the last user utterance belongs to this one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from guardrails_plugins.adapters.nemo.sources import retrieved, squeezed

_KEYS = ("relevant_chunks", "relevant_chunks_sep", "retrieved_for")


def retrieved_in_turn(events: Sequence[Any]) -> tuple[bool, list[str] | None]:
    """Whether the turn has retrieved, and its chunks: an empty list when a search found none, None when there are none.

    NeMo's own retrieval action without a knowledge base writes back what it finds in the context;
    that is no retrieval.
    """
    before, updates = _split(events)
    merged: dict[str, Any] = {}
    for update in updates:
        kept = update.get("retrieved_for", "") is None and _text(update) == _text(before)
        if not kept:
            merged.update(update)
    if not merged:
        return False, None
    chunks = retrieved(merged)
    return True, [] if chunks is None and merged.get("retrieved_for") else chunks


def _split(events: Sequence[Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What the context held before the last user utterance, and the updates after it."""
    before: dict[str, Any] = {}
    updates: list[dict[str, Any]] = []
    for event in events:
        if not isinstance(event, Mapping):
            continue
        if event.get("type") == "UtteranceUserActionFinished":
            for update in updates:
                before.update(update)
            updates = []
        elif event.get("type") == "ContextUpdate":
            data = event.get("data")
            if isinstance(data, Mapping) and any(key in data for key in _KEYS[:2]):
                updates.append({key: data[key] for key in _KEYS if key in data})
    return before, updates


def _text(update: Mapping[str, Any]) -> str:
    text = update.get("relevant_chunks")
    return squeezed(text) if isinstance(text, str) else ""
