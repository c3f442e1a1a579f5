"""`Source` and `SourceIndex`: what may be a source, and what an index keeps to itself."""

from __future__ import annotations

import pickle
import threading

import pytest

from guardrails_plugins import Source, SourceIndex, check_text
from guardrails_plugins.core.citations import marker_style, strip
from guardrails_plugins.core.errors import LanguageError, SourceError
from guardrails_plugins.core.judge import Judge
from guardrails_plugins.core.languages.profile import load_profile
from guardrails_plugins.core.policy import GatePolicy
from guardrails_plugins.core.refusal import RefusalToken
from guardrails_plugins.core.splitter import SentenceSplitter
from guardrails_plugins.core.values import extract


def test_strings_mappings_and_sources_mix() -> None:
    index = SourceIndex(["One.", {"text": "Two.", "id": "b", "url": "https://example.org/2"}, Source("Three.")])
    assert [s.text for s in index.sources] == ["One.", "Two.", "Three."]
    assert index.sources[1].url == "https://example.org/2"
    assert SourceIndex.of(index) is index


@pytest.mark.parametrize(
    ("sources", "says"),
    [
        ("one text", r"write \[text\]"),
        (b"bytes", r"write \[text\]"),
        ({"text": "a"}, "a list of texts"),
        (Source("a"), "a list of texts"),
        (7, "a list of texts"),
        (["a", 7], "source 2 must be text"),
        ([{"text": "a", "titel": "b"}], "unknown key 'titel'"),
        ([{"id": "a"}], "no 'text'"),
        ([{"text": 3}], "text must be text"),
    ],
)
def test_what_is_no_source_is_named(sources: object, says: str) -> None:
    with pytest.raises(SourceError, match=says):
        SourceIndex(sources)  # type: ignore[arg-type]


def test_a_source_checks_its_fields() -> None:
    with pytest.raises(SourceError, match="url must be text"):
        Source("a", url=3)  # type: ignore[arg-type]
    with pytest.raises(LanguageError):
        Source("a", language="klingon")


def test_the_url_of_a_source_is_part_of_it() -> None:
    sources = [Source("The fee is listed online.", url="https://example.org/fees")]
    assert check_text("See https://example.org/fees for the fee [S1].", sources).state == "completed"


def test_reprs_carry_no_text() -> None:
    secret = "The fee is 4321 euros [S1]."
    index = SourceIndex([secret])
    splitter = SentenceSplitter()
    sentence = splitter.feed(secret + " Next")[0]
    style = marker_style("[S{n}]")
    profile = load_profile("en")
    prepared = Judge(index, GatePolicy(), profile, RefusalToken(None), None).prepare(sentence)
    values = extract(secret, profile, equivalences=frozenset())
    readings = [reading for value in values for reading in value.readings]
    for thing in (index, splitter, sentence, strip(secret, style), prepared, prepared.context, *values, *readings):
        assert "4321" not in repr(thing)
        assert "euros" not in str(thing)


def test_a_marker_style_survives_a_pickle() -> None:
    style = marker_style("[{n}]")
    assert pickle.loads(pickle.dumps(style)) is style


def test_one_index_is_read_by_many_threads_at_once() -> None:
    index = SourceIndex([f"“We opened room {n}” says note {n}, and it has {n * 100} seats." for n in range(1, 30)])
    wrong: list[str] = []

    def judge(n: int) -> None:
        for _ in range(20):
            good = check_text(f"It has {n * 100} seats and “we opened room {n}” [S{n}].", index)
            bad = check_text(f"It has {n * 100 + 7} seats [S{n}].", index)
            if (good.state, bad.state) != ("completed", "withheld"):
                wrong.append(f"{n}: {good.state} {bad.state}")

    threads = [threading.Thread(target=judge, args=(n,)) for n in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
