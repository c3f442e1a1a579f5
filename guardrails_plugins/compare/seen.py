"""What a reader saw of one answer, and the figures that follow from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from guardrails_plugins.compare.recorded import PIECE_CHARS, Model, Recorded
from guardrails_plugins.core.citations import strip_markers
from guardrails_plugins.core.splitter import SentenceSplitter


@dataclass(slots=True)
class Watch:
    """What one strategy showed, when; filled in while it runs."""

    model: Model
    shown: list[tuple[float, str]] = field(default_factory=list)
    stopped_at: float | None = None
    verdict_at: float | None = None
    checks: int = 0
    check_chars: int = 0
    error: str | None = None

    def show(self, text: str) -> None:
        """The reader sees this now."""
        if text:
            self.shown.append((self.model.clock.now, text))

    def verdict(self) -> None:
        """A check said no."""
        if self.verdict_at is None:
            self.verdict_at = self.model.clock.now

    def stop(self, notice: str | None = None) -> None:
        """The reader is told that the answer ends here."""
        del notice
        self.verdict()
        if self.stopped_at is None:
            self.stopped_at = self.model.clock.now

    def checked(self, text: str) -> None:
        """A check was asked about this text."""
        self.checks += 1
        self.check_chars += len(text)


@dataclass(frozen=True, slots=True)
class Figures:
    """One strategy on one answer. Times in seconds of virtual time; None where there is nothing to measure."""

    strategy: str
    answer: str
    leaked_chars: int
    leaked_values: int
    first_text_s: float | None
    hold_s: tuple[float, ...]
    pieces_after: int
    closing_s: float | None
    identical: bool | None
    lost_chars: int
    false_stop: bool
    missed: bool
    checks: int
    check_chars: int
    error: str | None
    timeline: tuple[tuple[float, int], ...]

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {name: getattr(self, name) for name in self.__slots__}


def figures(name: str, watch: Watch) -> Figures:
    """The figures of a run that has ended."""
    recorded, model = watch.model.recorded, watch.model
    shown = strip_markers("".join(text for _, text in watch.shown))
    whole = strip_markers(recorded.answer)
    clean = recorded.code is None
    leaked, values = _leak(recorded, shown)
    end = _written_until(recorded, model)
    stopped = watch.stopped_at is not None
    after = max(0, model.written - end) if not clean else 0
    closing = None
    if watch.verdict_at is not None and model.ended is not None:
        closing = max(0.0, round(model.ended - watch.verdict_at, 6))
    return Figures(
        strategy=name,
        answer=recorded.id,
        leaked_chars=leaked,
        leaked_values=values,
        first_text_s=watch.shown[0][0] if watch.shown else None,
        hold_s=_holds(recorded, watch),
        pieces_after=after,
        closing_s=closing,
        identical=shown == whole if clean and not stopped and watch.error is None else None,
        lost_chars=_lost(whole, shown) if clean and not stopped else 0,
        false_stop=clean and (stopped or watch.error is not None),
        missed=not clean and not stopped and watch.error is None,
        checks=watch.checks,
        check_chars=watch.check_chars,
        error=watch.error,
        timeline=_timeline(watch),
    )


def _leak(recorded: Recorded, shown: str) -> tuple[int, int]:
    """Characters and whole values of the violating sentence that the reader saw."""
    if recorded.violating is None:
        return 0, 0
    bad = strip_markers(recorded.violating).strip()
    before = strip_markers(recorded.answer[: recorded.answer.index(recorded.violating)]).rstrip()
    rest = shown.lstrip()
    at = rest.find(before.strip())
    rest = rest[at + len(before.strip()) :].lstrip() if at >= 0 else rest
    seen = 0
    while seen < min(len(bad), len(rest)) and bad[seen] == rest[seen]:
        seen += 1
    seen = max(seen, len(bad) if bad in shown else 0)
    return seen, sum(value in shown for value in recorded.invented)


def _written_until(recorded: Recorded, model: Model) -> int:
    """How many pieces it takes to write up to the end of the violating sentence."""
    if recorded.violating is None:
        return len(recorded.pieces())
    end = recorded.answer.index(recorded.violating) + len(recorded.violating)
    return -(-end // PIECE_CHARS)


def _holds(recorded: Recorded, watch: Watch) -> tuple[float, ...]:
    """For each sentence that was shown whole: from the writing of its last character to its being seen."""
    splitter = SentenceSplitter(recorded.language)
    sentences = splitter.feed(recorded.answer)
    last = splitter.flush()
    holds = []
    shown, seen = "", []
    for at, text in watch.shown:
        shown += text
        seen.append((len(strip_markers(shown)), at))
    whole = strip_markers(shown)
    for sentence in [*sentences, *([last] if last else [])]:
        text = strip_markers(sentence.text).strip()
        at = whole.find(text) if text else -1
        if at < 0:
            continue
        written = watch.model.times[min((sentence.span.end - 1) // PIECE_CHARS, len(watch.model.times) - 1)]
        visible = next((when for size, when in seen if size >= at + len(text)), None)
        if visible is not None:
            holds.append(round(max(0.0, visible - written), 6))
    return tuple(holds)


def _lost(whole: str, shown: str) -> int:
    """Characters at the end of a clean answer that never came."""
    kept = shown.rstrip()
    return 0 if whole.rstrip().endswith(kept[-20:] or "\0") else max(0, len(whole.rstrip()) - len(kept))


def _timeline(watch: Watch) -> tuple[tuple[float, int], ...]:
    """Characters seen by the reader over time."""
    total, points = 0, []
    for at, text in watch.shown:
        total += len(text)
        points.append((at, total))
    return tuple(points)
