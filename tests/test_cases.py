"""The case files, judged through the public names only."""

from __future__ import annotations

from typing import Any

import pytest

from guardrails_plugins import GatePolicy, SentenceGate, SentenceSplitter, Source, check_text, normalize, strip_markers
from guardrails_plugins.core.languages.profile import load_profile
from tests.case_files import LANGUAGES, Case, cases, counts

DEFAULT_EQUIVALENCES = GatePolicy().equivalences


def params(kind: str) -> list[Any]:
    """The cases of one kind as pytest parameters; a known failure must really fail."""
    return [
        pytest.param(
            case,
            id=case.id,
            marks=[pytest.mark.xfail(strict=True, reason=case.known_failure)] if case.known_failure else [],
        )
        for case in cases(kind)
    ]


def pieces(text: str, size: int) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)] or [""]


def policy_of(case: Case, **more: Any) -> GatePolicy:
    return GatePolicy.from_mapping(case.data.get("policy", {}) | more)


@pytest.mark.parametrize("size", [1, 3, 7, 1 << 20])
@pytest.mark.parametrize("case", params("split"))
def test_split(case: Case, size: int) -> None:
    data = case.data
    splitter = SentenceSplitter(
        case.language, max_chars=data.get("max_chars", 1000), marker=data.get("marker", "[S{n}]")
    )
    found = [s for piece in pieces(data["text"], size) for s in splitter.feed(piece)]
    rest = splitter.flush()
    if rest is not None:
        found.append(rest)
    assert [s.text for s in found if s] == data["sentences"]
    assert "".join(s.raw for s in found) == data["text"]
    for sentence in found:
        assert data["text"][sentence.span.start : sentence.span.end] == sentence.text


def _run(gate: SentenceGate, answer: str, size: int, finish: str) -> dict[str, Any]:
    shown, violations, notice = "", [], None
    for piece in pieces(answer, size):
        outcome = gate.feed(piece)
        shown += outcome.text
        violations += outcome.violations
        notice = outcome.notice or notice
        if outcome.stopped:
            break
    else:
        outcome = gate.finish(finish)
        shown += outcome.text
        violations += outcome.violations
        notice = outcome.notice or notice
    return {"shown": shown, "state": str(gate.state), "codes": sorted({v.code for v in violations}), "notice": notice}


@pytest.mark.parametrize("size", [1, 5, 1 << 20])
@pytest.mark.parametrize("case", params("judge"))
def test_judge(case: Case, size: int) -> None:
    data = case.data
    sources = [s if isinstance(s, str) else Source(**s) for s in data["sources"]]
    policy = policy_of(case)
    gate = SentenceGate(sources, language=case.language, policy=policy, question=data.get("question"))
    got = _run(gate, data["answer"], size, data.get("finish", "stop"))
    notices = load_profile(case.language).notices
    name = data["notice"]
    assert got == {
        "shown": data["shown"],
        "state": data["state"],
        "codes": sorted(data["codes"]),
        "notice": None if name is None else policy.notices.get(name, getattr(notices, name)),
    }


@pytest.mark.parametrize("case", params("values"))
def test_values(case: Case) -> None:
    data = case.data
    more: dict[str, Any] = {"citations": "off", "person": False}
    if data.get("off"):
        more["equivalences"] = DEFAULT_EQUIVALENCES - {data["rule"]}
        assert data["rule"] in DEFAULT_EQUIVALENCES
    if data.get("on"):
        more["equivalences"] = DEFAULT_EQUIVALENCES | {data["rule"]}
    source = Source(data["source"], language=data.get("source_language", case.language))
    outcome = check_text(
        data["sentence"],
        [source],
        language=case.language,
        policy=policy_of(case, **more),
        question=data.get("question"),
    )
    expected = ((), "completed") if data["supported"] else (("value_unsupported",), "withheld")
    assert (outcome.codes, outcome.state) == expected


@pytest.mark.parametrize("case", params("normalize"))
def test_normalize(case: Case) -> None:
    data = case.data
    assert (normalize(data["a"]) == normalize(data["b"])) is data["same"]
    assert normalize(normalize(data["a"])) == normalize(data["a"])


@pytest.mark.parametrize("size", [1, 1 << 20])
@pytest.mark.parametrize("case", params("markers"))
def test_markers(case: Case, size: int) -> None:
    data = case.data
    marker = data.get("marker", "[S{n}]")
    assert strip_markers(data["raw"], marker=marker) == data["shown"]
    policy = GatePolicy(marker=marker, values=False, person=False, citations="optional")
    got = _run(SentenceGate(["a"] * 120, language=case.language, policy=policy), data["raw"], size, "stop")
    assert got["shown"] == data["shown"]
    assert got["state"] == "completed"


@pytest.mark.parametrize("case", params("person"))
def test_person(case: Case) -> None:
    data = case.data
    policy = GatePolicy(citations="off", values=False)
    outcome = check_text(data["text"], [data.get("source", "x")], language=case.language, policy=policy)
    assert outcome.codes == (("first_person",) if data["first_person"] else ())
    if "word" in data:
        span = outcome.violations[0].span
        assert data["text"][span.start : span.end] == data["word"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_enough_cases(language: str) -> None:
    have = counts()
    assert sum(n for (folder, _), n in have.items() if folder == language) >= 40
    assert all((language, kind) in have for kind in ("split", "judge", "values", "person"))
