"""The provider's stream as the driver reads it: framing off, reasoning and metadata kept aside."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from nemoguardrails.types import LLMResponseChunk, ToolCall, UsageInfo

from guardrails_plugins.adapters.nemo.errors import ProviderStreamError
from guardrails_plugins.adapters.nemo.framing import Framing

FINISH = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "length": "length",
    "content_filter": "content_filter",
    # NeMo folds every reason it does not know into "other": the safe reading is that the answer is not whole.
    "other": "length",
}
"""NeMo's finish reasons in the words of `SentenceGate.finish`; "error" is an exception."""


def refused(metadata: Any) -> bool:
    """Whether a provider's metadata says that it refused."""
    return isinstance(metadata, dict) and bool(metadata.get("refusal"))


class Tap:
    """Reads one model's stream. What it met on the way stands in its attributes afterwards.

    `error` is the provider's exception, `had_text` whether any text of the answer had arrived by
    then. `provider_refused` is set when the provider's metadata says so, or the stream ended well
    and empty: NeMo's own client drops the refusal field of the OpenAI protocol.
    """

    def __init__(self, stream: Any, framing: Framing, *, strict: bool) -> None:
        self._stream = stream
        self._framing = framing
        self._strict = strict
        self.usage: UsageInfo | None = None
        self.model: str | None = None
        self.request_id: str | None = None
        self.tool_calls: list[ToolCall] | None = None
        self.error: Exception | None = None
        self.had_text = False
        self.provider_refused = False

    async def chunks(self) -> AsyncIterator[LLMResponseChunk]:
        """The stream for the driver. Closing this closes the provider's stream."""
        finish: str | None = None
        try:
            async for chunk in self._stream:
                self._keep(chunk)
                finish = chunk.finish_reason or finish
                text = self._framing.feed(chunk.delta_content or "")
                self.had_text = self.had_text or bool(text.strip())
                if text or chunk.delta_reasoning or chunk.usage:
                    yield LLMResponseChunk(
                        delta_content=text or None, delta_reasoning=chunk.delta_reasoning, usage=chunk.usage
                    )
            if finish == "error":
                raise ProviderStreamError("finish reason error")
        except Exception as error:
            self.error = error
            raise
        finally:
            close = getattr(self._stream, "aclose", None)
            if close is not None:
                await close()
        yield self._last(finish)

    def _keep(self, chunk: LLMResponseChunk) -> None:
        self.usage = chunk.usage or self.usage
        self.model = chunk.model or self.model
        self.request_id = chunk.request_id or self.request_id
        self.tool_calls = chunk.delta_tool_calls or self.tool_calls
        self.provider_refused = self.provider_refused or refused(chunk.provider_metadata)

    def _last(self, finish: str | None) -> LLMResponseChunk:
        rest = self._framing.finish()
        self.had_text = self.had_text or bool(rest.strip())
        if finish is None:
            # A model of NeMo's own client always gives a reason; many others never do.
            finish = "length" if self._strict else "stop"
        reason: Any = FINISH.get(finish, "length")
        if reason == "stop" and not self.had_text and not self.tool_calls:
            self.provider_refused = True
        return LLMResponseChunk(delta_content=rest or None, finish_reason=reason)
