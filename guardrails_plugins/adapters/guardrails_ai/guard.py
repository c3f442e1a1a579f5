"""`SentenceGuard`: a `Guard` that wraps what it calls with `sentence_stream` by itself.

For code that calls a guard and cannot be changed, first of all the Guardrails server. The server's
OpenAI-compatible endpoint writes the provider's last raw chunk into every frame that it sends,
whatever the validators say, and keeps that chunk in a context variable of its own; there this
guard leaves a chunk with the text that passed.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from typing import Any

from guardrails import Guard

from guardrails_plugins.adapters.guardrails_ai.errors import MetadataError
from guardrails_plugins.adapters.guardrails_ai.streams import sentence_stream

SERVER_MODULE = "guardrails_api.utils.openai"


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
            _tell_server(outcome.validated_output or "")
            yield outcome


def _tell_server(text: str) -> None:
    """Put a chunk with `text` in place of the raw one that the server would send, if there is one."""
    variable = getattr(sys.modules.get(SERVER_MODULE), "ctx_chat_completion_stream", None)
    chunk = variable.get(None) if variable is not None else None
    if variable is None or chunk is None:
        return
    from litellm.types.utils import Delta, StreamingChoices

    choice = StreamingChoices(index=0, delta=Delta(content=text, role="assistant"), finish_reason=None)
    variable.set(type(chunk)(id=chunk.id, created=chunk.created, model=chunk.model, choices=[choice]))
