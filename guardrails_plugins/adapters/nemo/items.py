"""`gate_items`: the wrapper for a stream of one's own, given to NeMo as ``generator=``."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from contextlib import aclosing
from typing import Any

from guardrails_plugins.adapters.nemo import session as sessions
from guardrails_plugins.adapters.nemo.errors import GateItemsError, ProviderStreamError
from guardrails_plugins.adapters.nemo.run import Run
from guardrails_plugins.streaming.driver import gate_stream


class GatedItems:
    """An external stream as NeMo may see it. One object serves one call of `stream_async`."""

    def __init__(self, stream: AsyncIterable[Any]) -> None:
        self._stream = stream
        self._session: sessions.Session | None = None

    def bind(self, session: sessions.Session) -> None:
        """Give it the sources of its request. Raises `GateItemsError` when it already has some."""
        if self._session is not None:
            raise GateItemsError("gate_items(...) serves one stream_async call; wrap the next stream anew")
        self._session = session

    def __aiter__(self) -> AsyncIterator[str]:
        if self._session is None:
            raise GateItemsError("pass gate_items(stream) as generator= to stream_async of a gated LLMRails")
        return self._items(self._session)

    async def aclose(self) -> None:
        """Close the wrapped stream."""
        close = getattr(self._stream, "aclose", None)
        if close is not None:
            await close()

    async def _items(self, session: sessions.Session) -> AsyncIterator[str]:
        gate = session.gate()
        if gate is None:
            await self.aclose()
            yield session.stop(session.failure(sessions.NO_SOURCES))
            return
        run = Run(session, gate_stream(self._stream, gate, timeout_s=session.settings.timeout_s))
        async with aclosing(run.items()) as items:
            async for item in items:
                yield item
        if run.failed is not None:
            raise ProviderStreamError(run.failed)
        last = run.last_item()
        if last is not None:
            yield last


def gate_items(stream: AsyncIterable[Any]) -> GatedItems:
    """Wrap an async stream (of strings or provider chunks) for ``stream_async(generator=...)``.

    The sources are those of the call's context message.
    """
    if not hasattr(stream, "__aiter__"):
        raise GateItemsError(f"gate_items takes an async iterator, not {type(stream).__name__}")
    return GatedItems(stream)
