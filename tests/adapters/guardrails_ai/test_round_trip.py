"""`to_dict` and `from_dict` keep language, policy and kind."""

from __future__ import annotations

import json
from typing import Any

import pytest
from guardrails import AsyncGuard, Guard

from guardrails_plugins.adapters.guardrails_ai import MetadataError, SentenceGateValidator
from guardrails_plugins.core.errors import PolicyError
from guardrails_plugins.core.policy import GatePolicy
from tests.adapters.guardrails_ai.support import EN

pytestmark = pytest.mark.framework
POLICY = GatePolicy(citations="optional", actions={"first_person": "flag"}, equivalences=frozenset(), min_words=5)


@pytest.mark.parametrize("kind", ["exception", "fix", "filter", "refrain", "noop", "reask", "fix_reask"])
@pytest.mark.parametrize("guard_class", [Guard, AsyncGuard])
def test_a_guard_comes_back_as_it_was(guard_class: Any, kind: str) -> None:
    guard = guard_class().use(SentenceGateValidator("de", POLICY, on_fail=kind))
    saved = json.loads(json.dumps(guard.to_dict()))
    restored = guard_class.from_dict(saved)
    (validator,) = restored.get_validators("output")
    assert isinstance(validator, SentenceGateValidator)
    assert validator.language == "de"
    assert validator.settings.policy == POLICY
    assert validator.settings.kind == kind
    assert restored.to_dict() == saved


def test_a_restored_guard_judges_and_keeps_one_validator() -> None:
    restored = Guard.from_dict(Guard().use(SentenceGateValidator(on_fail="filter")).to_dict())
    outcome = restored.validate(EN.text, metadata=EN.metadata)
    assert outcome.validated_output == "The hall has 40 seats.\n\nMembers pay 12 euros."
    assert len(restored.get_validators("output")) == 1


def test_what_cannot_be_saved_is_an_error_when_restored() -> None:
    own = Guard().use(SentenceGateValidator(policy=GatePolicy(checks=(lambda sentence, context: [],))))
    with pytest.raises(PolicyError):
        Guard.from_dict(own.to_dict())
    custom = Guard().use(SentenceGateValidator(on_fail=lambda value, result: ""))
    with pytest.raises(MetadataError):
        Guard.from_dict(custom.to_dict())
