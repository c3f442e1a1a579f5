"""Judgement on real answers: stops of grounded text, catches, and sentence boundaries.

    python benchmarks/judgement.py --data DIR

`DIR` holds any of ``ragtruth_*.jsonl.gz``, ``expertqa_*.jsonl.gz``, ``ud_split_*.jsonl.gz`` and
``answers_split_*.txt``; a table is printed for each. With ``--list`` every stop of grounded text
follows, so that each can be read.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from guardrails_plugins import GatePolicy, SentenceSplitter, SourceIndex, check_text, strip_markers
from guardrails_plugins.core.outcome import GateOutcome, ReleasedSentence, Violation
from guardrails_plugins.replay.report import wilson

VALUE = re.compile(r"\d|https?:|@")
DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
SEED = 20260917


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def share(count: int, total: int) -> str:
    low, high = wilson(count, total)
    part = f"{100 * count / total:5.2f} %" if total else "    –"
    return f"{count:5} of {total:5}  {part}  (95 %: {100 * low:.1f} to {100 * high:.1f})"


def is_echo(answer: str, violation: Violation) -> bool:
    """A number that only repeats the prompt's "in N words"."""
    return re.match(r"[\s-]*words?\b", answer[violation.span.end : violation.span.end + 8]) is not None


def value_stops(sentence: ReleasedSentence, answer: str) -> list[Violation]:
    return [v for v in sentence.violations if v.code.startswith("value") and not is_echo(answer, v)]


class RagTruth:
    """Whole answers without markers, ungrounded spans marked by people."""

    def __init__(self, path: Path, policy: GatePolicy) -> None:
        self.policy = policy
        self.grounded = [0, 0]
        self.clean = [0, 0]
        self.person = 0
        self.leaks: list[str] = []
        self.listed: list[str] = []
        self.passing: list[tuple[str, SourceIndex]] = []
        for row in rows(path):
            self._answer(row)

    def _answer(self, row: dict[str, Any]) -> None:
        index, answer = SourceIndex(row["sources"]), row["answer"]
        outcome = check_text(answer, index, policy=self.policy.shadow())
        spans = [(s["start"], s["end"]) if isinstance(s, dict) else (s[0], s[1]) for s in row["ungrounded_spans"]]
        stopped = False
        for sentence in outcome.sentences:
            found = value_stops(sentence, answer)
            stopped = stopped or bool(found)
            marked = [s for s in spans if s[0] < sentence.span.end and sentence.span.start < s[1]]
            if marked:
                self._marked(row, sentence, marked, found)
            else:
                self._grounded(row, sentence, found, index)
        if not spans:
            self.clean[1] += 1
            self.clean[0] += stopped

    def _grounded(
        self, row: dict[str, Any], sentence: ReleasedSentence, found: list[Violation], index: SourceIndex
    ) -> None:
        answer = row["answer"]
        self.person += any(v.code == "first_person" for v in sentence.violations)
        text = answer[slice(*sentence.span)]
        if VALUE.search(text) is None:
            return
        self.grounded[1] += 1
        self.grounded[0] += bool(found)
        if found:
            values = [answer[slice(*v.span)] for v in found]
            self.listed.append(f"{row['id']} {values} {text[:160]!r}")
        elif not sentence.sentence.item_prefix:
            self.passing.append((text, index))

    def _marked(
        self,
        row: dict[str, Any],
        sentence: ReleasedSentence,
        marked: list[tuple[int, int]],
        found: list[Violation],
    ) -> None:
        """A digit run of the marked text that stands in no source, in a sentence that was let through."""
        if found:
            return
        source = "\n".join(row["sources"])
        first = sentence.span.start + sentence.sentence.item_prefix
        for start, end in marked:
            for digits in DIGITS.findall(row["answer"][max(start, first) : min(end, sentence.span.end)]):
                if re.search(rf"(?<!\d){re.escape(digits)}(?!\d)", source) is None:
                    self.leaks.append(f"{row['id']} {digits} {row['answer'][slice(*sentence.span)][:160]!r}")

    def replaced(self, policy: GatePolicy) -> dict[int, list[int]]:
        """One number of each passing sentence replaced by another of equal length: stopped, out of how many."""
        chance = random.Random(SEED)
        counts: dict[int, list[int]] = defaultdict(lambda: [0, 0])
        for text, index in self.passing:
            runs = list(re.finditer(r"\d+", text))
            if not runs:
                continue
            run = chance.choice(runs)
            digits = run.group()
            other = digits
            while other == digits:
                other = str(chance.randrange(10 ** (len(digits) - 1) if len(digits) > 1 else 1, 10 ** len(digits)))
            outcome = check_text(text[: run.start()] + other + text[run.end() :], index, policy=policy)
            size = counts[min(len(digits), 3)]
            size[0] += outcome.stopped
            size[1] += 1
        return counts


def ragtruth(path: Path, listed: bool) -> None:
    policy = GatePolicy(citations="off")
    measured = RagTruth(path, policy)
    print(f"\n{path.name}: citations off, word-count echo apart")
    print("  grounded sentences with a value stopped for one  ", share(*measured.grounded))
    print("  clean answers stopped for a value                ", share(*measured.clean))
    print("  first person in grounded sentences               ", f"{measured.person:5}")
    print("  digit runs of marked text in no source, let pass ", f"{len(measured.leaks):5}")
    no_person = replace(policy, person=False)
    for name, tried in (("default", no_person), ("with_noun", replace(no_person, short_numbers="with_noun"))):
        for size, counts in sorted(measured.replaced(tried).items()):
            label = f"  replaced number of {size}{'+' if size == 3 else ''} digits stopped, {name}"
            print(f"{label:51}", share(*counts))
    if listed:
        print(*(f"    stop: {line}" for line in measured.listed), sep="\n")
        print(*(f"    pass: {line}" for line in measured.leaks), sep="\n")


def expertqa(path: Path, listed: bool) -> None:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    lines: list[str] = []
    for row in rows(path):
        text = row["sentence"]
        if VALUE.search(strip_markers(text)) is None:
            continue
        outcome: GateOutcome = check_text(text, row["sources"], policy=GatePolicy().shadow())
        found = [v for v in outcome.violations if v.code.startswith("value")]
        counts[row["label"]][1] += 1
        counts[row["label"]][0] += bool(found)
        if found and row["label"] == "grounded":
            lines.append(f"{row['id']} {[text[slice(*v.span)] for v in found]} {text[:160]!r}")
    print(f"\n{path.name}: sentences with a value, stopped for one")
    for label, pair in sorted(counts.items()):
        print(f"  {label:49}", share(*pair))
    if listed:
        print(*(f"    stop: {line}" for line in lines), sep="\n")


def split(text: str, language: str, *, marker: str, max_chars: int) -> set[int]:
    """The ends of sentences, counted in characters that are no whitespace; fed in pieces of four."""
    splitter = SentenceSplitter(language, marker=marker, max_chars=max_chars)
    found = [s for i in range(0, len(text), 4) for s in splitter.feed(text[i : i + 4])]
    rest = splitter.flush()
    ends = {s.span.end for s in (*found, *([rest] if rest else []))}
    solid, before = set(), 0
    for i, char in enumerate(text):
        before += not char.isspace()
        if i + 1 in ends:
            solid.add(before)
    return solid


def scores(right: int, wrong: int, missed: int) -> str:
    precision, recall = right / max(1, right + wrong), right / max(1, right + missed)
    f1 = 2 * right / max(1, 2 * right + wrong + missed)
    return f"P {100 * precision:5.1f}  R {100 * recall:5.1f}  F1 {100 * f1:5.1f}"


def ud_split(path: Path, listed: bool) -> None:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in rows(path):
        found = split(row["text"], row["language"], marker="[S{n}]", max_chars=100_000)
        ends, left_out = set(row["ends"]), set(row["unterminated"])
        for i, part in enumerate((found & (ends - left_out), found - ends, (ends - left_out) - found)):
            counts[row["language"]][i] += len(part)
    print(f"\n{path.name}: sentence boundaries, unterminated ones left out")
    for language, triple in sorted(counts.items()):
        print(f"  {language}  {scores(*triple)}")
    del listed


def answers_split(path: Path, listed: bool) -> None:
    blocks = re.split(r"^=== (.*)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    total, exact = [0, 0, 0], 0
    for name, body in zip(blocks[::2], blocks[1::2], strict=True):
        text, ends, either = unmarked(body.rstrip("\n"))
        found = split(text, name.split()[0], marker="[{n}]", max_chars=1000)
        parts = (found & ends, found - ends - either, ends - found - either)
        total = [n + len(p) for n, p in zip(total, parts, strict=True)]
        exact += not parts[1] and not parts[2]
        if listed and (parts[1] or parts[2]):
            print(f"    {name}: wrong {sorted(parts[1])}, missed {sorted(parts[2])}")
    print(f"\n{path.name}: streamed; both questionable marks counted as they stand in the file")
    print(f"  {scores(*total)}  exactly right {exact} of {len(blocks) // 2}")


def unmarked(body: str) -> tuple[str, set[int], set[int]]:
    """The text, its sentence ends and the ends that are right either way; each line ends a sentence."""
    text, ends, either, solid = "", set(), set(), 0
    for char in body:
        if char == "⏎":
            ends.add(solid)
        elif char == "¿":
            either.add(solid)
        else:
            if char == "\n" and solid and solid not in either:
                ends.add(solid)
            text += char
            solid += not char.isspace()
    return text, ends | {solid}, either


TABLES = {
    "ragtruth_*.jsonl.gz": ragtruth,
    "expertqa_*.jsonl.gz": expertqa,
    "ud_split_*.jsonl.gz": ud_split,
    "answers_split_*.txt": answers_split,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--list", action="store_true", help="list each stop of grounded text")
    args = parser.parse_args()
    files = [(table, path) for pattern, table in TABLES.items() for path in sorted(args.data.glob(pattern))]
    if not files:
        print(f"{args.data} holds none of {', '.join(TABLES)}", file=sys.stderr)
        return 2
    for table, path in files:
        table(path, args.list)
    return 0


if __name__ == "__main__":
    sys.exit(main())
