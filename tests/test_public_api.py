"""The public names, what importing them brings along, and what wrong input is answered with."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import pytest

import guardrails_plugins
from guardrails_plugins import (
    GateError,
    GatePolicy,
    SentenceGate,
    SentenceSplitter,
    Source,
    SourceIndex,
    check_text,
    strip_markers,
)
from guardrails_plugins.core import errors

PUBLIC = {
    "GateError",
    "GateOutcome",
    "GatePolicy",
    "Sentence",
    "SentenceGate",
    "SentenceSplitter",
    "Source",
    "SourceIndex",
    "UsageMeter",
    "Violation",
    "build_prompt",
    "check_text",
    "gate_stream",
    "gate_stream_sync",
    "normalize",
    "strip_markers",
}

FOREIGN = (
    "nemoguardrails",
    "guardrails",
    "openai",
    "anthropic",
    "langchain",
    "langchain_core",
    "litellm",
    "fastapi",
    "starlette",
    "httpx",
    "pydantic",
    "numpy",
)

PROBE = """
import sys
from guardrails_plugins import SentenceGate
gate = SentenceGate(["The hall has 12 seats."])
gate.feed("The hall has 12 seats [S1]. It is"); gate.finish()
print(" ".join(sorted(m for m in sys.modules if "." not in m)))
"""


def test_the_public_names_are_these() -> None:
    assert set(guardrails_plugins.__all__) == PUBLIC
    for name in PUBLIC:
        assert getattr(guardrails_plugins, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError):
        guardrails_plugins.no_such_name  # noqa: B018


def test_importing_the_core_brings_no_framework() -> None:
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, timeout=60, check=True)
    loaded = set(done.stdout.split())
    assert "regex" in loaded
    assert loaded.isdisjoint(FOREIGN)


def test_every_error_is_a_gate_error() -> None:
    kinds = [v for v in vars(errors).values() if isinstance(v, type) and issubclass(v, Exception)]
    assert len(kinds) > 5
    assert all(issubclass(kind, GateError) for kind in kinds)


WRONG: list[tuple[str, Any, type[GateError], str]] = [
    ("a bare string as sources", lambda: SentenceGate("one source"), errors.SourceError, "list"),
    ("a number as a source", lambda: SentenceGate([3]), errors.SourceError, "Source"),
    ("None as sources", lambda: SentenceGate(None), errors.SourceError, "Source"),
    ("bytes as a source", lambda: SourceIndex([b"x"]), errors.SourceError, "Source"),
    ("text that is no text in a Source", lambda: SourceIndex([Source(3)]), errors.SourceError, "text"),
    ("a language without data", lambda: SentenceGate(["a"], language="xx"), errors.LanguageError, "pt"),
    ("a language that is no text", lambda: SentenceSplitter(3), errors.LanguageError, "en"),
    ("a source's language without data", lambda: SourceIndex([Source("a", language="xx")]), errors.LanguageError, "pt"),
    ("a marker without its number", lambda: GatePolicy(marker="[S]"), errors.MarkerStyleError, "{n}"),
    ("a marker without its number, splitting", lambda: SentenceSplitter(marker="S"), errors.MarkerStyleError, "{n}"),
    ("a marker without its number, stripping", lambda: strip_markers("a", marker=""), errors.MarkerStyleError, "{n}"),
    ("nothing to strip", lambda: strip_markers(None), errors.FrameError, "text (str), not NoneType"),
    ("bytes to strip", lambda: strip_markers(b"a"), errors.FrameError, "text (str), not bytes"),
    (
        "a marker that is no text, stripping",
        lambda: strip_markers("a", marker=["[S{n}]"]),
        errors.MarkerStyleError,
        "not list",
    ),
    ("a bound of nothing", lambda: SentenceSplitter(max_chars=0), errors.BoundError, "1"),
    ("a bound that is no number", lambda: SentenceSplitter(max_chars="9"), errors.BoundError, "1"),
    ("a bound of nothing in a policy", lambda: GatePolicy(max_chars=0), errors.BoundError, "1"),
    ("an unknown policy key", lambda: GatePolicy.from_mapping({"min_word": 3}), errors.PolicyError, "min_words"),
    ("an unknown citations value", lambda: GatePolicy(citations="always"), errors.PolicyError, "required"),
    ("an unknown equivalence", lambda: GatePolicy(equivalences=frozenset({"zeroes"})), errors.PolicyError, "zeros"),
    ("an unknown action", lambda: GatePolicy(actions={"first_person": "warn"}), errors.PolicyError, "flag"),
    ("an unknown notice", lambda: GatePolicy(notices={"refusal": "No."}), errors.PolicyError, "refused"),
    ("a truth value that is none", lambda: GatePolicy(values="yes"), errors.PolicyError, "true"),
    ("a check that cannot be called", lambda: GatePolicy(checks=("x",)), errors.PolicyError, "callable"),
    ("TOML that is none", lambda: GatePolicy.from_toml("values ="), errors.PolicyError, "TOML"),
    ("a policy of another type", lambda: SentenceGate(["a"], policy={}), errors.PolicyError, "GatePolicy"),
    ("an unknown finish reason", lambda: SentenceGate(["a"]).finish("because"), errors.FinishReasonError, "length"),
    ("no finish reason", lambda: SentenceGate(["a"]).finish(None), errors.FinishReasonError, "length"),
    ("bytes to split", lambda: SentenceSplitter().feed(b"x"), GateError, "str"),
    ("bytes to judge", lambda: SentenceGate(["a"]).feed(b"x"), GateError, "str"),
]


@pytest.mark.parametrize(("call", "kind", "names"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_wrong_input_is_answered_with_what_would_be_right(call: Any, kind: type[GateError], names: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert names in str(caught.value)
    assert isinstance(caught.value, GateError)


def test_outcomes_and_policies_are_frozen_and_can_be_pickled() -> None:
    policy = GatePolicy(actions={"first_person": "flag"}, notices={"error": "Broken."})
    assert pickle.loads(pickle.dumps(policy)) == policy
    outcome = check_text("The hall has 12 seats [S1].", ["12"], policy=policy)
    assert pickle.loads(pickle.dumps(outcome)) == outcome
    with pytest.raises(AttributeError):
        outcome.text = "x"  # type: ignore[misc]


def test_one_index_serves_many_gates() -> None:
    index = SourceIndex(["The hall has 12 seats.", Source("The tower has 9 rooms.", id="t", language="en")])
    assert len(index) == 2
    first, second = SentenceGate(index), SentenceGate(index)
    assert first.index is index
    assert second.index is index


def test_a_policy_from_toml_equals_the_one_in_code() -> None:
    text = 'citations = "optional"\nmin_words = 5\nequivalences = ["zeros"]\n[actions]\nfirst_person = "flag"\n'
    made = GatePolicy(
        citations="optional", min_words=5, equivalences=frozenset({"zeros"}), actions={"first_person": "flag"}
    )
    assert GatePolicy.from_toml(text) == made
