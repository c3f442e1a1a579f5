"""Counts over judged answers. Adding is the only operation, so that order and parallel parts do not matter."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from guardrails_plugins.replay.judged import JudgedAnswer, Skipped

Z_95 = 1.959963984540054
"""The standard normal quantile of a two-sided 95 % interval."""
MAX_EXAMPLES = 3
MAX_CAUSES = 20
MAX_NAMED_LINES = 20


def wilson(successes: int, total: int) -> tuple[float, float]:
    """The 95 % score interval of a share (Wilson 1927); (0, 1) when nothing was counted."""
    if not total:
        return 0.0, 1.0
    share, z2 = successes / total, Z_95**2
    centre = (share + z2 / (2 * total)) / (1 + z2 / total)
    half = Z_95 * math.sqrt(share * (1 - share) / total + z2 / (4 * total**2)) / (1 + z2 / total)
    return max(0.0, centre - half), min(1.0, centre + half)


@dataclass(slots=True)
class Share:
    """A count out of a total."""

    count: int = 0
    total: int = 0

    def add(self, counted: bool) -> None:
        """One more of the total, counted or not."""
        self.total += 1
        self.count += counted

    def merge(self, other: Share) -> None:
        """Add another share's counts."""
        self.count += other.count
        self.total += other.total

    def as_dict(self) -> dict[str, Any]:
        """Counts, share and interval; the share is None when nothing was counted."""
        low, high = wilson(self.count, self.total)
        share = self.count / self.total if self.total else None
        return {"count": self.count, "total": self.total, "share": share, "low": low, "high": high}


@dataclass(slots=True)
class Report:
    """What a replay found. `false_*` are stops of what people found grounded, `caught_*` stops of what they
    marked; each has its 95 % interval."""

    answers: Share = field(default_factory=Share)
    sentences: Share = field(default_factory=Share)
    false_answers: Share = field(default_factory=Share)
    false_sentences: Share = field(default_factory=Share)
    caught_answers: Share = field(default_factory=Share)
    caught_sentences: Share = field(default_factory=Share)
    states: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    false_causes: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    skipped: int = 0
    named: list[Skipped] = field(default_factory=list)

    def add(self, verdict: JudgedAnswer | Skipped) -> None:
        """Count one line."""
        if isinstance(verdict, Skipped):
            self.skipped += 1
            if len(self.named) < MAX_NAMED_LINES:
                self.named.append(verdict)
            return
        self.answers.add(verdict.stopped)
        self.states[verdict.state] += 1
        if verdict.bad is not None:
            (self.caught_answers if verdict.bad else self.false_answers).add(verdict.stopped)
        for number, sentence in enumerate(verdict.sentences, 1):
            self.sentences.add(sentence.stopped)
            if sentence.bad is not None:
                (self.caught_sentences if sentence.bad else self.false_sentences).add(sentence.stopped)
            self.rules.update(sentence.rules)
            for cause in sentence.causes:
                self.causes[cause] += 1
                self.false_causes[cause] += sentence.bad is False
                self._example(cause, verdict, number, sentence.text)

    def _example(self, cause: str, verdict: JudgedAnswer, number: int, text: str | None) -> None:
        kept = self.examples.setdefault(cause, [])
        kept.append({"file": verdict.file, "line": verdict.line, "id": verdict.id, "sentence": number, "text": text})
        kept.sort(key=_place)
        del kept[MAX_EXAMPLES:]

    def merge(self, other: Report) -> None:
        """Add another report's counts; the result does not depend on the order."""
        for name in _SHARES:
            getattr(self, name).merge(getattr(other, name))
        for name in _COUNTERS:
            getattr(self, name).update(getattr(other, name))
        for cause, examples in other.examples.items():
            kept = sorted([*self.examples.get(cause, []), *examples], key=_place)
            self.examples[cause] = kept[:MAX_EXAMPLES]
        self.skipped += other.skipped
        self.named = sorted([*self.named, *other.named], key=lambda s: (s.file, s.line))[:MAX_NAMED_LINES]

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data, causes by frequency."""
        top = sorted(self.causes.items(), key=lambda item: (-item[1], item[0]))[:MAX_CAUSES]
        return {
            **{name: getattr(self, name).as_dict() for name in _SHARES},
            "states": dict(sorted(self.states.items())),
            "rules": dict(sorted(self.rules.items())),
            "causes": [
                {"cause": c, "sentences": n, "false": self.false_causes[c], "examples": self.examples[c]}
                for c, n in top
            ],
            "skipped": self.skipped,
            "skipped_lines": [{"file": s.file, "line": s.line, "reason": s.reason} for s in self.named],
        }

    def dump(self) -> dict[str, Any]:
        """All counts as plain data; `restore` reads it."""
        return {
            **{name: [getattr(self, name).count, getattr(self, name).total] for name in _SHARES},
            **{name: dict(getattr(self, name)) for name in _COUNTERS},
            "examples": self.examples,
            "skipped": self.skipped,
            "named": [[s.file, s.line, s.reason] for s in self.named],
        }

    @classmethod
    def restore(cls, data: Mapping[str, Any]) -> Report:
        """The report that `dump` described."""
        report = cls(
            examples={cause: list(rows) for cause, rows in data["examples"].items()},
            skipped=data["skipped"],
            named=[Skipped(*row) for row in data["named"]],
        )
        for name in _SHARES:
            setattr(report, name, Share(*data[name]))
        for name in _COUNTERS:
            setattr(report, name, Counter(data[name]))
        return report


@dataclass(slots=True)
class Changes:
    """What a second policy does otherwise: answers and sentences that it stops more, or releases."""

    answers_stopped: int = 0
    answers_released: int = 0
    sentences_stopped: int = 0
    sentences_released: int = 0
    causes_stopped: Counter[str] = field(default_factory=Counter)
    causes_released: Counter[str] = field(default_factory=Counter)

    def add(self, before: JudgedAnswer, after: JudgedAnswer) -> None:
        """Count one answer judged under both."""
        self.answers_stopped += after.stopped and not before.stopped
        self.answers_released += before.stopped and not after.stopped
        # Policies may split alike or not (`max_chars`): sentences are compared where both have them.
        for old, new in zip(before.sentences, after.sentences, strict=False):
            if new.stopped and not old.stopped:
                self.sentences_stopped += 1
                self.causes_stopped.update(new.causes)
            elif old.stopped and not new.stopped:
                self.sentences_released += 1
                self.causes_released.update(old.causes)

    def merge(self, other: Changes) -> None:
        """Add another part's counts."""
        for name in _CHANGES:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.causes_stopped.update(other.causes_stopped)
        self.causes_released.update(other.causes_released)

    def as_dict(self) -> dict[str, Any]:
        """The counts as plain data."""
        data: dict[str, Any] = {name: getattr(self, name) for name in _CHANGES}
        for name in ("causes_stopped", "causes_released"):
            data[name] = dict(sorted(getattr(self, name).items(), key=lambda item: (-item[1], item[0])))
        return data

    @classmethod
    def restore(cls, data: Mapping[str, Any]) -> Changes:
        """The counts that `as_dict` described."""
        counters = {name: Counter(data[name]) for name in ("causes_stopped", "causes_released")}
        return cls(**{**data, **counters})


_CHANGES = ("answers_stopped", "answers_released", "sentences_stopped", "sentences_released")
_COUNTERS = ("states", "causes", "false_causes", "rules")
_SHARES = ("answers", "sentences", "false_answers", "false_sentences", "caught_answers", "caught_sentences")


def _place(example: dict[str, Any]) -> tuple[str, int, int]:
    return example["file"], example["line"], example["sentence"]
