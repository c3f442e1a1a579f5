"""`SentenceGuard`: a `Guard` that wraps what it calls with `sentence_stream` by itself.

For code that calls a guard and cannot be changed, first of all the Guardrails server: a plain
guard there holds the answer to its end, this one shows each sentence as soon as it has passed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

from guardrails import Guard

from guardrails_plugins.adapters.guardrails_ai.errors import MetadataError
from guardrails_plugins.adapters.guardrails_ai.server import show_in_frame
from guardrails_plugins.adapters.guardrails_ai.streams import sentence_stream


class SentenceGuard(Guard):  # type: ignore[misc]
    """A `Guard` whose streams are judged sentence by sentence, whoever calls it.

    Put it where a `Guard` stands: ``SentenceGuard(name="hall").use(SentenceGateValidator(...))``.
    Outcomes that show nothing and report nothing are left out. Without ``stream=True`` it is a
    `Guard`.
    """

    def __call__(self, llm_api: Any = None, *args: Any, **kwargs: Any) -> Any:
        """As `Guard`'s; raises `MetadataError` when it is to stream with neither callable nor model."""
        if not kwargs.get("stream"):
            return super().__call__(llm_api, *args, **kwargs)
        llm = llm_api if llm_api is not None else kwargs.get("model")
        if llm is None:
            raise MetadataError("a streaming guard needs a callable or model='...'")
        return _shown(super().__call__(sentence_stream(llm), *args, **kwargs))


def _shown(outcomes: Iterator[Any]) -> Generator[Any, None, None]:
    for outcome in outcomes:
        if outcome.validated_output or not outcome.validation_passed:
            show_in_frame(outcome.validated_output or "")
            yield outcome
