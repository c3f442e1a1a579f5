"""Errors of the NeMo adapter; each is a `GateError`."""

from __future__ import annotations

from guardrails_plugins.core.errors import GateError


class NemoConfigError(GateError, ValueError):
    """A NeMo configuration would leak or not gate; the message names the line to change."""


class ProviderStreamError(GateError, RuntimeError):
    """The provider broke off after text had arrived.

    Carries the name of the provider's error class and its HTTP status, never its message:
    that may quote the answer. `status_code` is read by NeMo.
    """

    def __init__(self, kind: str, status_code: int | None = None) -> None:
        super().__init__(f"the provider's stream broke off ({kind})")
        self.status_code = status_code


class GateItemsError(GateError, RuntimeError):
    """`gate_items(...)` was used other than as the `generator=` of one `stream_async` call."""
