"""Models, configurations and requests that the NeMo tests share."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

from nemoguardrails import LLMRails, RailsConfig
from nemoguardrails.context import llm_call_info_var
from nemoguardrails.embeddings.index import EmbeddingsIndex, IndexItem
from nemoguardrails.types import LLMResponse, LLMResponseChunk

FOLDER = Path(__file__).parents[3] / "nemo_config"

SOURCES = ["The reading hall opened in 1931. It has 52 desks.", "Late fees ended in 2020."]

GOOD = "The hall opened in 1931 [S1]. It has 52 desks [S1].\n\nLate fees ended in 2020 [S2].\n"
GOOD_ITEMS = ["The hall opened in 1931.", " It has 52 desks.", "\n\nLate fees ended in 2020.\n"]
GOOD_SHOWN = "".join(GOOD_ITEMS)

SECRET = "in 2019"
"""Words of the blocked sentence, which must be nowhere."""

BAD = f"The hall opened in 1931 [S1]. Late fees ended {SECRET} [S2]. " + "It has 52 desks [S1]. " * 40

SEARCH = "core: {embedding_search_provider: {name: all}}\nknowledge_base: {embedding_search_provider: {name: all}}"
"""YAML that makes NeMo search with `Index`, so that no embedding model is needed."""

KNOWLEDGE = f"# Hall\n\n{SOURCES[0]}\n\n# Fees\n\n{SOURCES[1]}\n"

CONFIG_PY = """
from guardrails_plugins.adapters.nemo import install
from tests.adapters.nemo.support import BAD, FakeModel, Index

def init(app):
    app.register_embedding_search_provider("all", Index)
    install(app)
"""


class Index(EmbeddingsIndex):
    """A search index without a model: everything is found, in its order."""

    def __init__(self, **_: Any) -> None:
        self.items: list[IndexItem] = []

    @property
    def embedding_size(self) -> int:
        return 1

    async def add_item(self, item: IndexItem) -> None:
        self.items.append(item)

    async def add_items(self, items: list[IndexItem]) -> None:
        self.items.extend(items)

    async def build(self) -> None:
        pass

    async def search(self, text: str, max_results: int = 20, threshold: float | None = None) -> list[IndexItem]:
        return self.items[:max_results]


def searching(model: Any, folder: Path, *, yaml: str = "", colang: str = "", knowledge: str = "") -> LLMRails:
    """An app that searches with `Index`, over a knowledge base of one Markdown text."""
    made = config(yaml=f"{SEARCH}\n{yaml}", colang=colang)
    if knowledge:
        made.docs = [type("Doc", (), {"content": knowledge})()]
    (folder / "config.py").write_text(CONFIG_PY)
    made.config_path = str(folder)
    return LLMRails(made, llm=model)


class FakeModel:
    """An `LLMModel` that says what it is told, and counts what it was made to say.

    `made` counts the pieces handed out, `closed` whether the stream was closed; `stall_after`
    pieces it waits for ever, `fail_after` pieces it raises `error`.
    """

    model_name = "fake"
    provider_name = "fake"
    provider_url = None

    def __init__(
        self,
        text: str | Iterable[str],
        *,
        size: int = 7,
        finish: Any = "stop",
        delay: float = 0.0,
        stall_after: int | None = None,
        fail_after: int | None = None,
        error: Exception | None = None,
        extra: Iterable[LLMResponseChunk] = (),
        metadata: dict[str, Any] | None = None,
        tool_calls: Any = None,
        reasoning: str | None = None,
    ) -> None:
        self.pieces = [text[i : i + size] for i in range(0, len(text), size)] if isinstance(text, str) else list(text)
        self.finish, self.delay = finish, delay
        self.stall_after, self.fail_after = stall_after, fail_after
        self.error = error or RuntimeError("the line went dead")
        self.extra, self.metadata, self.tool_calls, self.reasoning = tuple(extra), metadata, tool_calls, reasoning
        self.made = 0
        self.calls = 0
        self.closed = False
        self.prompts: list[Any] = []

    async def generate_async(self, prompt: Any, *, stop: Any = None, **kwargs: Any) -> LLMResponse:
        self.calls += 1
        self.prompts.append(prompt)
        if self.fail_after is not None:
            raise self.error
        return LLMResponse(
            content="".join(self.pieces),
            finish_reason=self.finish,
            provider_metadata=self.metadata,
            tool_calls=self.tool_calls,
            reasoning=self.reasoning,
        )

    async def stream_async(self, prompt: Any, *, stop: Any = None, **kwargs: Any) -> AsyncIterator[LLMResponseChunk]:
        self.calls += 1
        self.prompts.append(prompt)
        try:
            if self.reasoning:
                yield LLMResponseChunk(delta_reasoning=self.reasoning)
            for number, piece in enumerate(self.pieces):
                if number == self.stall_after:
                    await asyncio.Event().wait()
                if number == self.fail_after:
                    raise self.error
                self.made += 1
                yield LLMResponseChunk(delta_content=piece)
                await asyncio.sleep(self.delay)
            for chunk in self.extra:
                yield chunk
            if self.finish is not None:
                yield LLMResponseChunk(
                    finish_reason=self.finish, provider_metadata=self.metadata, delta_tool_calls=self.tool_calls
                )
        finally:
            self.closed = True


class DialogModel(FakeModel):
    """Answers NeMo's intent question with the intent, and its answer question with the text."""

    async def generate_async(self, prompt: Any, *, stop: Any = None, **kwargs: Any) -> LLMResponse:
        info = llm_call_info_var.get()
        if info is not None and info.task == "generate_user_intent":
            return LLMResponse(content="  ask about the hall", finish_reason="stop")
        return await super().generate_async(prompt, stop=stop, **kwargs)


def request(sources: Any = SOURCES, question: str = "When did the hall open?", **context: Any) -> list[dict[str, Any]]:
    """Messages with sources in a context message; `sources=None` leaves them out."""
    content = dict(context) if sources is None else {"sources": sources, **context}
    return [{"role": "context", "content": content}, {"role": "user", "content": question}]


def rails(model: Any, *, yaml: str = "", colang: str = "", verbose: bool = False, **settings: Any) -> LLMRails:
    """An `LLMRails` over a copy of the shipped configuration, with additions."""
    return LLMRails(config(yaml=yaml, colang=colang, **settings), llm=model, verbose=verbose)


def config(*, yaml: str = "", colang: str = "", **settings: Any) -> RailsConfig:
    """The shipped configuration with more YAML (merged) and Colang; `settings` go to custom_data.sentence_gate."""
    with tempfile.TemporaryDirectory() as folder:
        made = RailsConfig.from_path(str(write(Path(folder), yaml=yaml, colang=colang, **settings)))
    made.config_path = str(FOLDER)  # where NeMo looks for config.py once the copy is gone
    return made


def write(folder: Path, *, yaml: str = "", colang: str = "", **settings: Any) -> Path:
    """The same as a folder on disk."""
    import yaml as reader

    merged = _merged(reader.safe_load((FOLDER / "config.yml").read_text()), reader.safe_load(yaml) or {})
    merged = _merged(merged, {"custom_data": {"sentence_gate": {"prompt": False, **settings}}})
    (folder / "config.yml").write_text(reader.safe_dump(merged))
    (folder / "rails.co").write_text(f"{(FOLDER / 'rails.co').read_text()}\n\n{colang}")
    return folder


def _merged(base: Any, over: Any) -> Any:
    if not (isinstance(base, dict) and isinstance(over, dict)):
        return over
    return {**base, **{key: _merged(base.get(key), value) for key, value in over.items()}}


async def collect(stream: AsyncIterator[Any]) -> list[Any]:
    """All items of a stream."""
    return [item async for item in stream]


def everything(value: Any, _seen: set[int] | None = None) -> str:
    """All text that hangs on an object, however deep: for looking for what must not be there."""
    seen = _seen if _seen is not None else set()
    if isinstance(value, str):
        return value
    if id(value) in seen or isinstance(value, (int, float, bool, type(None))):
        return ""
    seen.add(id(value))
    if isinstance(value, dict):
        return "\n".join(everything(v, seen) for pair in value.items() for v in pair)
    if isinstance(value, (list, tuple, set, frozenset)):
        return "\n".join(everything(v, seen) for v in value)
    attributes = {}
    for name in getattr(type(value), "__slots__", ()):
        attributes[name] = getattr(value, name, None)
    attributes.update(getattr(value, "__dict__", {}))
    return f"{value!r}\n" + everything(attributes, seen)
