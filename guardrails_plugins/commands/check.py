"""`sentence-gate check`: a verdict for each sentence of a written answer, past the first stop."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guardrails_plugins.cli import InputError
from guardrails_plugins.commands.files import read_json, read_json_lines, read_text
from guardrails_plugins.commands.terminal import paint, printable
from guardrails_plugins.core.errors import GateError
from guardrails_plugins.core.outcome import GateOutcome, ReleasedSentence, State, Violation
from guardrails_plugins.core.policy import GatePolicy
from guardrails_plugins.core.sources import Source, SourceIndex
from guardrails_plugins.core.whole import check_text

SOURCE_ENDINGS = (".txt", ".md", ".markdown", ".json", ".jsonl")


@dataclass(frozen=True, slots=True)
class Judged:
    """One sentence's verdict; `text` only where it may be shown."""

    number: int
    passed: bool
    chars: int
    violations: tuple[Violation, ...]
    text: str | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("answer", metavar="ANSWER", help="a file with the answer, or - for standard input")
    parser.add_argument("--sources", required=True, help="a file or folder of sources; [S1] is the first by name")
    parser.add_argument("--language", default="en", help="the language the answer was asked for in (default: en)")
    parser.add_argument("--policy", help="a TOML file with policy keys")
    parser.add_argument("--json", action="store_true", help="print the verdicts as JSON")
    parser.add_argument("--show-text", action="store_true", help="also print the text of withheld sentences")


def run(args: argparse.Namespace) -> int:
    """Print the verdicts; 1 when the answer would be withheld, else 0."""
    answer = read_text(args.answer)
    sources = SourceIndex(read_sources(Path(args.sources)), language=args.language)
    policy = GatePolicy.from_toml(Path(args.policy)) if args.policy else GatePolicy()
    real = check_text(answer, sources, language=args.language, policy=policy)
    # The same sentences once more, with every code only flagged: a writer wants all violations.
    every = check_text(answer, sources, language=args.language, policy=policy.shadow())
    judged = [_judged(i, s, policy, args.show_text) for i, s in enumerate(every.sentences, 1) if s.sentence]
    (_print_json if args.json else _print_text)(judged, real)
    return 1 if real.state in (State.WITHHELD, State.FAILED) else 0


def read_sources(path: Path) -> list[Source]:
    """The sources of a file (one, or a JSON list, or JSON Lines) or of a folder, by name.

    Raises `InputError` naming what is wrong.
    """
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.suffix.lower() in SOURCE_ENDINGS and p.is_file())
        if not files:
            raise InputError(f"{path} holds no source; files may end in {', '.join(SOURCE_ENDINGS)}")
        return [s for file in files for s in _file_sources(file)]
    if not path.exists():
        raise InputError(f"{path} does not exist; name a file or folder of sources")
    return _file_sources(path)


def _file_sources(path: Path) -> list[Source]:
    text = read_text(str(path))
    ending = path.suffix.lower()
    if ending not in (".json", ".jsonl"):
        return [Source(text, id=path.name)]
    lines = ending == ".jsonl"
    data = [row for _, row in read_json_lines(text, str(path))] if lines else read_json(text, str(path))
    try:
        return list(SourceIndex(data if isinstance(data, list) else [data]).sources)
    except GateError as error:
        raise InputError(f"{path}: {error}") from None


def _judged(number: int, released: ReleasedSentence, policy: GatePolicy, show: bool) -> Judged:
    blocked = any(policy.stops(v.code) for v in released.violations)
    text = released.text.strip() if show or not blocked else None
    return Judged(number, not blocked, len(released.sentence.text), released.violations, text)


def _print_text(judged: list[Judged], real: GateOutcome) -> None:
    for verdict in judged:
        mark = paint("pass", "green") if verdict.passed else paint("STOP", "red")
        text = printable(verdict.text) if verdict.text is not None else f"({verdict.chars} characters withheld)"
        print(f"{verdict.number:3}  {mark}  {text}")
        for violation in verdict.violations:
            print(f"           {paint(describe(violation), 'yellow')}")
    stops = sum(not v.passed for v in judged)
    style = "green" if real.state is State.COMPLETED else "red"
    print(f"\n{paint(str(real.state), style)}: {len(judged)} sentences, {stops} that would stop the answer")


def describe(violation: Violation) -> str:
    """A violation in one line, without text of the answer."""
    kind = f" ({violation.kind})" if violation.kind else ""
    where = f"; found in {', '.join(f'source {n}' for n in violation.found_in)}" if violation.found_in else ""
    return f"{violation.code}{kind} at {violation.span.start}-{violation.span.end}{where}"


def _print_json(judged: list[Judged], real: GateOutcome) -> None:
    sentences: list[dict[str, Any]] = [
        {
            "number": v.number,
            "passed": v.passed,
            "chars": v.chars,
            "text": v.text,
            "violations": [
                {
                    "code": str(w.code),
                    "kind": w.kind,
                    "span": list(w.span),
                    "rule": w.rule,
                    "found_in": list(w.found_in),
                }
                for w in v.violations
            ],
        }
        for v in judged
    ]
    result = {"state": str(real.state), "notice": real.notice, "sentences": sentences}
    print(json.dumps(result, ensure_ascii=True, indent=2))
