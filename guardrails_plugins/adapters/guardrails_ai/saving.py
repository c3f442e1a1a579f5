"""A validator's arguments as plain data, and back: what `to_dict` and `from_dict` need."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from guardrails_plugins.adapters.guardrails_ai.errors import MetadataError
from guardrails_plugins.core.policy import GatePolicy
from guardrails_plugins.core.sources import Source, SourceIndex


def read_policy(policy: object) -> GatePolicy:
    """A `GatePolicy` from any of its forms. Raises `PolicyError` (or `MetadataError` for another type)."""
    if policy is None:
        return GatePolicy()
    if isinstance(policy, GatePolicy):
        return policy
    if isinstance(policy, Mapping):
        return GatePolicy.from_mapping(policy)
    if isinstance(policy, (str, os.PathLike)):
        return GatePolicy.from_toml(policy)
    raise MetadataError(
        f"policy must be a GatePolicy, a mapping or the path of a TOML file, not {type(policy).__name__}"
    )


def saved_policy(policy: GatePolicy) -> dict[str, Any]:
    """The keys that differ from the default, as plain data for `to_dict`.

    Own checks cannot be saved: their names are, so that restoring fails instead of judging less.
    """
    default = GatePolicy()
    saved: dict[str, Any] = {}
    for field in fields(GatePolicy):
        value = getattr(policy, field.name)
        if value == getattr(default, field.name):
            continue
        if field.name == "checks":
            value = [getattr(check, "__name__", type(check).__name__) for check in value]
        elif isinstance(value, Mapping):
            value = dict(value)
        elif isinstance(value, frozenset):
            value = sorted(value)
        saved[field.name] = value
    return saved


def saved_sources(sources: SourceIndex | Iterable[Any]) -> list[dict[str, str]]:
    """Each source as a mapping of the fields that it has."""
    found = sources.sources if isinstance(sources, SourceIndex) else sources
    return [_mapping(source) for source in found]


def _mapping(source: str | Source | Mapping[str, Any]) -> dict[str, str]:
    if isinstance(source, str):
        return {"text": source}
    if isinstance(source, Source):
        source = {field.name: getattr(source, field.name) for field in fields(Source)}
    return {name: value for name, value in source.items() if value is not None}
