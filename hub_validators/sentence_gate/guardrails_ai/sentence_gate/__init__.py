"""The sentence gate as a Guardrails validator package: everything is re-exported from `guardrails_plugins`."""

from __future__ import annotations

from guardrails_plugins.adapters.guardrails_ai import (
    OUTCOME_TABLE,
    EndStream,
    GateReport,
    MetadataError,
    OnFailKind,
    SentenceGateValidator,
    SentenceGuard,
    SentenceWithheldError,
    StreamingKindError,
    UnboundStreamError,
    async_sentence_stream,
    gate_report,
    sentence_stream,
)

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
