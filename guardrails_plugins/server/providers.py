"""Where answers come from: the embedded extractive provider, OpenAI-compatible endpoints, Anthropic."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from guardrails_plugins.core.errors import GateError
from guardrails_plugins.core.languages.profile import load_profile
from guardrails_plugins.core.policy import GatePolicy
from guardrails_plugins.core.sources import SourceIndex
from guardrails_plugins.core.splitter import SentenceSplitter
from guardrails_plugins.core.whole import check_text
from guardrails_plugins.server.retrieval import stem_of, terms

MAX_SENTENCES = 4
MIN_WORDS = 4
"""Different words of a sentence that is worth quoting."""
PIECE_CHARS = 6
PIECE_SECONDS = 0.004
"""The embedded provider writes about as fast as a quick model."""


class ProviderMissingError(GateError):
    """A provider's SDK is not installed."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a provider is asked. `messages` are the history and the question, in the OpenAI form."""

    question: str
    language: str
    system: str
    messages: tuple[dict[str, str], ...]
    index: SourceIndex
    policy: GatePolicy


class Provider(Protocol):
    """Opens one stream. What it returns is closed by the driver."""

    def stream(self, request: Request) -> Any:
        """An async iterator of frames, or an awaitable of one."""


class Extractive:
    """Answers with cited sentences from the passages; no model, no network.

    It picks the sentences that share most words with the question, keeps those that the gate
    would pass, and says the refusal token when there is none.
    """

    def __init__(self, *, piece_seconds: float = PIECE_SECONDS) -> None:
        self._piece_seconds = piece_seconds

    async def stream(self, request: Request) -> AsyncIterator[str]:
        """The answer in small pieces."""
        answer = extract_answer(request)
        for i in range(0, len(answer), PIECE_CHARS):
            yield answer[i : i + PIECE_CHARS]
            await asyncio.sleep(self._piece_seconds)


def extract_answer(request: Request) -> str:
    """The cited answer, or the refusal token."""
    stop = {w for entry in load_profile(request.language).openers for w in terms(entry)}
    wanted = {stem_of(w) for w in terms(request.question) if w not in stop and (len(w) > 1 or not w.isascii())}
    ranked: list[tuple[float, int, int, str]] = []
    for number, source in enumerate(request.index.sources, 1):
        splitter = SentenceSplitter(source.language or request.language)
        sentences = splitter.feed(source.text)
        rest = splitter.flush()
        for place, sentence in enumerate([*sentences, *([rest] if rest else [])]):
            held = {stem_of(w) for w in terms(sentence.text)}
            score = len(wanted & held) / (1 + len(held)) ** 0.25 if wanted else 0.0
            if score > 0 and len(held) >= MIN_WORDS:
                ranked.append((-score, number, place, sentence.text))
    ranked.sort()
    picked = [row for row in ranked[: 3 * MAX_SENTENCES] if -row[0] >= 0.5 * -ranked[0][0]]
    lines: list[str] = []
    for _, number, _, text in picked:
        line = _cited(text, number, request.policy)
        outcome = check_text(line, request.index, language=request.language, policy=request.policy)
        if not outcome.stopped and len(lines) < MAX_SENTENCES and line not in lines:
            lines.append(line)
    return " ".join(lines) if lines else request.policy.refusal_token or ""


def _cited(text: str, number: int, policy: GatePolicy) -> str:
    """A sentence with its marker before the terminator, headings and list marks taken off."""
    body = text.lstrip("#*->•| \t").replace("\n", " ").rstrip()
    bare = body.rstrip(".!?…。！？।॥؟۔")
    marker = policy.marker.replace("{n}", str(number))
    return f"{bare} {marker}{body[len(bare) :] or '.'}"


class OpenAI:
    """Any OpenAI-compatible endpoint, through the official SDK (extra: openai)."""

    def __init__(self, model: str, *, base_url: str | None = None, api_key: str | None = None) -> None:
        try:
            from openai import AsyncOpenAI
        except ModuleNotFoundError:
            raise ProviderMissingError("pip install 'guardrails-plugins[openai]' for this provider") from None
        # No retries of the SDK's own: a retried request is billed twice.
        self._client = AsyncOpenAI(base_url=base_url, api_key=api_key, max_retries=0)
        self._model = model

    def stream(self, request: Request) -> Any:
        """An awaitable of the SDK's stream."""
        messages: Any = [{"role": "system", "content": request.system}, *request.messages]
        return self._client.chat.completions.create(
            model=self._model, messages=messages, stream=True, stream_options={"include_usage": True}
        )


class Anthropic:
    """Anthropic's messages, through the official SDK (extra: anthropic)."""

    def __init__(
        self, model: str, *, base_url: str | None = None, api_key: str | None = None, max_tokens: int = 2000
    ) -> None:
        try:
            from anthropic import AsyncAnthropic
        except ModuleNotFoundError:
            raise ProviderMissingError("pip install 'guardrails-plugins[anthropic]' for this provider") from None
        self._client = AsyncAnthropic(base_url=base_url, api_key=api_key, max_retries=0)
        self._model = model
        self._max_tokens = max_tokens

    def stream(self, request: Request) -> Any:
        """An awaitable of the SDK's stream."""
        messages: Any = list(request.messages)
        return self._client.messages.create(
            model=self._model, system=request.system, messages=messages, max_tokens=self._max_tokens, stream=True
        )


PROVIDERS: dict[str, Callable[..., Provider]] = {"openai": OpenAI, "anthropic": Anthropic}
"""Providers that need a model's name."""
