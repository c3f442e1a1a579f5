"""The demo in NeMo Guardrails: our folder, and a rail of the same check under NeMo's own defaults."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import AsyncIterator
from typing import Any

from nemoguardrails import LLMRails, RailsConfig
from nemoguardrails.actions.rail_outcome import RailOutcome
from nemoguardrails.types import LLMResponse, LLMResponseChunk

from guardrails_plugins.commands.demo import PIECE_SECONDS, Recorded, Seen
from guardrails_plugins.commands.init import nemo_folder
from guardrails_plugins.compare.nemo import COLANG
from guardrails_plugins.core.sources import SourceIndex
from guardrails_plugins.core.whole import check_text

# `stream_first`, `chunk_size` and `context_size` are left out: these are NeMo's defaults.
STOCK_YAML = """
models: []
rails:
  output:
    flows: [same check]
    streaming: {enabled: True}
"""


class RecordedModel:
    """An `LLMModel` that writes the recorded answer."""

    model_name = "recorded"
    provider_name: str | None = None
    provider_url: str | None = None

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded

    async def generate_async(self, prompt: Any, *, stop: Any = None, **_: Any) -> LLMResponse:
        return LLMResponse(content=self._recorded.answer)

    async def stream_async(self, prompt: Any, *, stop: Any = None, **_: Any) -> AsyncIterator[LLMResponseChunk]:
        self._recorded.begin()
        for piece in self._recorded.pieces():
            await asyncio.sleep(PIECE_SECONDS)
            yield LLMResponseChunk(delta_content=piece)


def gated(recorded: Recorded) -> Seen:
    """`nemo_config/` as it ships."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rails = LLMRails(RailsConfig.from_path(str(nemo_folder())), llm=RecordedModel(recorded))
    context = {"sources": recorded.sources, "language": recorded.language}
    return asyncio.run(_watch(rails, recorded, [{"role": "context", "content": context}]))


def stock(recorded: Recorded) -> Seen:
    """A rail that asks the same checks about each of NeMo's batches, released as NeMo does by default."""
    index = SourceIndex(recorded.sources)

    async def same_check(context: dict[str, Any], **_: Any) -> RailOutcome:
        outcome = check_text(context.get("bot_message") or "", index, language=recorded.language)
        return RailOutcome.block(reason=", ".join(outcome.codes)) if outcome.stopped else RailOutcome.allow()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = RailsConfig.from_content(yaml_content=STOCK_YAML, colang_content=COLANG)
        rails = LLMRails(config, llm=RecordedModel(recorded))
    rails.register_action(same_check, "same_check")
    return asyncio.run(_watch(rails, recorded, []))


async def _watch(rails: LLMRails, recorded: Recorded, before: list[dict[str, Any]]) -> Seen:
    seen = Seen(recorded)
    messages = [*before, {"role": "user", "content": recorded.question}]
    async for item in rails.stream_async(messages=messages):
        error = _error(item)
        if error is None:
            seen.show(item)
        else:
            seen.ending = error
    return seen


def _error(item: Any) -> str | None:
    if not isinstance(item, str) or not item.startswith('{"error"'):
        return None
    return str(json.loads(item)["error"]["message"])
