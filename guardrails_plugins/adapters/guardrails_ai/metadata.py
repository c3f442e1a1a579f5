"""What a guard's `metadata` carries for the gate, and its check before the model is called."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from guardrails_plugins.adapters.guardrails_ai.errors import MetadataError
from guardrails_plugins.core.errors import SourceError
from guardrails_plugins.core.languages.profile import resolve_language
from guardrails_plugins.core.sources import Source, SourceIndex

SOURCES, LANGUAGE, QUESTION = "sources", "language", "question"


@dataclass(frozen=True, slots=True, repr=False)
class Request:
    """The sources, language and question of one call."""

    sources: Any
    language: str
    question: str | None


def read_request(metadata: Mapping[str, Any] | None, *, sources: Any, language: str) -> Request:
    """The call's own values, else the validator's.

    Raises `MetadataError` when no sources are given or a value has the wrong type, `SourceError`
    for what is no source and `LanguageError` for an unknown language.
    """
    values = metadata or {}
    found = values.get(SOURCES, sources)
    if isinstance(found, str):
        found = _listed(found)
    if found is None:
        raise MetadataError("metadata needs 'sources': a list of texts, mappings or Source objects, or a SourceIndex")
    tag = values.get(LANGUAGE) or language
    if not isinstance(tag, str):
        raise MetadataError(f"metadata 'language' must be a tag such as 'en', not {type(tag).__name__}")
    question = values.get(QUESTION)
    if question is not None and not isinstance(question, str):
        raise MetadataError(f"metadata 'question' must be text, not {type(question).__name__}")
    resolve_language(tag)
    check_shape(found)
    return Request(found, tag, question)


def _listed(text: str) -> Any:
    """A JSON array written as text, the one form that the Guardrails server lets through; else the text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, list) else text


def check_shape(sources: object) -> None:
    """Raise `SourceError` for what cannot be sources; builds no index, consumes no iterator."""
    if isinstance(sources, SourceIndex):
        return
    if isinstance(sources, (str, bytes, Mapping)) or not hasattr(sources, "__iter__"):
        raise SourceError(
            f"metadata 'sources' must be a list of sources or a SourceIndex, not {type(sources).__name__}"
        )
    if not isinstance(sources, (list, tuple)):
        return
    for number, source in enumerate(sources, start=1):
        text = source.get("text") if isinstance(source, Mapping) else source
        if not isinstance(text, (str, Source)):
            raise SourceError(
                f"source {number} must be text, a mapping with 'text' or a Source, not {type(source).__name__}"
            )


def metadata_of_caller(depth: int = 2) -> Mapping[str, Any] | None:
    """The `metadata` of the function that asks for `required_metadata_keys`, or None.

    Guardrails asks each validator which keys it needs before it calls the model, and shows it
    the metadata only afterwards. The caller's frame is the one place where wrong metadata can
    be seen in time; where it is not there, the check is made when the first text arrives.
    """
    values = sys._getframe(depth).f_locals.get("metadata")
    return values if isinstance(values, Mapping) else None
