"""A short run of what `benchmarks/fuzz.py` runs long, and wild input for every reader of bytes and text."""

from __future__ import annotations

import importlib.util
import os
import random
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardrails_plugins import GatePolicy, Source, SourceIndex, check_text, normalize
from guardrails_plugins.core.errors import GateError
from guardrails_plugins.core.languages.profile import LANGUAGES, load_profile
from guardrails_plugins.core.normalize import fold
from guardrails_plugins.core.values import EQUIVALENCES, extract
from guardrails_plugins.streaming.frames import FrameReader
from tests import case_files

CASES = int(os.environ.get("SENTENCE_GATE_FUZZ_CASES", "3000"))
WILD = st.text(
    alphabet=st.one_of(
        st.characters(),
        st.sampled_from(
            "0123456789.,:/-–%$€£ ٠١٢۰۱४१２３½²₂万亿年月日[]SsТ*_`@\u200b\u200c\u200d\u202e\u0301\u064b\ufe0f'’“”\n\t"
        ),
    ),
    max_size=60,
)


def _fuzz() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "fuzz.py"
    spec = importlib.util.spec_from_file_location("fuzz_benchmark", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz_benchmark"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("seed", range(4))
def test_every_cutting_gives_the_same_result(seed: int) -> None:
    fuzz = _fuzz()
    indexes = {code: SourceIndex([" ".join(words)], language=code) for code, words in fuzz.WORDS.items()}
    chance, texts = random.Random(seed), fuzz.corpus(case_files.CASES)
    assert len(texts) > 1000
    wrong = [found for found in (fuzz.case(chance, indexes, texts) for _ in range(CASES // 4)) if found is not None]
    assert wrong == []


def test_the_fuzzer_sees_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    fuzz = _fuzz()
    indexes = {code: SourceIndex(["x"], language=code) for code in fuzz.WORDS}
    monkeypatch.setattr(fuzz, "strip_markers", lambda text, *, marker: text.upper() + marker)
    chance = random.Random(1)
    assert any(fuzz.case(chance, indexes) for _ in range(100))


@given(WILD)
@settings(max_examples=400, deadline=None)
def test_the_matching_form_is_idempotent_and_its_offsets_lie_in_the_text(text: str) -> None:
    assert normalize(normalize(text)) == normalize(text)
    folded, offsets = fold(text)
    if offsets is None:
        assert len(folded) == len(text)
    else:
        assert len(offsets) == len(folded) + 1
        assert all(0 <= at <= len(text) for at in offsets)


@given(WILD, st.sampled_from(LANGUAGES))
@settings(max_examples=400, deadline=None)
def test_values_lie_in_their_text_one_after_the_other(text: str, language: str) -> None:
    end = 0
    for value in extract(text, load_profile(language), equivalences=EQUIVALENCES):
        assert 0 <= value.span.start < value.span.end <= len(text)
        assert value.span.start >= end - 1
        end = value.span.start
        assert value.readings


@given(WILD, st.sampled_from(LANGUAGES))
@settings(max_examples=300, deadline=None)
def test_a_text_supports_itself(text: str, language: str) -> None:
    policy = GatePolicy(citations="off", person=False)
    outcome = check_text(text, [Source(text, language=language)], language=language, policy=policy)
    assert not [v for v in outcome.violations if str(v.code).startswith("value_")]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = ("type", "choices", "delta", "content", "index", "finish_reason", "usage", "message", "text", "stop_reason")


@given(st.lists(st.dictionaries(st.sampled_from(KEYS), JSON, max_size=5), min_size=1, max_size=4), st.booleans())
@settings(max_examples=400, deadline=None)
def test_a_broken_frame_is_a_named_error_or_nothing(frames: list[dict[str, Any]], as_objects: bool) -> None:
    reader = FrameReader()
    for frame in frames:
        try:
            delta = reader.read(SimpleNamespace(**frame) if as_objects else frame)
        except GateError:
            continue
        assert isinstance(delta.text, str)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" * 10_000, id="brackets"),
        pytest.param("(" * 10_000 + ")" * 10_000, id="nested"),
        pytest.param("x" * 1_000_000, id="megabyte"),
        pytest.param("He left. " * 100_000, id="sentences"),
        pytest.param("9" * 300_000, id="digits"),
        pytest.param("\u202e" * 50_000, id="overrides"),
        pytest.param("“«" * 20_000, id="quotes"),
        pytest.param(".” " * 20_000, id="terminators"),
    ],
)
def test_hostile_runs_end_and_are_whole(text: str) -> None:
    shadow = GatePolicy(refusal_token=None).shadow()
    outcome = check_text(text, ["a"], policy=shadow)
    assert outcome.state == "completed"
    assert outcome.text == text
