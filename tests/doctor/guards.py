"""Guards for the doctor to look at."""

from __future__ import annotations

from typing import Any

from guardrails import AsyncGuard, Guard
from guardrails.validators import PassResult, Validator, register_validator

from guardrails_plugins.adapters.guardrails_ai import SentenceGateValidator


@register_validator(name="test/doctor-mine", data_type="string")
class Mine(Validator):  # type: ignore[misc]
    """A validator of one's own, which passes everything."""

    def _validate(self, value: Any, metadata: dict[str, Any]) -> Any:
        return PassResult()


exception = Guard().use(Mine(on_fail="exception"))
fix = Guard().use(Mine(on_fail="fix"))
filter_async = AsyncGuard().use(Mine(on_fail="filter"))
gated = Guard().use(SentenceGateValidator(on_fail="fix"))
gated_async = AsyncGuard().use(SentenceGateValidator(on_fail="exception"))
no_guard = 3
