"""`GatePolicy`: every key is checked when the policy is made, and the error says what would be right."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from guardrails_plugins import GatePolicy
from guardrails_plugins.core.errors import BoundError, MarkerStyleError, PolicyError
from guardrails_plugins.core.values import EQUIVALENCES_DEFAULT

DEEP: list[Any] = []
for _ in range(5000):
    DEEP = [DEEP]
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"citation": "off"}, "did you mean 'citations'"),
    ({"zzz": 1}, "known: citations"),
    ({"citations": "sometimes"}, "required, optional, off"),
    ({"short_numbers": "never"}, "anywhere, with_noun"),
    ({"code": "skip"}, "check, exempt"),
    ({"keep_markers": 1}, "true or false"),
    ({"min_words": 0}, "at least 1"),
    ({"min_words": True}, "at least 1"),
    ({"equivalences": "zeros"}, "a list of names"),
    ({"equivalences": ["zeroes"]}, "did you mean 'zeros'"),
    ({"equivalences": {"zeros": "yes"}}, "true or false"),
    ({"actions": ["stop"]}, "map codes"),
    ({"actions": {"first_person": "warn"}}, "stop or flag"),
    ({"actions": {"": "flag"}}, "no name"),
    ({"actions": {"check_failed": "flag"}}, "without a verdict"),
    ({"notices": ["a"]}, "to texts"),
    ({"notices": {"with_held": "x"}}, "did you mean 'withheld'"),
    ({"notices": {"withheld": " "}}, "not empty"),
    ({"refusal_token": "NO ANSWER"}, "without blanks"),
    ({"refusal_token": ""}, "without blanks"),
    ({"marker": 3}, "must be a text"),
    ({"checks": ["not callable"]}, "callables"),
    ({"equivalences": [["zeros"]]}, "unknown equivalence"),
    ({"equivalences": {1: True}}, "unknown equivalence 1"),
    ({"actions": {3: "warn"}}, "no name"),
    ({"min_words": -(10**5000)}, "at least 1"),
    ({"min_words": 10**5000}, "at most 1000000000"),
    ({10**5000: 1}, "known: citations"),
    ({"citations": DEEP}, "use one of"),
    ({"x" * 5000: 1}, "x…; known"),
]


@pytest.mark.parametrize(("mapping", "says"), WRONG, ids=range(len(WRONG)))
def test_a_wrong_key_or_value_is_named_with_what_would_be_right(mapping: dict[str, Any], says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        GatePolicy.from_mapping(mapping)


def test_the_bound_and_the_marker_have_errors_of_their_own() -> None:
    with pytest.raises(BoundError, match="at least 1"):
        GatePolicy(max_chars=0)
    with pytest.raises(MarkerStyleError, match="square brackets"):
        GatePolicy(marker="(n)")


def test_only_names_may_be_given_in_code() -> None:
    with pytest.raises(PolicyError, match="set of names"):
        GatePolicy(equivalences="zeros")  # type: ignore[arg-type]


def test_a_policy_is_made_from_a_mapping_only() -> None:
    with pytest.raises(PolicyError, match="mapping of keys"):
        GatePolicy.from_mapping(["citations"])  # type: ignore[arg-type]


def test_equivalences_as_a_table_change_the_default() -> None:
    policy = GatePolicy.from_mapping({"equivalences": {"zeros": False, "number_words": True}})
    assert policy.equivalences == (EQUIVALENCES_DEFAULT | {"number_words"}) - {"zeros"}
    assert GatePolicy.from_mapping({"equivalences": ["zeros"]}).equivalences == {"zeros"}


def test_toml_text_and_a_toml_file_give_the_same_policy(tmp_path: Path) -> None:
    text = 'citations = "optional"\n[actions]\nfirst_person = "flag"\n'
    path = tmp_path / "policy.toml"
    path.write_text(text, encoding="utf-8")
    assert GatePolicy.from_toml(path) == GatePolicy.from_toml(str(path)) == GatePolicy.from_toml(text)
    assert not GatePolicy.from_toml(text).stops("first_person")


def test_a_file_that_is_not_there_or_no_toml_is_named(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"absent\.toml: cannot be read"):
        GatePolicy.from_toml(tmp_path / "absent.toml")
    with pytest.raises(PolicyError, match="policy text: not valid TOML"):
        GatePolicy.from_toml("citations = = off")


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (None, "not NoneType"),
        (5, "not int"),
        (b"p.toml", "not bytes"),
        ("", "'': cannot be read"),
        ("a\0b", "cannot be read"),
        ("a=" + "[" * 100_000, "policy text: not valid TOML"),
        ("min_words=" + "9" * 5000, "policy text: not valid TOML"),
    ],
)
def test_what_is_no_policy_text_and_no_path_is_an_error_of_ours(source: Any, says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        GatePolicy.from_toml(source)


def test_a_policy_file_may_have_a_byte_order_mark_and_an_equals_sign_in_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a=b.toml"
    path.write_text("min_words = 3\n", encoding="utf-8-sig")
    assert GatePolicy.from_toml(path).min_words == GatePolicy.from_toml(str(path)).min_words == 3


def test_equal_policies_hash_alike_and_survive_a_pickle() -> None:
    one, two = (GatePolicy(actions={"a": "flag"}, notices={"error": "x"}) for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    assert pickle.loads(pickle.dumps(one)) == one


def test_a_policy_cannot_be_changed_through_the_mapping_it_was_made_from() -> None:
    actions = {"first_person": "flag"}
    policy = GatePolicy(actions=actions)
    actions["first_person"] = "stop"
    assert not policy.stops("first_person")
    with pytest.raises(TypeError):
        policy.actions["first_person"] = "stop"  # type: ignore[index]


def test_the_shadow_of_a_policy_flags_everything_but_a_missing_verdict() -> None:
    shadow = GatePolicy(actions={"own_code": "stop"}).shadow()
    assert not shadow.stops("value_unsupported")
    assert not shadow.stops("own_code")
    assert shadow.stops("check_failed")
