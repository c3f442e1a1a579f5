"""`check_text`: a whole text through the machine of a stream."""

from __future__ import annotations

from collections.abc import Iterable

from guardrails_plugins.core.gate import SentenceGate
from guardrails_plugins.core.outcome import GateOutcome
from guardrails_plugins.core.policy import GatePolicy
from guardrails_plugins.core.sources import Source, SourceIndex


def check_text(
    text: str,
    sources: Iterable[str | Source] | SourceIndex,
    *,
    language: str = "en",
    policy: GatePolicy | None = None,
    question: str | None = None,
    finish_reason: str = "stop",
) -> GateOutcome:
    """Judge a whole text: the same machine, fed everything and then finished.

    The outcome is that of the whole stream: all released text and sentences, all violations
    up to the stop. Raises what `SentenceGate` raises.
    """
    gate = SentenceGate(sources, language=language, policy=policy, question=question)
    first = gate.feed(text)
    if first.stopped:
        return first
    last = gate.finish(finish_reason)
    return last._replace(
        text=first.text + last.text,
        violations=first.violations + last.violations,
        sentences=first.sentences + last.sentences,
    )
