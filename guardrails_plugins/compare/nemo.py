"""NeMo Guardrails: its output rails on streams as configured, and our folder."""

from __future__ import annotations

import json
import warnings
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

from nemoguardrails import LLMRails, RailsConfig
from nemoguardrails.actions.rail_outcome import RailOutcome
from nemoguardrails.types import LLMResponse, LLMResponseChunk

from guardrails_plugins.commands.init import nemo_folder
from guardrails_plugins.compare.recorded import Recorded
from guardrails_plugins.compare.seen import Watch
from guardrails_plugins.compare.strategies import REAL, Checker, Strategy, asynchronous

YAML = """
models: []
rails:
  output:
    flows: [same check]
    streaming: {{enabled: True, chunk_size: {chunk}, context_size: {context}, stream_first: {first}}}
"""
COLANG = """
define subflow same check
  $verdict = execute same_check
  if $verdict.is_blocked
    bot refuse to respond
    stop
"""


class RecordedModel:
    """An `LLMModel` that writes the recorded answer."""

    model_name = "recorded"
    provider_name: str | None = None
    provider_url: str | None = None

    def __init__(self) -> None:
        self.watch: Watch | None = None

    async def generate_async(self, prompt: Any, *, stop: Any = None, **_: Any) -> LLMResponse:
        """The whole answer; streams do not ask for it."""
        assert self.watch is not None
        return LLMResponse(content=self.watch.model.recorded.answer)

    async def stream_async(self, prompt: Any, *, stop: Any = None, **_: Any) -> AsyncIterator[LLMResponseChunk]:
        """The answer in pieces."""
        assert self.watch is not None
        stream = self.watch.model.astream()
        try:
            async for piece in stream:
                yield LLMResponseChunk(delta_content=piece)
        finally:
            await stream.aclose()


async def _read(watch: Watch, rails: LLMRails, before: list[dict[str, Any]]) -> None:
    messages = [*before, {"role": "user", "content": watch.model.recorded.question or "?"}]
    async for item in rails.stream_async(messages=messages):
        if isinstance(item, str) and item.startswith('{"error"'):
            error = json.loads(item)["error"]
            if error.get("type") == "guardrails_violation":
                watch.stop(error.get("message"))
            else:
                watch.error = str(error.get("type"))
        elif isinstance(item, str):
            watch.show(item)


def _stock(recorded: Recorded, chunk: int, context: int, first: bool) -> Watch:
    model = RecordedModel()

    async def read(watch: Watch) -> None:
        model.watch = watch
        checker = Checker(watch)

        async def same_check(context: dict[str, Any], **_: Any) -> RailOutcome:
            blocked = checker.blocks(context.get("bot_message") or "")
            return RailOutcome.block(reason="same check") if blocked else RailOutcome.allow()

        yaml = YAML.format(chunk=chunk, context=context, first=first)
        rails = _rails(RailsConfig.from_content(yaml_content=yaml, colang_content=COLANG), model)
        rails.register_action(same_check, "same_check")
        await _read(watch, rails, [])

    return asynchronous(recorded, read)


def _gated(recorded: Recorded) -> Watch:
    model = RecordedModel()

    async def read(watch: Watch) -> None:
        model.watch = watch
        rails = _rails(RailsConfig.from_path(str(nemo_folder())), model)
        context = {"sources": list(recorded.sources), "language": recorded.language}
        await _read(watch, rails, [{"role": "context", "content": context}])

    return asynchronous(recorded, read)


def _rails(config: RailsConfig, model: RecordedModel) -> LLMRails:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return LLMRails(config, llm=model)


def strategies() -> Iterator[Strategy]:
    """NeMo's two ways at several sizes (in NeMo's tokens: stream items), and the gate in NeMo."""
    for first in (True, False):
        for chunk, context in ((200, 50), (50, 10), (20, 5)):
            yield Strategy(
                f"NeMo stream_first: {first}, {chunk}/{context}",
                REAL,
                "nemo",
                "nemoguardrails LLMRails.stream_async",
                partial(_stock, chunk=chunk, context=context, first=first),
            )
    yield Strategy("NeMo with the gate", REAL, "gate", "nemo_config/", _gated)
