"""Where the sources of a NeMo request come from: its context message, or what NeMo retrieved."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

from guardrails_plugins.core.sources import Source, SourceIndex


class Indexes:
    """Indexes of the sources of late requests: turns of one conversation, and questions about one document, share one.

    Keyed by the sources themselves, so that no request can meet another's. Bounded by `count`
    indexes and `chars` code points of sources in all; the longest unused goes first.
    """

    def __init__(self, *, count: int = 64, chars: int = 4_000_000) -> None:
        self._kept: OrderedDict[tuple[Any, ...], SourceIndex] = OrderedDict()
        self._count, self._chars, self._held = count, chars, 0
        self._lock = threading.Lock()

    def of(self, sources: Any, language: str) -> SourceIndex:
        """The index of some sources. Raises `SourceError` as `SourceIndex` does."""
        if isinstance(sources, SourceIndex):
            return sources
        key = _key(sources, language)
        if key is None:
            return SourceIndex(sources, language=language)
        with self._lock:
            index = self._kept.get(key)
            if index is not None:
                self._kept.move_to_end(key)
                return index
        index = SourceIndex(sources, language=language)
        with self._lock:
            self._keep(key, index)
        return index

    def _keep(self, key: tuple[Any, ...], index: SourceIndex) -> None:
        if key not in self._kept:
            self._kept[key] = index
            self._held += _chars(index)
        while len(self._kept) > self._count or (self._held > self._chars and self._kept):
            _, gone = self._kept.popitem(last=False)
            self._held -= _chars(gone)


def _chars(index: SourceIndex) -> int:
    return sum(len(s.text) for s in index.sources)


def _key(sources: Any, language: str) -> tuple[Any, ...] | None:
    if not isinstance(sources, (list, tuple)):
        return None
    try:
        parts = [tuple(sorted(s.items())) if isinstance(s, Mapping) else s for s in sources]
        return (language, *((type(p), p) for p in parts if hash(p) is not None))
    except TypeError:  # something that cannot be a source: `SourceIndex` says so
        return None


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
        if chunks and squeezed("".join(chunks)) == squeezed(joined):
            return chunks
        return [joined.strip()] if joined.strip() else None
    return chunks or None


def squeezed(text: str) -> str:
    """The text without whitespace: NeMo trims and joins chunks."""
    return "".join(text.split())
