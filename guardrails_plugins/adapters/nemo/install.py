"""`install(app)`: puts the gate into one `LLMRails`, for every way in which it is then used."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from nemoguardrails.exceptions import StreamingNotSupportedError

from guardrails_plugins.adapters.nemo import session as sessions
from guardrails_plugins.adapters.nemo import sources as origin
from guardrails_plugins.adapters.nemo.action import sentence_gate
from guardrails_plugins.adapters.nemo.calls import gated_events, gated_messages, gated_options
from guardrails_plugins.adapters.nemo.flow import check_flow, provide_flow
from guardrails_plugins.adapters.nemo.items import GatedItems
from guardrails_plugins.adapters.nemo.model import GatedModel
from guardrails_plugins.adapters.nemo.relay import relay
from guardrails_plugins.adapters.nemo.settings import ACTION, NemoSettings, check_config, check_model, fixed_texts
from guardrails_plugins.adapters.nemo.wraps import (
    GatedPassthrough,
    RecordingKnowledgeBase,
    guard_pushes,
    with_retrieved,
    with_retrieved_and_fixed,
)
from guardrails_plugins.core.checks.base import Check

_INSTALLED = "_sentence_gate_installed"


def install(app: Any, *, checks: Iterable[Check] = ()) -> None:
    """Gate an `LLMRails` while it loads: call this from `init(app)` of the folder's config.py.

    Registers the action and wraps, on this instance, the calls that make answers. The models are
    wrapped at the first call, because NeMo makes them after `init`. `checks` are own checks, after
    those of the policy; YAML has no way to name them. Raises `NemoConfigError` when
    the configuration would leak, or has no flow ``sentence gate``.
    """
    if getattr(app, _INSTALLED, False):
        return  # two joined configurations may both bring our config.py
    settings = NemoSettings.from_config(app.config)
    if own := tuple(checks):
        settings = replace(settings, policy=replace(settings.policy, checks=(*settings.policy.checks, *own)))
    check_config(app.config)
    check_model(app.llm)
    if app.config.colang_version == "1.0":
        provide_flow(app)
    check_flow(app.config)
    app.register_action(sentence_gate, ACTION)
    setattr(app, _INSTALLED, True)
    gated = _Gated(app, settings)
    for name in ("generate_async", "stream_async", "generate_events_async", "process_events_async", "update_llm"):
        original = getattr(app, name)
        setattr(app, name, functools.wraps(original)(functools.partial(getattr(gated, name), original)))


def init(app: Any) -> None:
    """`install` under the name that NeMo looks for: ``from guardrails_plugins.adapters.nemo import init``."""
    install(app)


class _Gated:
    """The gated calls of one `LLMRails`."""

    def __init__(self, app: Any, settings: NemoSettings) -> None:
        self._app = app
        self._settings = settings
        self._fixed = fixed_texts(app.config) if app.config.colang_version == "1.0" else frozenset()
        self._indexes = origin.Indexes()
        self._armed = False

    def update_llm(self, original: Callable[[Any], None], llm: Any) -> None:
        """NeMo's own, then gated. Raises `NemoConfigError` for a model that records text unjudged."""
        check_model(llm)
        original(llm)
        self._gate_models()

    async def generate_async(
        self,
        original: Any,
        prompt: str | None = None,
        messages: Any = None,
        options: Any = None,
        state: Any = None,
        streaming_handler: Any = None,
    ) -> Any:
        """NeMo's own, within a session; its answers are judged by the model wrapper and the flow."""
        self._arm()
        options = gated_options(options)
        session = sessions.current()
        if session is not None and session.streaming and session.generation is None and streaming_handler is not None:
            session.generation = asyncio.current_task()
        else:
            messages = origin.plain(gated_messages(messages))
            session = self._session(messages, prompt)
        if streaming_handler is not None:
            guard_pushes(session, streaming_handler)
        with sessions.Entered(session):
            return await original(
                prompt=prompt, messages=messages, options=options, state=state, streaming_handler=streaming_handler
            )

    def stream_async(
        self,
        original: Any,
        prompt: str | None = None,
        messages: Any = None,
        options: Any = None,
        state: Any = None,
        include_metadata: bool | None = False,
        generator: Any = None,
        include_generation_metadata: bool | None = None,
    ) -> AsyncIterator[Any]:
        """One judged sentence an item; see `relay`. Raises `SourceError` for wrong sources at once."""
        if self._app.config.colang_version != "1.0":
            raise StreamingNotSupportedError(
                "the sentence gate does not stream with Colang 2: NeMo streams there what its flows have not said yet; "
                "use generate_async, or Colang 1 for streams"
            )
        self._arm()
        messages = origin.plain(gated_messages(messages))
        session = self._session(messages, prompt, streaming=True)
        if generator is not None:
            if isinstance(generator, GatedItems):
                generator.bind(session)
            else:
                session.unwrapped_generator = True
        call = functools.partial(
            original,
            prompt=prompt,
            messages=messages,
            options=options,
            state=state,
            include_metadata=include_metadata,
            generator=generator,
            include_generation_metadata=include_generation_metadata,
        )
        return relay(session, call, getattr(generator, "aclose", None))

    async def generate_events_async(self, original: Any, events: Any) -> Any:
        """NeMo's own, with the sources of the events' context updates."""
        self._arm()
        with sessions.Entered(self._session(_messages_of(events), None)):
            return await original(gated_events(events))

    async def process_events_async(self, original: Any, events: Any, state: Any = None, blocking: bool = False) -> Any:
        """NeMo's own, with the sources of the events' context updates."""
        self._arm()
        with sessions.Entered(self._session(_messages_of(events), None)):
            return await original(gated_events(events), state, blocking)

    def _session(self, messages: Any, prompt: str | None, *, streaming: bool = False) -> sessions.Session:
        question = prompt if isinstance(prompt, str) else origin.question_of(messages)
        return sessions.Session(
            self._settings,
            origin.of_messages(messages),
            question=question,
            streaming=streaming,
            fixed=self._fixed,
            indexes=self._indexes,
            by_context=self._app.config.colang_version != "1.0",
        )

    # -- reaching the models, the actions and the knowledge base -----------------------------

    def _arm(self) -> None:
        self._gate_models()
        self._gate_passthrough()
        if self._armed:
            return
        self._armed = True
        params = self._app.runtime.registered_action_params
        if params.get("kb") is not None:
            self._app.register_action_param("kb", RecordingKnowledgeBase(params["kb"]))
        wrappers = {"generate_user_intent": with_retrieved, "generate_bot_message": with_retrieved_and_fixed}
        for name, wrap in wrappers.items():
            action = self._app.runtime.action_dispatcher.get_action(name)
            if action is not None and self._app.config.colang_version == "1.0":
                self._app.register_action(wrap(action, self._app.config), name)

    def _gate_models(self) -> None:
        params = self._app.runtime.registered_action_params
        main, for_actions = self._app.llm, params.get("llm")
        if main is not None and not isinstance(main, GatedModel):
            type(self._app).update_llm(self._app, GatedModel(main, self._settings))
            if for_actions is not None and for_actions is not main:
                params["llm"] = for_actions  # one of the user's, which update_llm has replaced
        for name, model in list(params.items()):
            answers = (name == "llm" or name.endswith("_llm")) and hasattr(model, "stream_async")
            if answers and not isinstance(model, GatedModel):
                self._app.register_action_param(name, GatedModel(model, self._settings))

    def _gate_passthrough(self) -> None:
        if self._app.config.colang_version != "1.0":
            return
        function = self._app.passthrough_fn
        if function is not None and not isinstance(function, GatedPassthrough):
            self._app.passthrough_fn = GatedPassthrough(function)


def _messages_of(events: Any) -> list[Mapping[str, Any]]:
    """The context updates and user messages among some events, in the form of messages."""
    messages: list[Mapping[str, Any]] = []
    for event in events or ():
        if not isinstance(event, Mapping):
            continue
        if event.get("type") == "ContextUpdate":
            messages.append({"role": "context", "content": event.get("data") or {}})
        elif event.get("type") == "UtteranceUserActionFinished":
            messages.append({"role": "user", "content": event.get("final_transcript")})
    return messages
