"""The main model, gated: NeMo sees only sentences that passed, without their markers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from nemoguardrails.context import llm_call_info_var, streaming_handler_var
from nemoguardrails.types import ChatMessage, LLMModel, LLMResponse, LLMResponseChunk, UsageInfo

from guardrails_plugins.adapters.nemo import session as sessions
from guardrails_plugins.adapters.nemo.errors import ProviderStreamError
from guardrails_plugins.adapters.nemo.framing import Framing, bare
from guardrails_plugins.adapters.nemo.run import Run
from guardrails_plugins.adapters.nemo.settings import NemoSettings
from guardrails_plugins.adapters.nemo.tap import FINISH, Tap, refused
from guardrails_plugins.adapters.nemo.verdict import Verdict
from guardrails_plugins.core.outcome import State
from guardrails_plugins.core.prompt import build_prompt
from guardrails_plugins.core.sources import SourceIndex
from guardrails_plugins.streaming.driver import gate_stream

ANSWER_TASKS = frozenset({"general", "generate_bot_message"})
"""NeMo's tasks whose completion becomes the bot's message; intents, next steps and other rails are not shown."""

Prompt = str | list[ChatMessage]


class GatedModel:
    """An `LLMModel` around another one. Attributes of the inner model stay reachable."""

    def __init__(self, inner: LLMModel, settings: NemoSettings) -> None:
        self.inner = inner
        self._settings = settings

    def __getattr__(self, name: str) -> Any:
        if name == "inner":  # not yet set: while being copied or unpickled
            raise AttributeError(name)
        return getattr(self.inner, name)

    @property
    def model_name(self) -> str:
        return str(self.inner.model_name)

    @property
    def provider_name(self) -> str | None:
        name: str | None = self.inner.provider_name
        return name

    @property
    def provider_url(self) -> str | None:
        url: str | None = self.inner.provider_url
        return url

    async def generate_async(self, prompt: Prompt, *, stop: list[str] | None = None, **kwargs: Any) -> LLMResponse:
        """The inner model's answer, judged; calls for other tasks pass untouched."""
        info = llm_call_info_var.get()
        task = info.task if info is not None else None
        if task not in ANSWER_TASKS:
            return await self.inner.generate_async(prompt, stop=stop, **kwargs)
        session = self._session()
        index = session.index
        if index is None:
            return _whole(session, LLMResponse(content=""), "", session.failure(sessions.NO_SOURCES))
        response = await self.inner.generate_async(self._prompt(prompt, session, index), stop=stop, **kwargs)
        return self._judged(session, response, quoted=task == "generate_bot_message")

    async def stream_async(
        self, prompt: Prompt, *, stop: list[str] | None = None, **kwargs: Any
    ) -> AsyncIterator[LLMResponseChunk]:
        """One item a passed sentence; a blocked one is an item without its text, and the last."""
        session = self._session()
        framing = Framing.of_handler(streaming_handler_var.get(), to_rails=session.streaming)
        index, gate = session.index, session.gate()
        if index is None or gate is None:
            verdict = session.failure(sessions.NO_SOURCES)
            yield LLMResponseChunk(delta_content=session.stop(verdict))
            session.close_items(verdict)
            return
        prompt = self._prompt(prompt, session, index)
        tap = Tap(self.inner.stream_async(prompt, stop=stop, **kwargs), framing, strict=_gives_reasons(self.inner))
        events = gate_stream(tap.chunks(), gate, timeout_s=self._settings.timeout_s, prompt_text=_text_of(prompt))
        run = Run(session, events)
        async with aclosing(run.items()) as items:
            async for item in items:
                yield LLMResponseChunk(delta_content=item)
        if run.failed is not None:
            _raise(tap, run.failed)
        if run.verdict.state is State.COMPLETED and tap.provider_refused:
            run.verdict = Verdict(State.REFUSED) if run.any_text else session.refusal()
        last = run.last_item()
        session.close_items(run.verdict)
        yield LLMResponseChunk(
            delta_content=last,
            delta_tool_calls=tap.tool_calls if run.verdict.state is State.COMPLETED else None,
            model=tap.model,
            finish_reason="length" if run.verdict.state is State.TRUNCATED else "stop",
            request_id=tap.request_id,
            usage=_usage(tap, run.usage),
        )

    def _session(self) -> sessions.Session:
        """The request's session; without one there are no sources, and the answer is not shown."""
        return sessions.current() or sessions.Session(self._settings, {})

    def _prompt(self, prompt: Prompt, session: sessions.Session, index: SourceIndex) -> Prompt:
        if not self._settings.prompt:
            return prompt
        text = build_prompt(index, language=session.language, policy=self._settings.policy)
        if isinstance(prompt, str):
            return f"{text}\n\n{prompt}"
        return [ChatMessage.from_system(text), *prompt]

    def _judged(self, session: sessions.Session, response: LLMResponse, *, quoted: bool) -> LLMResponse:
        text = bare(response.content or "", quoted=quoted)
        reason = FINISH.get(response.finish_reason or "stop", "length")
        if refused(response.provider_metadata) or (not text.strip() and not response.tool_calls and reason == "stop"):
            return _whole(session, response, "", session.refusal())
        if not text.strip() and response.tool_calls and reason in ("stop", "tool_calls"):
            return replace(response, reasoning=None, provider_metadata=None)
        shown, verdict = session.judge(text, reason)
        return _whole(session, response, shown, verdict)


def _whole(session: sessions.Session, response: LLMResponse, shown: str, verdict: Verdict) -> LLMResponse:
    """The response with what may be shown, recorded so that the action knows it again."""
    text = final_text(shown, verdict)
    session.answered(text, text, verdict)
    clean = verdict.state is State.COMPLETED
    return replace(
        response,
        content=text,
        reasoning=None,
        provider_metadata=None,
        tool_calls=response.tool_calls if clean else None,
    )


def final_text(shown: str, verdict: Verdict) -> str:
    """A whole answer as the reader gets it: the outcome table's right column."""
    if verdict.blocks:
        return verdict.notice or verdict.reason
    if verdict.notice is None:
        return shown
    return f"{shown}\n\n{verdict.notice}" if shown.strip() else verdict.notice


def _raise(tap: Tap, code: str) -> None:
    """Hand a provider's error to NeMo: as it is before any text, without its message after."""
    error = tap.error
    if error is not None and not tap.had_text:
        raise error
    status = getattr(error, "status_code", None)
    name = type(error).__name__ if error is not None else code
    raise ProviderStreamError(name, status if isinstance(status, int) and status > 0 else None)


def _usage(tap: Tap, usage: Any) -> UsageInfo | None:
    """What the provider reported, else the driver's estimate of what was generated."""
    if tap.usage is not None:
        return tap.usage
    if usage is None:
        return None
    read = usage.input_reported + usage.input_estimated
    written = usage.output_reported + usage.output_estimated
    return UsageInfo(input_tokens=read, output_tokens=written, total_tokens=read + written)


def _gives_reasons(model: Any) -> bool:
    """Whether it is a model of NeMo's own OpenAI client, whose streams end with a finish reason."""
    while model is not None:
        if type(model).__module__ == "nemoguardrails.llm.models.openai_chat":
            return True
        model = getattr(model, "_model", None) if not isinstance(getattr(model, "_model", None), str) else None
    return False


def _text_of(prompt: Prompt) -> str:
    if isinstance(prompt, str):
        return prompt
    return "\n".join(m.content for m in prompt if isinstance(m.content, str))
