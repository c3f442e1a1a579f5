"""One recording judged: what stops where, without text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from guardrails_plugins.core.errors import GateError
from guardrails_plugins.core.outcome import State, Violation
from guardrails_plugins.core.policy import GatePolicy
from guardrails_plugins.core.sources import SourceIndex
from guardrails_plugins.core.whole import check_text
from guardrails_plugins.replay.records import Line, Recording, parse


@dataclass(frozen=True, slots=True)
class JudgedSentence:
    """A sentence's verdict. `bad` is whether people marked text in it as ungrounded (None: nobody looked);
    `causes` are ``code/kind`` of the violations that stop it; `text` is kept only where asked for."""

    stopped: bool
    bad: bool | None
    causes: tuple[str, ...]
    rules: tuple[str, ...]
    text: str | None


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """An answer's verdict: every sentence is judged, also those behind the first stop."""

    id: str
    file: str
    line: int
    state: str
    stopped: bool
    bad: bool | None
    sentences: tuple[JudgedSentence, ...]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A line that could not be judged, and why."""

    file: str
    line: int
    reason: str


def judge_line(line: Line, file: str, policy: GatePolicy, show_text: bool) -> JudgedAnswer | Skipped | None:
    """A line's verdict; a malformed one is named, never an exception. None for a blank line."""
    try:
        recording = parse(line)
        return None if recording is None else judge(recording, file, line.number, policy, show_text)
    except GateError as error:
        return Skipped(file, line.number, str(error))
    except RecursionError:  # what could just be read may be too deep to be told of
        return Skipped(file, line.number, "nested too deeply")


def judge(recording: Recording, file: str, line: int, policy: GatePolicy, show_text: bool) -> JudgedAnswer:
    """Judge one recording as if it had just been streamed."""
    index = SourceIndex(recording.sources, language=recording.language)
    real = check_text(recording.answer, index, language=recording.language, policy=policy)
    every = check_text(recording.answer, index, language=recording.language, policy=policy.shadow())
    sentences = tuple(
        _sentence(s.violations, s.span, recording, policy, show_text) for s in every.sentences if s.sentence
    )
    bad = recording.bad
    if bad is None and recording.spans is not None:
        bad = bool(recording.spans)
    stopped = real.state in (State.WITHHELD, State.FAILED)
    return JudgedAnswer(recording.id, file, line, str(real.state), stopped, bad, sentences)


def _sentence(
    violations: tuple[Violation, ...], span: tuple[int, int], recording: Recording, policy: GatePolicy, show: bool
) -> JudgedSentence:
    stops = [v for v in violations if policy.stops(v.code)]
    bad: bool | None = None
    if recording.spans is not None:
        bad = any(start < span[1] and span[0] < end for start, end in recording.spans)
    return JudgedSentence(
        stopped=bool(stops),
        bad=bad,
        causes=tuple(dict.fromkeys(f"{v.code}/{v.kind}" if v.kind else str(v.code) for v in stops)),
        rules=tuple(dict.fromkeys(v.rule or "own check" for v in stops)),
        text=recording.answer[span[0] : span[1]] if show and stops else None,
    )


def as_row(answer: JudgedAnswer) -> dict[str, Any]:
    """A verdict as plain data, for a file of verdicts."""
    return {
        "id": answer.id,
        "file": answer.file,
        "line": answer.line,
        "state": answer.state,
        "stopped": answer.stopped,
        "bad": answer.bad,
        "sentences": [
            {"stopped": s.stopped, "bad": s.bad, "causes": list(s.causes), "rules": list(s.rules), "text": s.text}
            for s in answer.sentences
        ],
    }
