"""What is put around the parts of one `LLMRails` through which text and sources come."""

from __future__ import annotations

import functools
from typing import Any

from nemoguardrails.actions.llm.utils import get_last_bot_intent_event
from nemoguardrails.context import raw_llm_request

from guardrails_plugins.adapters.nemo import session as sessions
from guardrails_plugins.adapters.nemo.model import final_text
from guardrails_plugins.adapters.nemo.verdict import terminal_type

PUSHED = (
    "An action pushed text into the stream by itself: let it call the model that NeMo hands it as `llm`, "
    "or give the stream as generator=gate_items(stream)."
)


def guard_pushes(session: sessions.Session, handler: Any) -> None:
    """Let nothing into a streaming handler that is neither announced by the gated model nor judged.

    An action of the user's may push pieces of a model's answer; a rail cannot judge those. The first
    is replaced by a block, and none enters NeMo. A whole message of NeMo's own actions is judged by
    the rails of `stream_async`; for a handler of the caller's, behind which NeMo runs none, here.
    """
    push = handler.push_chunk

    async def push_guarded(chunk: Any, metadata: Any = None) -> None:
        if not isinstance(chunk, str) or not chunk or session.announced(chunk) or terminal_type(chunk) is not None:
            await push(chunk, metadata)
        elif sessions.is_saying():
            await push(chunk if session.streaming else _judged(session, chunk), metadata)
        elif not session.refused_pieces:
            session.refused_pieces = True
            await push(session.stop(session.failure(PUSHED)))

    handler.push_chunk = push_guarded


def _judged(session: sessions.Session, message: str) -> str:
    """A whole message as the reader gets it."""
    if session.says_fixed or session.is_fixed(message):
        return message
    recorded = session.recall(message)
    return recorded[0] if recorded is not None else final_text(*session.judge(message))


class GatedPassthrough:
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


class RecordingKnowledgeBase:
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


def with_retrieved(action: Any, _config: Any) -> Any:
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
        with sessions.Saying():
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


def with_retrieved_and_fixed(action: Any, config: Any) -> Any:
    """The same, and a predefined message that it renders is marked as NeMo's own."""
    inner = with_retrieved(action, config)

    @functools.wraps(action)
    async def wrapped(*args: Any, **kwargs: Any) -> Any:
        session = sessions.current()
        intent = get_last_bot_intent_event(kwargs.get("events") or [])
        fixed = intent is not None and intent["intent"] in config.bot_messages
        if session is None:
            return await inner(*args, **kwargs)
        session.says_fixed = fixed
        result = await inner(*args, **kwargs)
        session.says_fixed = False
        if fixed:
            for event in getattr(result, "events", None) or ():
                if event.get("type") == "BotMessage":
                    session.allow(event["text"])
        elif not session.streaming and _says_something(result):
            # NeMo skips the rails of the flow for every streaming handler, and behind one of the caller's
            # there are no others.
            result.context_updates["skip_output_rails"] = False
        return result

    return wrapped
