"""`UsageMeter`: tokens that were generated, whether or not they were shown.

What the provider reported stands. What arrived after its last report is estimated at one
token per UTF-8 byte: byte-level tokenizers emit no more tokens than bytes, so the estimate
is never too low for text that arrived.
"""

from __future__ import annotations

from dataclasses import dataclass

from guardrails_plugins.core.errors import ArgumentError, GateError


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, reported and estimated apart; `hidden_reasoning` is true when reasoning that never
    arrived as text may be missing from the count (no final report was received)."""

    input_reported: int = 0
    input_estimated: int = 0
    output_reported: int = 0
    output_estimated: int = 0
    reasoning_reported: int = 0
    hidden_reasoning: bool = False

    @property
    def input_tokens(self) -> int:
        """Reported and estimated input tokens together."""
        return self.input_reported + self.input_estimated

    @property
    def output_tokens(self) -> int:
        """Reported and estimated output tokens together (reasoning included)."""
        return self.output_reported + self.output_estimated


class UsageMeter:
    """Counts one stream. Reports are cumulative: each replaces the one before (OpenAI `usage`,
    Anthropic `message_start` and `message_delta`)."""

    __slots__ = ("_input", "_output", "_output_bytes", "_prompt_bytes", "_reasoning")

    def __init__(self) -> None:
        self._input: int | None = None
        self._output: int | None = None
        self._reasoning = 0
        self._prompt_bytes = 0
        self._output_bytes = 0

    def on_prompt(self, text: str) -> None:
        """Add text sent to the model; counted only while the provider has reported no input.

        Raises `ArgumentError` for what is no text, and then changes nothing.
        """
        self._prompt_bytes += utf8_length(_text(text))

    def on_text(self, text: str) -> None:
        """Add generated text that arrived: answer, reasoning or tool arguments, shown or not.

        Raises `ArgumentError` for what is no text, and then changes nothing.
        """
        self._output_bytes += utf8_length(_text(text))

    on_reasoning = on_text

    def report(
        self,
        *,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        reasoning_tokens: int | None = None,
    ) -> None:
        """Take a provider's report; None leaves a figure as it was.

        An output report covers all text that arrived before it. Raises `GateError` for a
        figure that is negative or no whole number, and then changes nothing.
        """
        for name, value in (("input", input_tokens), ("output", output_tokens), ("reasoning", reasoning_tokens)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                raise GateError(f"{name} tokens must be a whole number of at least 0, not {value!r}")
        if input_tokens is not None:
            self._input = input_tokens
        if output_tokens is not None:
            self._output, self._output_bytes = output_tokens, 0
        if reasoning_tokens is not None:
            self._reasoning = reasoning_tokens

    def result(self) -> Usage:
        """The count so far; the meter goes on."""
        return Usage(
            input_reported=self._input or 0,
            input_estimated=self._prompt_bytes if self._input is None else 0,
            output_reported=self._output or 0,
            output_estimated=self._output_bytes,
            reasoning_reported=self._reasoning,
            hidden_reasoning=self._output is None or self._output_bytes > 0,
        )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ArgumentError(f"usage is counted of text (str), not {type(value).__name__}; decode bytes first")
    return value


def utf8_length(text: str) -> int:
    """Bytes of the text in UTF-8; a lone surrogate counts three, as when it is written out."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
