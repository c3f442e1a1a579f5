"""The promises of the gate, over answers in ten languages and over wild text.

SENTENCE_GATE_EXAMPLES raises the number of examples for each property (default 40).
"""

from __future__ import annotations

import dataclasses
import os
import pickle
import traceback
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guardrails_plugins import (
    GateError,
    GateOutcome,
    GatePolicy,
    SentenceGate,
    SentenceSplitter,
    SourceIndex,
    Violation,
    check_text,
    normalize,
    strip_markers,
)
from guardrails_plugins.core.errors import StreamClosedError
from tests.properties.strategies import CANARY, LANGUAGES, Answer, answers, cuts, wild_texts

EXAMPLES = int(os.environ.get("SENTENCE_GATE_EXAMPLES", "40"))
common = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)

INDEXES = {
    language.tag: SourceIndex([language.source, language.source], language=language.tag) for language in LANGUAGES
}
TAGS = st.sampled_from([language.tag for language in LANGUAGES])
FINISHES = st.sampled_from(["stop", "length", "content_filter"])
POLICIES = st.sampled_from(
    [
        GatePolicy(),
        GatePolicy(keep_markers=True),
        GatePolicy(citations="optional"),
        GatePolicy(citations="off"),
        GatePolicy(max_chars=24),
        GatePolicy(marker="[{n}]"),
        GatePolicy(code="exempt", refusal_token=None),
        GatePolicy().shadow(),
    ]
)


def gate_for(answer: Answer, policy: GatePolicy | None = None) -> SentenceGate:
    tag = answer.language.tag
    return SentenceGate(INDEXES[tag], language=tag, policy=policy or GatePolicy())


def drive(gate: SentenceGate, pieces: list[str], finish: str = "stop") -> list[GateOutcome]:
    """Every outcome up to the end of the stream."""
    outcomes = []
    for piece in pieces:
        outcomes.append(gate.feed(piece))
        if gate.stopped:
            return outcomes
    outcomes.append(gate.finish(finish))
    return outcomes


def summary(outcomes: list[GateOutcome]) -> dict[str, Any]:
    """What must not depend on the cutting."""
    return {
        "text": "".join(o.text for o in outcomes),
        "violations": [v for o in outcomes for v in o.violations],
        "state": str(outcomes[-1].state),
        "notice": outcomes[-1].notice,
        "spans": [s.span for o in outcomes for s in o.sentences],
        "withheld": sum(o.withheld_chars for o in outcomes),
    }


@common
@given(st.data(), wild_texts, TAGS, POLICIES, FINISHES)
def test_cutting_never_matters_for_wild_text(
    data: st.DataObject, text: str, tag: str, policy: GatePolicy, finish: str
) -> None:
    pieces = data.draw(cuts(text))
    whole = summary(drive(SentenceGate(INDEXES[tag], language=tag, policy=policy), [text], finish))
    assert summary(drive(SentenceGate(INDEXES[tag], language=tag, policy=policy), pieces, finish)) == whole


@common
@given(st.data(), answers(), FINISHES)
def test_cutting_never_matters_for_answers(data: st.DataObject, answer: Answer, finish: str) -> None:
    pieces = data.draw(cuts(answer.raw))
    assert summary(drive(gate_for(answer), pieces, finish)) == summary(drive(gate_for(answer), [answer.raw], finish))


@common
@given(st.data(), wild_texts, TAGS, st.sampled_from([1000, 24, 5]))
def test_the_splitter_keeps_every_character_in_every_cutting(
    data: st.DataObject, text: str, tag: str, max_chars: int
) -> None:
    def split(pieces: list[str]) -> list[Any]:
        splitter = SentenceSplitter(tag, max_chars=max_chars)
        found = [s for piece in pieces for s in splitter.feed(piece)]
        rest = splitter.flush()
        return found + ([rest] if rest is not None else [])

    whole = split([text])
    assert split(data.draw(cuts(text))) == whole
    assert "".join(s.raw for s in whole) == text
    for sentence in whole:
        assert text[sentence.span.start : sentence.span.end] == sentence.text
        assert sentence.text == sentence.text.strip() or not sentence
        assert len(sentence.text) <= max_chars + 64 + 16


@common
@given(answers(bad=True), POLICIES.filter(lambda p: p.stops("value_unsupported") and p.marker == "[S{n}]"))
def test_a_blocked_sentence_is_never_released(answer: Answer, policy: GatePolicy) -> None:
    outcomes = drive(gate_for(answer, policy), list(answer.raw))
    released = "".join(o.text for o in outcomes)
    for length in range(3, len(CANARY) + 1):
        assert CANARY[:length] not in released
    assert outcomes[-1].stopped
    assert str(outcomes[-1].state) == "withheld"


@common
@given(answers(bad=True))
def test_what_passed_before_a_failure_is_shown_and_nothing_after(answer: Answer) -> None:
    result = check_text(answer.raw, INDEXES[answer.language.tag], language=answer.language.tag)
    assert result.text == answer.shown
    assert result.stopped
    assert [v.code for v in result.violations] == ["value_unsupported"]
    span = result.violations[0].span
    assert answer.raw[span.start : span.end] == CANARY


@common
@given(answers(bad=False))
def test_released_text_is_exact(answer: Answer) -> None:
    tag = answer.language.tag
    result = check_text(answer.raw, INDEXES[tag], language=tag)
    assert (str(result.state), result.violations) == ("completed", ())
    assert result.text == answer.shown
    assert "".join(s.text for s in result.sentences) == result.text
    kept = check_text(answer.raw, INDEXES[tag], language=tag, policy=GatePolicy(keep_markers=True))
    assert kept.text == answer.raw


@common
@given(wild_texts, TAGS)
def test_a_gate_that_only_reports_changes_nothing_but_markers(text: str, tag: str) -> None:
    shadow = {"values": True, "refusal_token": None}
    keep = GatePolicy(keep_markers=True, **shadow).shadow()  # type: ignore[arg-type]
    assert check_text(text, INDEXES[tag], language=tag, policy=keep).text == text
    removed = GatePolicy(**shadow).shadow()  # type: ignore[arg-type]
    assert check_text(text, INDEXES[tag], language=tag, policy=removed).text == strip_markers(text)


@common
@given(wild_texts, TAGS, POLICIES)
def test_the_same_stream_gives_the_same_result(text: str, tag: str, policy: GatePolicy) -> None:
    index = SourceIndex(list(INDEXES[tag].sources), language=tag)
    first = drive(SentenceGate(INDEXES[tag], language=tag, policy=policy), [text])
    assert drive(SentenceGate(index, language=tag, policy=policy), [text]) == first


@common
@given(wild_texts)
def test_normalize_is_total_and_settles(text: str) -> None:
    once = normalize(text)
    assert normalize(once) == once


@common
@given(wild_texts, TAGS, st.sampled_from(["NO_ANSWER", "UNKNOWN"]))
def test_the_refusal_token_is_never_released(text: str, tag: str, token: str) -> None:
    policy = GatePolicy(refusal_token=token).shadow()
    answer = text + " " + token
    outcomes = drive(SentenceGate(INDEXES[tag], language=tag, policy=policy), list(answer))
    released = "".join(o.text for o in outcomes)
    assert str(outcomes[-1].state) == "refused"
    assert token not in released.split()


_NEXT = {
    "en": "Then",
    "de": "Dann",
    "fr": "Puis",
    "es": "Luego",
    "pt": "Depois",
    "ru": "Затем",
    "fa": "سپس",
    "ar": "ثم",
    "hi": "फिर",
    "zh": "然后",
}


@common
@given(st.sampled_from(LANGUAGES), st.data())
def test_a_passing_sentence_is_released_by_the_character_that_decides_it(language: Any, data: st.DataObject) -> None:
    template = data.draw(st.sampled_from(language.cited))
    marker = data.draw(st.sampled_from([" [S1]", " [S1][S2]"]))
    raw = template.format(marker) if data.draw(st.booleans()) else template.format("") + marker
    gate = SentenceGate(INDEXES[language.tag], language=language.tag)
    before = "".join(gate.feed(c).text for c in raw + (language.blank or ""))
    decided = gate.feed(_NEXT[language.tag][0]).text
    assert before + decided == template.format("")


@common
@given(answers())
def test_the_end_latches(answer: Answer) -> None:
    gate = gate_for(answer)
    drive(gate, [answer.raw])
    state = gate.state
    assert str(state) != "open"
    for call in (lambda: gate.feed("More."), lambda: gate.feed(""), lambda: gate.finish()):
        with pytest.raises(StreamClosedError) as caught:
            call()
        assert CANARY not in "".join(traceback.format_exception(caught.value))
    assert gate.state == state
    splitter = SentenceSplitter()
    splitter.feed(answer.raw)
    splitter.flush()
    with pytest.raises(StreamClosedError):
        splitter.feed("More.")


@common
@given(answers(bad=True))
def test_no_outcome_or_gate_carries_text_of_a_blocked_sentence(answer: Answer) -> None:
    gate = gate_for(answer)
    outcomes = drive(gate, [answer.raw])
    for thing in (*outcomes, gate):
        assert CANARY not in repr(thing)
        assert CANARY not in str(thing)
    assert CANARY.encode() not in pickle.dumps(outcomes)
    assert pickle.loads(pickle.dumps(outcomes)) == outcomes
    assert CANARY not in _everything(gate)


def _everything(thing: object, depth: int = 6, seen: set[int] | None = None) -> str:
    """The repr of every attribute reachable from an object of this package."""
    seen = set() if seen is None else seen
    if depth == 0 or id(thing) in seen:
        return ""
    seen.add(id(thing))
    if isinstance(thing, str | int | float | bytes | type(None)):
        return repr(thing)
    if isinstance(thing, dict):
        return "".join(_everything(v, depth - 1, seen) for pair in thing.items() for v in pair)
    if isinstance(thing, list | tuple | set | frozenset):
        return "".join(_everything(v, depth - 1, seen) for v in thing)
    if not type(thing).__module__.startswith("guardrails_plugins"):
        return ""
    names = [n for cls in type(thing).__mro__ for n in getattr(cls, "__slots__", ())]
    values = [getattr(thing, n, None) for n in names if isinstance(n, str)]
    values += list(getattr(thing, "__dict__", {}).values())
    return "".join(_everything(v, depth - 1, seen) for v in values)


def _breaks(sentence: Any, context: Any) -> list[Violation]:
    raise RuntimeError(f"cannot judge {sentence.text} {context.shown}")


@common
@given(answers(bad=True))
def test_a_check_that_raises_stops_the_stream_and_its_error_is_not_kept(answer: Answer) -> None:
    gate = gate_for(answer, GatePolicy(checks=(_breaks,)))
    outcomes = drive(gate, list(answer.raw))
    assert str(gate.state) == "failed"
    assert gate.stopped
    assert "".join(o.text for o in outcomes).strip() == ""
    assert [v.code for o in outcomes for v in o.violations][-1] == "check_failed"
    assert "cannot judge" not in repr(outcomes)
    assert "cannot judge" not in _everything(gate)


@pytest.mark.parametrize("bad", [None, 3, b"bytes", ["x"]])
def test_feeding_what_is_no_text_is_an_error_of_our_own(bad: Any) -> None:
    gate = SentenceGate(["a"])
    with pytest.raises(GateError):
        gate.feed(bad)


LONG = {
    "word": "a",
    "dots": ".",
    "spaces": " ",
    "newlines": "\n",
    "openers": "“",
    "closers": ".”",
    "brackets": "[",
    "half markers": "[S",
    "markers": "[S1]",
    "marker lines": "[S1]\n",
    "digits": "1",
    "digit groups": "1,",
    "dotted": "a.",
    "initials": "A. ",
    "bullets": "- ",
    "stars": "*",
    "fences": "```\n",
    "ideographs": "大",
    "quotes": "「",
    "full stops": "。",
    "dandas": "।",
    "combining": "\u0301",
    "zero width": "\u200b",
    "surrogates": "\ud800",
    "token prefix": "NO_",
    "at signs": "a@",
    "urls": "http://",
    "hyphens": "a-",
    "parens": "(",
    "blank lines": "\n \n",
    "dashes": "1-",
    "colons": ":\n",
    "slashes": "1/",
}


# What these cost is measured by benchmarks; here they must end, lose nothing and not raise. A
# quadratic step would run into the time limit of the test run.
@pytest.mark.parametrize("name", LONG)
def test_a_hundred_thousand_characters_are_judged(name: str) -> None:
    text = (LONG[name] * 100_000)[:100_000]
    gate = SentenceGate(
        ["a 1"], policy=dataclasses.replace(GatePolicy().shadow(), keep_markers=True, refusal_token=None)
    )
    released = "".join(gate.feed(text[i : i + 7]).text for i in range(0, len(text), 7))
    assert released + gate.finish().text == text


@pytest.mark.parametrize("name", LONG)
def test_a_source_of_a_hundred_thousand_characters_is_indexed(name: str) -> None:
    text = (LONG[name] * 100_000)[:100_000]
    assert len(SourceIndex([text], language="en")) == 1
