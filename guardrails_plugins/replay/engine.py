"""Files through the judge in parallel processes, in batches, resumable."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guardrails_plugins.commands.files import NOT_JSON
from guardrails_plugins.core.errors import GateError
from guardrails_plugins.core.policy import GatePolicy
from guardrails_plugins.replay.judged import JudgedAnswer, judge_line
from guardrails_plugins.replay.records import Line, lines
from guardrails_plugins.replay.report import Changes, Report

BATCH_LINES = 64
"""Lines judged at once by one process; with `PENDING` batches in flight it bounds memory whatever the file's size."""
PENDING_PER_WORKER = 2


class ResumeError(GateError, ValueError):
    """A file named for resuming is no state of a replay."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Successive lines of one file."""

    file: str
    lines: tuple[Line, ...]


@dataclass(slots=True)
class Progress:
    """How far a file was judged: everything before byte `end`, `number` lines."""

    end: int = 0
    number: int = 0


@dataclass(slots=True)
class Result:
    """A report for each policy, and with two policies what the second does otherwise."""

    reports: tuple[Report, ...]
    changes: Changes

    def merge(self, other: Result) -> None:
        """Add another part's counts."""
        for mine, new in zip(self.reports, other.reports, strict=True):
            mine.merge(new)
        self.changes.merge(other.changes)

    def as_dict(self) -> dict[str, Any]:
        """One report as it is; two as ``policy`` and ``against``, with the ``changes`` from the first to the second."""
        rows = [r.as_dict() for r in self.reports]
        if len(rows) == 1:
            return rows[0]
        return {"policy": rows[0], "against": rows[1], "changes": self.changes.as_dict()}


def empty(policies: tuple[GatePolicy, ...]) -> Result:
    """A result with nothing counted."""
    return Result(tuple(Report() for _ in policies), Changes())


def judge_batch(batch: Batch, policies: tuple[GatePolicy, ...], show_text: bool) -> Result:
    """The result of a batch. Runs in a worker process."""
    result = empty(policies)
    for line in batch.lines:
        verdicts = [judge_line(line, batch.file, policy, show_text) for policy in policies]
        for report, verdict in zip(result.reports, verdicts, strict=True):
            if verdict is not None:
                report.add(verdict)
        judged = [v for v in verdicts if isinstance(v, JudgedAnswer)]
        if len(judged) == 2:
            result.changes.add(*judged)
    return result


def replay(
    files: Iterable[Path],
    policies: tuple[GatePolicy, ...],
    *,
    workers: int | None = None,
    show_text: bool = False,
    resume: Path | None = None,
    advance: Callable[[int], None] | None = None,
) -> Result:
    """Judge files under one policy or two.

    `workers`: processes (default: one a core; 1 runs in this process). `resume`: a file that
    keeps the state after each batch, and from which a broken-off replay goes on. `advance` is
    told the bytes of each batch that is done.
    """
    paths = list(files)
    state = _State.load(resume, paths, policies, show_text)
    workers = workers or os.cpu_count() or 1
    batches = _batches(paths, state.progress)
    done = _serial(batches, policies, show_text) if workers == 1 else _parallel(batches, policies, show_text, workers)
    for batch, result in done:
        state.add(batch, result)
        state.save()
        if advance is not None:
            advance(sum(len(line.data) for line in batch.lines))
    return state.result


def _batches(paths: list[Path], progress: dict[str, Progress]) -> Iterator[Batch]:
    for path in paths:
        at = progress.setdefault(str(path), Progress())
        held: list[Line] = []
        for line in lines(path, at.end, at.number):
            held.append(line)
            if len(held) == BATCH_LINES:
                yield Batch(str(path), tuple(held))
                held = []
        if held:
            yield Batch(str(path), tuple(held))


Done = Iterator[tuple[Batch, Result]]


def _serial(batches: Iterator[Batch], policies: tuple[GatePolicy, ...], show_text: bool) -> Done:
    for batch in batches:
        yield batch, judge_batch(batch, policies, show_text)


def _parallel(batches: Iterator[Batch], policies: tuple[GatePolicy, ...], show_text: bool, workers: int) -> Done:
    """Batches in their order: a state that was saved always covers an unbroken part of each file."""
    with ProcessPoolExecutor(workers) as pool:
        pending: list[tuple[Batch, Future[Result]]] = []
        try:
            for batch in batches:
                pending.append((batch, pool.submit(judge_batch, batch, policies, show_text)))
                if len(pending) >= workers * PENDING_PER_WORKER:
                    wait([future for _, future in pending], return_when=FIRST_COMPLETED)
                    first, future = pending.pop(0)
                    yield first, future.result()
            for batch, future in pending:
                yield batch, future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


class _State:
    """The result and how far each file was judged, kept in a JSON file where asked for."""

    def __init__(self, path: Path | None, key: str, result: Result) -> None:
        self._path = path
        self._key = key
        self.result = result
        self.progress: dict[str, Progress] = {}

    @classmethod
    def load(cls, path: Path | None, files: list[Path], policies: tuple[GatePolicy, ...], show_text: bool) -> _State:
        """The kept state, when it belongs to the same files, policies and options; else a new one."""
        described = json.dumps([sorted(map(str, files)), [repr(p) for p in policies], show_text])
        state = cls(path, hashlib.sha256(described.encode()).hexdigest(), empty(policies))
        if path is None or not path.exists():
            return state
        try:
            saved = json.loads(path.read_text(encoding="utf-8"))
            if saved["key"] == state._key:
                state.result = Result(tuple(map(Report.restore, saved["reports"])), Changes.restore(saved["changes"]))
                state.progress = {file: Progress(*at) for file, at in saved["progress"].items()}
        except (*NOT_JSON, LookupError, TypeError, AttributeError):
            raise ResumeError(
                f"{path} is no state of a replay; name another file, or remove it to begin anew"
            ) from None
        return state

    def add(self, batch: Batch, result: Result) -> None:
        self.result.merge(result)
        self.progress[batch.file] = Progress(batch.lines[-1].end, batch.lines[-1].number)

    def save(self) -> None:
        if self._path is None:
            return
        data = {
            "key": self._key,
            "reports": [r.dump() for r in self.result.reports],
            "changes": self.result.changes.as_dict(),
            "progress": {file: [at.end, at.number] for file, at in self.progress.items()},
        }
        # Written beside and moved: a replay that is killed leaves a whole state.
        beside = self._path.with_name(self._path.name + ".part")
        beside.write_text(json.dumps(data), encoding="utf-8")
        beside.replace(self._path)
