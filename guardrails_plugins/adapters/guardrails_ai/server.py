"""The OpenAI-compatible endpoint of the Guardrails server, which sends the provider's own objects.

The endpoint keeps the provider's last chunk (streaming) or completion (whole) in a context
variable of its own and writes it into its answer, whatever the validators say. What passed is put
in its place here. Outside that endpoint the variables are not set, and nothing happens.
"""

from __future__ import annotations

import sys
from typing import Any

from guardrails_ai.types import FailResult, PassResult, ValidationResult

SERVER_MODULE = "guardrails_api.utils.openai"


def show_in_frame(text: str) -> None:
    """Have the endpoint's next frame carry `text` instead of the provider's raw chunk."""
    variable, chunk = _current("ctx_chat_completion_stream")
    if chunk is None:
        return
    from litellm.types.utils import Delta, StreamingChoices

    choice = StreamingChoices(index=0, delta=Delta(content=text, role="assistant"), finish_reason=None)
    variable.set(type(chunk)(id=chunk.id, created=chunk.created, model=chunk.model, choices=[choice]))


def show_in_completion(judged: str, text: str) -> None:
    """Have the endpoint's completion say `text` where it says `judged`, the model's whole answer.

    The completion itself is changed: validators run in tasks, and a task's context is a copy.
    """
    _, completion = _current("ctx_chat_completion")
    if completion is None:
        return
    for choice in completion.choices:
        if choice.message.content == judged:
            choice.message.content = text


def shown_by(result: ValidationResult | None) -> str:
    """What a reader is shown for `result`: nothing where it is held, asked again or filtered."""
    text: Any = None
    if isinstance(result, FailResult):
        text = result.fix_value
    elif isinstance(result, PassResult):
        text = result.validated_chunk
        if result.value_override is not result.ValueOverrideSentinel:
            text = result.value_override
    return text if isinstance(text, str) else ""


def _current(name: str) -> tuple[Any, Any]:
    variable = getattr(sys.modules.get(SERVER_MODULE), name, None)
    return variable, variable.get(None) if variable is not None else None
