"""What the server is told, and the limits that it keeps."""

from __future__ import annotations

from dataclasses import dataclass, field

from guardrails_plugins.core.policy import GatePolicy
from guardrails_plugins.server.retrieval import MAX_PASSAGES, MIN_RELEVANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Limits count bytes of a request body, code points of texts, and seconds."""

    language: str = "en"
    policy: GatePolicy = field(default_factory=GatePolicy)
    bearer_key: str | None = None
    cors_origins: tuple[str, ...] = ()
    max_body_bytes: int = 256_000
    max_question_chars: int = 2_000
    max_history_messages: int = 20
    max_history_chars: int = 40_000
    max_streams: int = 400
    max_passages: int = MAX_PASSAGES
    min_relevance: float = MIN_RELEVANCE
    stall_timeout_s: float = 60.0
    answer_timeout_s: float = 600.0
    ping_s: float = 15.0
    """The interval that the SSE standard suggests against proxies that drop quiet connections."""
