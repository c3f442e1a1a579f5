"""A sentence gate for streaming language models: checked against its sources, then shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from guardrails_plugins.core.citations import strip_markers
from guardrails_plugins.core.errors import GateError
from guardrails_plugins.core.gate import SentenceGate
from guardrails_plugins.core.normalize import normalize
from guardrails_plugins.core.outcome import GateOutcome, Violation
from guardrails_plugins.core.policy import GatePolicy
from guardrails_plugins.core.prompt import build_prompt
from guardrails_plugins.core.sentence import Sentence
from guardrails_plugins.core.sources import Source, SourceIndex
from guardrails_plugins.core.splitter import SentenceSplitter
from guardrails_plugins.core.usage import UsageMeter
from guardrails_plugins.core.whole import check_text

if TYPE_CHECKING:
    from guardrails_plugins.streaming.driver import gate_stream, gate_stream_sync

__all__ = [
    "GateError",
    "GateOutcome",
    "GatePolicy",
    "Sentence",
    "SentenceGate",
    "SentenceSplitter",
    "Source",
    "SourceIndex",
    "UsageMeter",
    "Violation",
    "build_prompt",
    "check_text",
    "gate_stream",
    "gate_stream_sync",
    "normalize",
    "strip_markers",
]

_STREAMING = ("gate_stream", "gate_stream_sync")


def __getattr__(name: str) -> Any:
    # The driver needs asyncio; the core alone starts faster without it.
    if name in _STREAMING:
        from guardrails_plugins.streaming import driver

        return getattr(driver, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
