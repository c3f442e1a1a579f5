"""The request body, checked: one clear error for each thing that can be wrong with it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from guardrails_plugins.core.errors import GateError, LanguageError
from guardrails_plugins.core.languages.profile import LANGUAGES, resolve_language
from guardrails_plugins.server.settings import Settings

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["question"],
    "additionalProperties": False,
    "properties": {
        "question": {"type": "string", "minLength": 1},
        "language": {"type": "string", "description": f"One of {', '.join(LANGUAGES)}, or a BCP 47 tag of one."},
        "history": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["role", "content"],
                "properties": {"role": {"enum": ["user", "assistant"]}, "content": {"type": "string"}},
            },
            "description": "Earlier turns. Of answers only what was released belongs here, without notices.",
        },
    },
}
"""The body of `POST /v1/answers` as JSON Schema."""


MAX_ECHO_CHARS = 80
"""How much of what was sent an error repeats."""


class RequestError(GateError):
    """A request that is refused before an answer begins, with its HTTP status, code and own headers."""

    def __init__(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = headers


@dataclass(frozen=True, slots=True)
class Ask:
    """A question with its language and history."""

    question: str
    language: str
    history: tuple[dict[str, str], ...]


def parse(body: bytes, settings: Settings) -> Ask:
    """The body as an `Ask`. Raises `RequestError`."""
    try:
        data = json.loads(body)
    except (ValueError, UnicodeDecodeError, RecursionError):
        raise RequestError(400, "bad_json", "the body must be JSON in UTF-8") from None
    if not isinstance(data, dict):
        raise RequestError(400, "bad_json", "the body must be an object with a 'question'")
    unknown = [k for k in data if k not in SCHEMA["properties"]]
    if unknown:
        known = ", ".join(SCHEMA["properties"])
        raise RequestError(400, "unknown_key", f"unknown key {unknown[0][:MAX_ECHO_CHARS]!r}; known: {known}")
    question = data.get("question")
    if not isinstance(question, str) or not question.strip():
        raise RequestError(400, "no_question", "'question' must be a text that is not empty")
    if len(question) > settings.max_question_chars:
        limit = settings.max_question_chars
        raise RequestError(413, "question_too_long", f"the question has {len(question)} characters; at most {limit}")
    return Ask(_sound(question), _language(data.get("language"), settings), _history(data.get("history"), settings))


def _language(value: Any, settings: Settings) -> str:
    # No tag that means something is longer (RFC 5646, section 4.4.1, has 35); the error quotes it.
    tag = value[:MAX_ECHO_CHARS] if isinstance(value, str) else value
    try:
        return resolve_language(settings.language if tag is None else tag)
    except LanguageError as error:
        raise RequestError(400, "unknown_language", str(error)) from None


def _history(value: Any, settings: Settings) -> tuple[dict[str, str], ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise RequestError(400, "bad_history", "'history' must be a list of turns")
    if len(value) > settings.max_history_messages:
        limit = settings.max_history_messages
        raise RequestError(413, "history_too_long", f"the history has {len(value)} turns; at most {limit}")
    turns = []
    for turn in value:
        role, content = (turn.get("role"), turn.get("content")) if isinstance(turn, dict) else (None, None)
        if role not in ("user", "assistant") or not isinstance(content, str):
            raise RequestError(400, "bad_history", "each turn needs a 'role' (user or assistant) and a text 'content'")
        if content.strip():
            turns.append({"role": role, "content": _sound(content)})
    size = sum(len(t["content"]) for t in turns)
    if size > settings.max_history_chars:
        limit = settings.max_history_chars
        raise RequestError(413, "history_too_long", f"the history has {size} characters; at most {limit}")
    return tuple(turns)


def _sound(text: str) -> str:
    """Without lone surrogates, which no provider takes."""
    return text.encode("utf-8", "replace").decode("utf-8")
