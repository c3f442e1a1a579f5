"""Provider frames to deltas: strings, bytes, and the chunk objects of the common SDKs.

Frames are read by their fields, whether objects or mappings, so that no SDK is imported:
OpenAI chat completions and responses, Anthropic messages (raw events and those of its
`MessageStream`), LangChain message chunks, NeMo's `LLMResponseChunk`.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from guardrails_plugins.core.endings import severity
from guardrails_plugins.core.errors import FrameError, GateError


class ProviderError(GateError):
    """The provider reported an error inside its stream. Its text is not kept."""


@dataclass(slots=True)
class Delta:
    """What one frame brings. `text` may be shown once judged; `reasoning` and `tool_text` (arguments,
    the text of a refusal) only count."""

    text: str = ""
    reasoning: str = ""
    tool_text: str = ""
    refused: bool = False
    finish_reason: str | None = None
    usage: dict[str, int] = field(default_factory=dict)


_EMPTY = Delta()
_ANTHROPIC_QUIET = frozenset({"ping", "message_stop", "content_block_stop"})
_ANTHROPIC_HELPERS = frozenset({"text", "thinking", "citation", "signature", "input_json", "compaction"})
_RESPONSES_QUIET = (
    "response.created", "response.in_progress", "response.queued", "response.output_item.", "response.content_part.",
    "response.output_text.done", "response.output_text.annotation", "response.refusal.done", "response.reasoning",
    "response.function_call_arguments.done", "response.web_search_call.", "response.file_search_call.",
    "response.code_interpreter_call", "response.mcp_", "response.image_generation_call.", "response.custom_tool_call",
    "response.audio.",
)  # fmt: skip


class FrameReader:
    """Reads the frames of one stream. `needs_finish` says that its protocol tells when an answer is whole."""

    def __init__(self) -> None:
        self.needs_finish = False
        self.finish_reason: str | None = None
        self.unknown_events = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._raw_text_seen = False
        self._tools: dict[Any, dict[str, Any]] = {}

    @property
    def tool_calls(self) -> tuple[Mapping[str, Any], ...]:
        """The tool calls assembled so far: ``id``, ``name``, ``arguments`` (text)."""
        return tuple(dict(call) for call in self._tools.values())

    def read(self, chunk: Any) -> Delta:
        """What a frame brings. Raises `FrameError` for an unknown object and for more than one
        choice, `ProviderError` for an error event."""
        if isinstance(chunk, str):
            return Delta(chunk) if chunk else _EMPTY
        if chunk is None or (isinstance(chunk, Mapping) and not chunk):
            return _EMPTY
        if isinstance(chunk, (bytes, bytearray, memoryview)):
            return Delta(self._decoder.decode(bytes(chunk)))
        delta = None
        try:
            delta = self._read_object(chunk)
        except GateError:
            raise
        except Exception:  # it may quote the frame: not even the context of another error
            pass
        if delta is None:
            raise FrameError(f"a frame ({type(chunk).__name__}) names a known protocol but is not built as it says")
        self._note_end(delta)
        return delta

    @property
    def is_cut(self) -> bool:
        """Whether the provider said that the answer was cut off, filtered or refused: no text counts after that."""
        return severity(self.finish_reason) > 0

    def _note_end(self, delta: Delta) -> None:
        """Keep the gravest finish reason. Text behind a clean one shows that the answer had not ended."""
        if delta.text and not self.is_cut:
            self.finish_reason = None
        if delta.finish_reason and severity(delta.finish_reason) >= severity(self.finish_reason):
            self.finish_reason = delta.finish_reason

    def finish(self) -> Delta:
        """What a stream of bytes still held: an unfinished sequence becomes U+FFFD."""
        return Delta(self._decoder.decode(b"", final=True))

    def _read_object(self, chunk: Any) -> Delta:
        if _get(chunk, "choices") is not None or _get(chunk, "object") == "chat.completion.chunk":
            return self._openai_chat(chunk)
        if _has(chunk, "delta_content"):
            return self._nemo(chunk)
        kind = _get(chunk, "type")
        if isinstance(kind, str):
            if kind.startswith("response."):
                return self._openai_responses(chunk, kind)
            if kind in ("AIMessageChunk", "ai", "AIMessage") and _has(chunk, "content"):
                return self._langchain(chunk)
            if kind == "error":
                raise ProviderError("the provider sent an error event")
            if kind.startswith(("message_", "content_block_")) or kind in _ANTHROPIC_QUIET | _ANTHROPIC_HELPERS:
                return self._anthropic(chunk, kind)
        message = _get(chunk, "message")
        if message is not None and _has(message, "content"):
            return self._langchain(message)
        if _get(chunk, "usage") is not None:
            return Delta(usage=_openai_usage(_get(chunk, "usage")))
        if isinstance(kind, str) and self.needs_finish:
            self.unknown_events += 1
            return _EMPTY
        raise FrameError(
            f"a stream yielded {type(chunk).__name__}, which is no known frame; pass strings, or chunks of the OpenAI, "
            "Anthropic, LangChain or NeMo interfaces"
        )

    # -- OpenAI ------------------------------------------------------------------------------

    def _openai_chat(self, chunk: Any) -> Delta:
        self.needs_finish = True
        out = Delta(usage=_openai_usage(_get(chunk, "usage")))
        choices = _get(chunk, "choices") or ()
        if len(choices) > 1 or any((_get(c, "index") or 0) != 0 for c in choices):
            raise FrameError("the stream has more than one choice; ask the provider for n=1")
        for choice in choices:
            if _get(choice, "message") is not None:
                raise FrameError("a frame holds a whole message; ask the provider for stream=True, or use check_text")
            out.finish_reason = _get(choice, "finish_reason")
            delta = _get(choice, "delta")
            if isinstance(delta, str):
                raise FrameError("a choice's delta is text where its protocol has an object")
            out.text = _text(_get(choice, "text") if delta is None else _get(delta, "content"))
            out.reasoning = _text(_get(delta, "reasoning_content") or _get(delta, "reasoning"))
            if not out.reasoning:
                out.reasoning = _text(_get(delta, "reasoning_details"))
            out.refused = bool(_get(delta, "refusal"))
            out.tool_text = _text(_get(delta, "refusal")) + _text(_get(_get(delta, "audio"), "transcript"))
            for call in _get(delta, "tool_calls") or ():
                function = _get(call, "function")
                out.tool_text += self._tool(
                    _get(call, "index"), _get(call, "id"), _get(function, "name"), _get(function, "arguments")
                )
            function = _get(delta, "function_call")
            if function is not None:
                out.tool_text += self._tool("function", None, _get(function, "name"), _get(function, "arguments"))
        return out

    def _openai_responses(self, event: Any, kind: str) -> Delta:
        self.needs_finish = True
        if kind == "response.output_text.delta":
            return Delta(_text(_get(event, "delta")))
        if kind.startswith("response.reasoning") and kind.endswith(".delta"):
            return Delta(reasoning=_text(_get(event, "delta")))
        if kind == "response.refusal.delta":
            return Delta(refused=True, tool_text=_text(_get(event, "delta")))
        if kind == "response.function_call_arguments.delta":
            return Delta(tool_text=self._tool(_get(event, "output_index"), None, None, _get(event, "delta")))
        if kind == "response.output_item.added" and _get(_get(event, "item"), "type") == "function_call":
            item = _get(event, "item")
            self._tool(_get(event, "output_index"), _get(item, "call_id"), _get(item, "name"), None)
            return _EMPTY
        response = _get(event, "response")
        if kind in ("response.completed", "response.incomplete"):
            reason = "completed"
            if kind.endswith("incomplete"):
                reason = _get(_get(response, "incomplete_details"), "reason") or "incomplete"
            return Delta(finish_reason=reason, usage=_openai_usage(_get(response, "usage")))
        if kind == "response.failed":
            raise ProviderError("the provider reported that the response failed")
        if not kind.startswith(_RESPONSES_QUIET):
            self.unknown_events += 1
        if kind.endswith(".delta") and not kind.endswith("audio.delta"):  # arguments, code, transcripts: generated
            return Delta(tool_text=_text(_get(event, "delta")))
        return _EMPTY

    # -- Anthropic ---------------------------------------------------------------------------

    def _anthropic(self, event: Any, kind: str) -> Delta:
        self.needs_finish = True
        if kind == "content_block_delta":
            self._raw_text_seen = True
            return self._anthropic_delta(event)
        if kind == "message_start":
            return Delta(usage=_anthropic_usage(_get(_get(event, "message"), "usage")))
        if kind == "message_delta":
            reason = _get(_get(event, "delta"), "stop_reason")
            return Delta(finish_reason=reason, usage=_anthropic_usage(_get(event, "usage")))
        if kind == "content_block_start":
            block = _get(event, "content_block")
            if _get(block, "type") == "tool_use":
                self._tool(_get(event, "index"), _get(block, "id"), _get(block, "name"), None)
            return Delta(_text(_get(block, "text")))
        if kind == "text" and not self._raw_text_seen:
            return Delta(_text(_get(event, "text")))
        if kind not in _ANTHROPIC_QUIET | _ANTHROPIC_HELPERS:
            self.unknown_events += 1
        return _EMPTY

    def _anthropic_delta(self, event: Any) -> Delta:
        delta = _get(event, "delta")
        kind = _get(delta, "type")
        if kind == "text_delta":
            return Delta(_text(_get(delta, "text")))
        if kind == "thinking_delta":
            return Delta(reasoning=_text(_get(delta, "thinking")))
        if kind == "input_json_delta":
            index, arguments = _get(event, "index"), _get(delta, "partial_json")
            if index not in self._tools:  # a tool that the provider's server runs itself
                return Delta(tool_text=_text(arguments))
            return Delta(tool_text=self._tool(index, None, None, arguments))
        if kind not in ("signature_delta", "citations_delta"):
            self.unknown_events += 1
        return _EMPTY

    # -- frameworks --------------------------------------------------------------------------

    def _langchain(self, message: Any) -> Delta:
        # Not every LangChain model gives a finish reason, so its lack says nothing.
        metadata = _get(message, "response_metadata") or {}
        extra = _get(message, "additional_kwargs") or {}
        out = Delta(finish_reason=_get(metadata, "finish_reason") or _get(metadata, "stop_reason"))
        content = _get(message, "content")
        for block in [content] if isinstance(content, str) else content or ():
            if isinstance(block, str) or _get(block, "type") in ("text", "output_text"):
                out.text += _text(block if isinstance(block, str) else _get(block, "text"))
            elif _get(block, "type") in ("reasoning", "thinking"):
                out.reasoning += _text(_get(block, "reasoning") or _get(block, "thinking"))
        out.reasoning += _text(_get(extra, "reasoning_content"))
        out.refused = bool(_get(extra, "refusal"))
        for call in _get(message, "tool_call_chunks") or ():
            out.tool_text += self._tool(_get(call, "index"), _get(call, "id"), _get(call, "name"), _get(call, "args"))
        usage = _get(message, "usage_metadata")
        if usage is not None:
            details = _get(usage, "output_token_details")
            out.usage = _usage(_get(usage, "input_tokens"), _get(usage, "output_tokens"), _get(details, "reasoning"))
        return out

    def _nemo(self, chunk: Any) -> Delta:
        usage = _get(chunk, "usage")
        out = Delta(
            text=_text(_get(chunk, "delta_content")),
            reasoning=_text(_get(chunk, "delta_reasoning")),
            finish_reason=_get(chunk, "finish_reason"),
            usage=_usage(_get(usage, "input_tokens"), _get(usage, "output_tokens"), _get(usage, "reasoning_tokens")),
        )
        for i, call in enumerate(_get(chunk, "delta_tool_calls") or ()):
            function = _get(call, "function")
            out.tool_text += self._tool(
                _get(call, "id") or i, _get(call, "id"), _get(function, "name"), str(_get(function, "arguments") or "")
            )
        return out

    def _tool(self, key: Any, call_id: Any, name: Any, arguments: Any) -> str:
        call = self._tools.setdefault(key, {"id": None, "name": "", "arguments": ""})
        call["id"] = call_id or call["id"]
        call["name"] = call["name"] or _text(name)
        text = _text(arguments)
        call["arguments"] += text
        return text


def _get(item: Any, name: str) -> Any:
    """A field of an object or mapping; None when it has none."""
    if item is None:
        return None
    if isinstance(item, Mapping):
        return item.get(name)
    return getattr(item, name, None)


def _has(item: Any, name: str) -> bool:
    return name in item if isinstance(item, Mapping) else hasattr(item, name)


def _text(value: Any) -> str:
    """A text field; content in parts is joined, anything else is no text."""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return "".join(_text(_get(part, "text")) for part in value)
    return ""


def _usage(prompt: Any, output: Any, reasoning: Any) -> dict[str, int]:
    named = {"input_tokens": prompt, "output_tokens": output, "reasoning_tokens": reasoning}
    return {k: v for k, v in named.items() if isinstance(v, int) and not isinstance(v, bool) and v >= 0}


def _openai_usage(usage: Any) -> dict[str, int]:
    if usage is None:
        return {}
    details = _get(usage, "completion_tokens_details") or _get(usage, "output_tokens_details")
    prompt, output = _get(usage, "prompt_tokens"), _get(usage, "completion_tokens")
    return _usage(
        _get(usage, "input_tokens") if prompt is None else prompt,
        _get(usage, "output_tokens") if output is None else output,
        _get(details, "reasoning_tokens"),
    )


def _anthropic_usage(usage: Any) -> dict[str, int]:
    if usage is None:
        return {}
    parts = [_get(usage, n) for n in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")]
    counted = [p for p in parts if isinstance(p, int)]
    return _usage(sum(counted) if counted else None, _get(usage, "output_tokens"), None)
