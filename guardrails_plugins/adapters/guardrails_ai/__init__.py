"""Guardrails AI: a validator and a stream that show nothing before it was judged.

    guard = Guard().use(SentenceGateValidator(on_fail="fix"))
    for outcome in guard(sentence_stream(llm), messages=[...], metadata={"sources": [...]}, stream=True):
        print(outcome.validated_output, end="")

`sentence_stream` (and `async_sentence_stream`) judges the provider's stream and hands Guardrails
one passed sentence at a time; the validator binds the call's metadata to that stream and turns a
stop into what `on_fail` asks for (`OUTCOME_TABLE`). Guardrails is told of one kind only, `fix`: it
is the only one under which its streaming holds text back and says when the answer ends. The kind
that was asked for decides what the fix is, and `exception` raises by itself.
"""

from __future__ import annotations

from guardrails_plugins.adapters.guardrails_ai.errors import (
    MetadataError,
    SentenceWithheldError,
    StreamingKindError,
    UnboundStreamError,
)
from guardrails_plugins.adapters.guardrails_ai.guard import SentenceGuard
from guardrails_plugins.adapters.guardrails_ai.kinds import OUTCOME_TABLE, EndStream, OnFailKind
from guardrails_plugins.adapters.guardrails_ai.report import GateReport, gate_report
from guardrails_plugins.adapters.guardrails_ai.streams import async_sentence_stream, sentence_stream
from guardrails_plugins.adapters.guardrails_ai.validator import SentenceGateValidator

__all__ = [
    "OUTCOME_TABLE",
    "EndStream",
    "GateReport",
    "MetadataError",
    "OnFailKind",
    "SentenceGateValidator",
    "SentenceGuard",
    "SentenceWithheldError",
    "StreamingKindError",
    "UnboundStreamError",
    "async_sentence_stream",
    "gate_report",
    "sentence_stream",
]
