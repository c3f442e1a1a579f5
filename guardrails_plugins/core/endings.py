"""What a provider's finish reason means, and whether a cut-off fragment is a finished sentence."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping

from guardrails_plugins.core.citations import MarkerStyle
from guardrails_plugins.core.errors import FinishReasonError


class Ending(enum.StrEnum):
    """How a provider ended its answer."""

    CLEAN = "clean"
    CUT = "cut"
    FILTERED = "filtered"
    REFUSED = "refused"


FINISH_REASONS: Mapping[str, Ending] = {
    # OpenAI chat completions and responses, Anthropic messages, Gemini, Mistral, Cohere, Hugging Face.
    "stop": Ending.CLEAN,
    "completed": Ending.CLEAN,
    "complete": Ending.CLEAN,
    "end_turn": Ending.CLEAN,
    "stop_sequence": Ending.CLEAN,
    "eos": Ending.CLEAN,
    "eos_token": Ending.CLEAN,
    "tool_calls": Ending.CLEAN,
    "tool_use": Ending.CLEAN,
    "function_call": Ending.CLEAN,
    "pause_turn": Ending.CUT,
    "length": Ending.CUT,
    "max_tokens": Ending.CUT,
    "max_output_tokens": Ending.CUT,
    "model_context_window_exceeded": Ending.CUT,
    "model_length": Ending.CUT,
    "incomplete": Ending.CUT,
    "content_filter": Ending.FILTERED,
    "safety": Ending.FILTERED,
    "refusal": Ending.REFUSED,
}

_GRAVITY = (Ending.CLEAN, Ending.CUT, Ending.REFUSED, Ending.FILTERED)

_TERMINATOR_AT_END = re.compile(r"""[.!?…؟۔。！？।॥]["'”’»«“)\]」』*_]*+\s*+$""")


def ending_of(finish_reason: str) -> Ending:
    """The meaning of a finish reason, letter case aside.

    Raises `FinishReasonError` for an unknown one, listing those that are known.
    """
    ending = FINISH_REASONS.get(finish_reason.lower()) if isinstance(finish_reason, str) else None
    if ending is None:
        shown = repr(finish_reason) if isinstance(finish_reason, str) else type(finish_reason).__name__
        raise FinishReasonError(f"unknown finish reason {shown[:60]}; known: {', '.join(FINISH_REASONS)}")
    return ending


def severity(finish_reason: object) -> int:
    """How grave a finish reason is: -1 for none, 0 for a clean end, most for one that is not known."""
    if not finish_reason:
        return -1
    ending = FINISH_REASONS.get(finish_reason.lower()) if isinstance(finish_reason, str) else None
    return len(_GRAVITY) if ending is None else _GRAVITY.index(ending)


def is_finished(fragment: str, style: MarkerStyle) -> bool:
    """Whether a fragment at a cut-off is a whole sentence: a marker stands directly before or
    after its terminator (SPEC section 5)."""
    markers = style.find(fragment)
    if not markers:
        return False
    end = len(fragment.rstrip())
    start = end
    for marker in reversed(markers):
        if fragment[marker.span[1] : start].strip():
            break
        start = marker.span[0]
    if start < end:
        return _TERMINATOR_AT_END.search(fragment, 0, start) is not None
    found = _TERMINATOR_AT_END.search(fragment)
    return found is not None and not fragment[markers[-1].span[1] : _run_start(fragment, found.start())].strip(" *_")


def _run_start(text: str, at: int) -> int:
    """Where the run of terminators that holds position `at` begins."""
    while at and text[at - 1] in ".!?…؟۔。！？।॥":
        at -= 1
    return at
