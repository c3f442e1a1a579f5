"""The action behind the flow ``sentence gate``; its `RailOutcome` is the verdict that NeMo acts on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nemoguardrails.actions import action
from nemoguardrails.actions.rail_outcome import RailOutcome, TransformTarget

from guardrails_plugins.adapters.nemo import session as sessions
from guardrails_plugins.adapters.nemo.model import final_text
from guardrails_plugins.adapters.nemo.settings import ACTION
from guardrails_plugins.adapters.nemo.verdict import Verdict, terminal_type

UNWRAPPED = (
    "The stream given as generator= does not come from the gated model: "
    "wrap it as generator=gate_items(stream), from guardrails_plugins.adapters.nemo."
)


async def _sentence_gate(
    context: Mapping[str, Any] | None = None, text: str | None = None, events: Any = None, **_: Any
) -> RailOutcome:
    """Answer for one bot message (`text`, else ``bot_message`` of the context).

    Text that the gated model let through is allowed, a stand-in blocked; any other text is
    judged here. Never raises: NeMo would go on without us.
    """
    try:
        message = text if text is not None else (context or {}).get("bot_message")
        return _answer(sessions.current(), context or {}, message, events)
    except Exception:  # fail closed; the error may quote the message, so it is not kept
        return _failure("The sentence gate broke.")


sentence_gate: Any = action(is_system_action=True, name=ACTION)(_sentence_gate)
"""The action as NeMo registers it; a system action is never sent to an actions server."""


def _answer(session: sessions.Session | None, context: Mapping[str, Any], message: Any, events: Any) -> RailOutcome:
    if session is None:
        return _failure(sessions.NO_SESSION)
    if message is None or message == "":
        return RailOutcome.allow()
    if not isinstance(message, str):
        return block(session.failure())
    if sessions.role() == sessions.STREAM:
        return _answer_item(session, message)
    session.retrieve_in_turn(events, context)
    return _answer_message(session, message)


def _answer_item(session: sessions.Session, item: str) -> RailOutcome:
    """One item of NeMo's streaming loop."""
    known, verdict = session.arrived(item)
    if verdict is not None:
        session.blocked = verdict
        return block(verdict)
    if known or session.is_fixed(item) or terminal_type(item) is not None:
        return RailOutcome.allow()
    if session.unwrapped_generator:
        session.blocked = session.failure(UNWRAPPED)
        return block(session.blocked)
    shown, verdict = session.judge(item)
    if verdict.blocks:
        session.lead, session.blocked = shown, verdict
        return block(verdict)
    session.shown.append((item, final_text(shown, verdict)))
    return RailOutcome.allow()


def _answer_message(session: sessions.Session, message: str) -> RailOutcome:
    """A whole message in a flow: a recorded answer, one of NeMo's own, or one that has to be judged."""
    if session.is_fixed(message) and session.recall(message) is None:
        return RailOutcome.allow()
    recorded = session.recall(message)
    shown, verdict = recorded if recorded is not None else session.judge(message)
    if verdict is not None and verdict.blocks:
        return block(verdict)
    if recorded is None and verdict is not None:
        shown = final_text(shown, verdict)
        session.answered(shown, shown, verdict)
    if shown == message:
        return RailOutcome.allow()
    return RailOutcome.transform([(TransformTarget.BOT_MESSAGE, shown)])


def _failure(reason: str) -> RailOutcome:
    """A block without a session, and so without a language for its notice."""
    return RailOutcome.failure(reason=reason, metadata={"state": "failed", "codes": ["check_failed"], "notice": reason})


def block(verdict: Verdict) -> RailOutcome:
    """NeMo's block, with what the log of the activated rail is to say."""
    return RailOutcome.block(reason=verdict.reason, metadata=verdict.metadata)
