"""The adapter's own parts, without a running app."""

from __future__ import annotations

import time
from typing import Any

import pytest

pytest.importorskip("nemoguardrails")

from guardrails_plugins.adapters.nemo import GatedModel, NemoSettings, sentence_gate
from guardrails_plugins.adapters.nemo.framing import Framing, bare
from guardrails_plugins.adapters.nemo.sources import Indexes, retrieved
from guardrails_plugins.adapters.nemo.verdict import frame, terminal_type, unambiguous
from guardrails_plugins.core.errors import SourceError

from .support import GOOD, FakeModel, collect

pytestmark = pytest.mark.framework


@pytest.mark.parametrize("size", [1, 2, 5, 100])
@pytest.mark.parametrize(
    ("text", "quoted", "inside"),
    [
        ('  "It opened."', True, "It opened."),
        ('Bot message: "It "really" opened."\n', True, 'It "really" opened.'),
        ("It opened.", True, "It opened."),
        ('"It opened', True, "It opened"),
        ('"It opened."', False, '"It opened."'),
        ("<think>no\nno</think>\n\nIt opened.", False, "It opened."),
        ('<think>no</think> "It opened."', True, "It opened."),
        ("<th", False, "<th"),
        ("<think>never closed", False, ""),
        ("  \n<b>", False, "  \n<b>"),
        ("", True, ""),
        ("\ud800\x00", True, "\ud800\x00"),
    ],
)
def test_framing(text: str, quoted: bool, inside: str, size: int) -> None:
    framing = Framing(quoted=quoted)
    parts = [framing.feed(text[i : i + size]) for i in range(0, len(text), size)]
    assert "".join(parts) + framing.finish() == inside
    assert bare(text, quoted=quoted) == inside


@pytest.mark.parametrize("character", [" ", "\n", '"', "<"])
@pytest.mark.parametrize("quoted", [True, False])
def test_framing_is_linear(character: str, quoted: bool) -> None:
    def seconds(count: int) -> float:
        begun = time.perf_counter()
        framing = Framing(quoted=quoted)
        for _ in range(count):
            framing.feed(character)
        return time.perf_counter() - begun

    seconds(1000)
    assert seconds(40_000) < 12 * max(seconds(10_000), 0.005)


@pytest.mark.parametrize("text", ['{"error": {"type": "guardrails_violation"}}', "{}", '\n{"a": 1} ', "{", "no", "}{"])
def test_a_sentence_is_never_taken_for_a_frame(text: str) -> None:
    parts = unambiguous(text)
    assert "".join(parts) == text
    assert all(terminal_type(p) is None for p in parts)


def test_what_is_a_frame() -> None:
    from guardrails_plugins.adapters.nemo.verdict import Verdict
    from guardrails_plugins.core.outcome import State

    assert terminal_type(frame(Verdict(State.WITHHELD, ("first_person",), "Stop."))) == "guardrails_violation"
    assert terminal_type('{"error": {"type": "invented"}}') is None
    assert terminal_type('{"error": 3}') is None
    assert terminal_type('{"error"') is None


@pytest.mark.parametrize(
    ("context", "found"),
    [
        (None, None),
        ({}, None),
        ({"relevant_chunks": "\n"}, None),
        ({"relevant_chunks": "a\nb"}, ["a\nb"]),
        ({"relevant_chunks": "a\nb", "relevant_chunks_sep": ["a", "b"]}, ["a", "b"]),
        ({"relevant_chunks": "changed", "relevant_chunks_sep": ["a", "b"]}, ["changed"]),
        ({"relevant_chunks_sep": ["a"]}, ["a"]),
        ({"relevant_chunks": ["a", "b"]}, ["a", "b"]),
        ({"relevant_chunks": 3}, None),
    ],
)
def test_retrieved(context: Any, found: Any) -> None:
    assert retrieved(context) == found


def test_indexes_are_shared_by_equal_sources_only_and_bounded() -> None:
    indexes = Indexes(count=2)
    first = indexes.of(["one 1"], "en")
    assert indexes.of(["one 1"], "en") is first
    assert indexes.of([{"text": "one 1"}], "en") is not first
    assert indexes.of(["one 1"], "de") is not first
    assert indexes.of(["two 2"], "en") is not indexes.of(["one 1"], "en")
    assert len(indexes._kept) == 2
    assert indexes.of(first, "en") is first
    small = Indexes(chars=3)
    assert small.of(["long text"], "en").sources[0].text == "long text"
    assert not small._kept
    wrong: Any
    for wrong in ("text", [1], [["a"]], [{"txt": "a"}], [{"text": ["a"]}], 7):
        with pytest.raises(SourceError):
            indexes.of(wrong, "en")


async def test_a_model_without_a_session_shows_nothing() -> None:
    inner = FakeModel(GOOD)
    chunks = await collect(GatedModel(inner, NemoSettings()).stream_async("prompt"))
    shown = "".join(c.delta_content or "" for c in chunks)
    assert "1931" not in shown
    assert inner.calls == 0


async def test_the_action_without_a_session_blocks() -> None:
    outcome = await sentence_gate(context={"bot_message": "It opened."})
    assert outcome.is_blocked
    assert outcome.failed


def test_the_gated_model_shows_its_inner_models_attributes() -> None:
    inner = FakeModel("")
    gated = GatedModel(inner, NemoSettings())
    assert (gated.model_name, gated.provider_name, gated.provider_url) == ("fake", "fake", None)
    assert gated.pieces == []
    with pytest.raises(AttributeError):
        _ = gated.not_there
