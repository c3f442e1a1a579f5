"""Where the sources of a NeMo request come from: its context message, or what NeMo retrieved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from guardrails_plugins.core.sources import Source, SourceIndex


def of_messages(messages: Iterable[Mapping[str, Any]] | None) -> dict[str, Any]:
    """The context of a request: the content of its context messages, later ones over earlier ones."""
    context: dict[str, Any] = {}
    for message in messages or ():
        content = message.get("content")
        if message.get("role") == "context" and isinstance(content, Mapping):
            context.update(content)
    return context


def question_of(messages: Iterable[Mapping[str, Any]] | None) -> str | None:
    """The text of the last user message, or None."""
    for message in reversed(list(messages or ())):
        if message.get("role") == "user":
            return _user_text(message.get("content"))
    return None


def _user_text(content: Any) -> str | None:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [p.get("text") for p in content if isinstance(p, Mapping)]
        return " ".join(p for p in parts if isinstance(p, str)) or None
    return None


def plain(messages: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
    """The messages with sources as plain data (NeMo writes context messages as JSON); the caller's stay as they are."""
    if messages is None:
        return None
    return [_plain_message(m) for m in messages]


def _plain_message(message: dict[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    if message.get("role") != "context" or not isinstance(content, Mapping):
        return message
    changed: dict[str, Any] = {}
    if "sources" in content:
        changed["sources"] = _plain_sources(content["sources"])
    chunks = content.get("relevant_chunks")
    if isinstance(chunks, (list, tuple)) and all(isinstance(c, str) for c in chunks):
        # NeMo takes the chunks as one text, and fails on a list.
        changed |= {"relevant_chunks": "\n".join(chunks), "relevant_chunks_sep": list(chunks)}
    return {**message, "content": {**content, **changed}} if changed else message


def _plain_sources(sources: Any) -> Any:
    if isinstance(sources, SourceIndex):
        sources = sources.sources
    if isinstance(sources, (list, tuple)):
        return [_plain_source(s) for s in sources]
    return sources


def _plain_source(source: Any) -> Any:
    if not isinstance(source, Source):
        return source
    data = {"text": source.text, "id": source.id, "language": source.language, "url": source.url}
    return {key: value for key, value in data.items() if value is not None}


def retrieved(context: Mapping[str, Any] | None) -> list[str] | None:
    """The sources in NeMo's `relevant_chunks`, or None when nothing was retrieved.

    `relevant_chunks_sep` keeps the chunks apart; it is used only while it still says the same as
    `relevant_chunks`, which a retrieval rail may have changed.
    """
    if not context:
        return None
    joined = context.get("relevant_chunks")
    apart = context.get("relevant_chunks_sep")
    chunks = [c for c in apart if isinstance(c, str)] if isinstance(apart, (list, tuple)) else []
    if isinstance(joined, (list, tuple)):
        return [c for c in joined if isinstance(c, str)]
    if isinstance(joined, str):
        if chunks and _squeezed("".join(chunks)) == _squeezed(joined):
            return chunks
        return [joined.strip()] if joined.strip() else None
    return chunks or None


def _squeezed(text: str) -> str:
    return "".join(text.split())
