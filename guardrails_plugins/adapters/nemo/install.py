"""`install(app)`: puts the gate into one `LLMRails`, for every way in which it is then used."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from nemoguardrails.actions.llm.utils import get_last_bot_intent_event
from nemoguardrails.context import raw_llm_request
from nemoguardrails.exceptions import StreamingNotSupportedError
from nemoguardrails.types import LLMModel

from guardrails_plugins.adapters.nemo import session as sessions
from guardrails_plugins.adapters.nemo import sources as origin
from guardrails_plugins.adapters.nemo.action import sentence_gate
from guardrails_plugins.adapters.nemo.calls import gated_events, gated_messages, gated_options
from guardrails_plugins.adapters.nemo.flow import check_flow, provide_flow
from guardrails_plugins.adapters.nemo.items import GatedItems
from guardrails_plugins.adapters.nemo.model import GatedModel, final_text
from guardrails_plugins.adapters.nemo.relay import relay
from guardrails_plugins.adapters.nemo.settings import ACTION, NemoSettings, check_config, check_model, fixed_texts
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
            self._app.register_action_param("kb", _RecordingKnowledgeBase(params["kb"]))
        wrappers = {"generate_user_intent": _with_retrieved, "generate_bot_message": _with_retrieved_and_fixed}
        for name, wrap in wrappers.items():
            action = self._app.runtime.action_dispatcher.get_action(name)
            if action is not None and self._app.config.colang_version == "1.0":
                self._app.register_action(wrap(action, self._app.config), name)

    def _gate_models(self) -> None:
        if self._app.llm is not None and not isinstance(self._app.llm, GatedModel):
            type(self._app).update_llm(self._app, GatedModel(self._app.llm, self._settings))
        params = self._app.runtime.registered_action_params
        for name, model in list(params.items()):
            if name.endswith("_llm") and isinstance(model, LLMModel) and not isinstance(model, GatedModel):
                self._app.register_action_param(name, GatedModel(model, self._settings))

    def _gate_passthrough(self) -> None:
        if self._app.config.colang_version != "1.0":
            return
        function = self._app.passthrough_fn
        if function is not None and not isinstance(function, _GatedPassthrough):
            self._app.passthrough_fn = _GatedPassthrough(function)


class _GatedPassthrough:
    """A passthrough function whose text is judged before NeMo sees it."""

    def __init__(self, function: Any) -> None:
        self._function = function

    async def __call__(self, context: Any = None, events: Any = None) -> Any:
        output = await self._function(context=context, events=events)
        text, extra = (output[0], output[1]) if isinstance(output, (tuple, list)) else (output, None)
        session = sessions.current()
        if session is None:
            return "", None
        session.retrieve_in_turn(events, context)
        shown, verdict = session.judge(text if isinstance(text, str) else str(text))
        final = final_text(shown, verdict)
        if session.streaming and verdict.blocks:
            session.lead = shown
            final = session.stop(verdict)
        elif session.streaming:
            session.expect(final)
        session.answered(final, final, verdict)
        return (final, None if verdict.blocks else extra) if isinstance(output, (tuple, list)) else final


class _RecordingKnowledgeBase:
    """A knowledge base that tells the session which chunks the model is given."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        if name == "_inner":
            raise AttributeError(name)
        return getattr(self._inner, name)

    async def search_relevant_chunks(self, *args: Any, **kwargs: Any) -> Any:
        chunks = await self._inner.search_relevant_chunks(*args, **kwargs)
        session = sessions.current()
        if session is not None:
            session.retrieve([c["body"] for c in chunks])
        return chunks


def _with_retrieved(action: Any, _config: Any) -> Any:
    """The action, after the session has taken the chunks in its context."""

    @functools.wraps(action)
    async def wrapped(*args: Any, **kwargs: Any) -> Any:
        session = sessions.current()
        if session is not None:
            session.retrieve_in_turn(kwargs.get("events"), kwargs.get("context"))
        raw = raw_llm_request.get()
        if isinstance(raw, list):
            # Passthrough mode hands the messages to the model as they came, and a context message is not one.
            raw_llm_request.set([m for m in raw if m.get("role") not in ("context", "event")])
        result = await action(*args, **kwargs)
        if session is not None and session.streaming and _says_something(result):
            # The rails have run, or run now, on every sentence. NeMo's dialog mode skips them in the flow by
            # itself; its general mode would run them again on the whole answer, whose result nobody sees.
            result.context_updates["skip_output_rails"] = True
        return result

    return wrapped


def _says_something(result: Any) -> bool:
    events = getattr(result, "events", None) or ()
    return any(e.get("type") == "BotMessage" for e in events) and isinstance(result.context_updates, dict)


def _with_retrieved_and_fixed(action: Any, config: Any) -> Any:
    """The same, and a predefined message that it renders is marked as NeMo's own."""
    inner = _with_retrieved(action, config)

    @functools.wraps(action)
    async def wrapped(*args: Any, **kwargs: Any) -> Any:
        result = await inner(*args, **kwargs)
        session = sessions.current()
        intent = get_last_bot_intent_event(kwargs.get("events") or [])
        if session is not None and intent is not None and intent["intent"] in config.bot_messages:
            for event in getattr(result, "events", None) or ():
                if event.get("type") == "BotMessage":
                    session.allow(event["text"])
        return result

    return wrapped


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
