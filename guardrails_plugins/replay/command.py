"""`sentence-gate replay`: recorded answers judged offline."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from guardrails_plugins.cli import InputError
from guardrails_plugins.commands.files import write_text
from guardrails_plugins.commands.terminal import printable, progress
from guardrails_plugins.core.policy import GatePolicy
from guardrails_plugins.replay.engine import Result, replay
from guardrails_plugins.replay.page import SHARES, page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="JSON Lines (also .gz): answer, sources, ...")
    parser.add_argument("--policy", help="a TOML file with policy keys")
    parser.add_argument("--against", help="a second policy: what would it stop or release?")
    parser.add_argument("--workers", type=int, help="processes (default: one a core)")
    parser.add_argument("--resume", metavar="STATE", help="keep the state in this file, and go on from it")
    parser.add_argument("--engine", choices=["local", "ray"], default="local", help="ray: over Ray Data (extra: ray)")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--html", metavar="PAGE", help="write a self-contained page")
    parser.add_argument("--show-text", action="store_true", help="keep the text of withheld sentences in the report")


def run(args: argparse.Namespace) -> int:
    """Judge the files and print the report; 0 whatever it says."""
    policies = tuple(_policies(args))
    if args.workers is not None and args.workers < 1:
        raise InputError("--workers must be at least 1")
    if args.engine == "ray":
        from guardrails_plugins.replay.ray_engine import replay_ray

        result = replay_ray(args.files, policies, show_text=args.show_text)
    else:
        result = _local(args, policies)
    data = result.as_dict()
    if args.html:
        write_text(Path(args.html), page(data))
    if args.json:
        print(json.dumps(data, ensure_ascii=True, indent=2))
    else:
        _print(data)
    return 0


def _local(args: argparse.Namespace, policies: tuple[GatePolicy, ...]) -> Result:
    files = [Path(f) for f in args.files]
    for file in files:
        if not file.is_file():
            raise InputError(f"{file} is not a file; name files of recorded answers")
    resume = Path(args.resume) if args.resume else None
    # The size of a packed file is not that of its text: the bar then only moves.
    total = None if any(f.suffix == ".gz" for f in files) else sum(f.stat().st_size for f in files)
    with progress("judging", total, quiet=args.json) as advance:
        return replay(files, policies, workers=args.workers, show_text=args.show_text, resume=resume, advance=advance)


def _policies(args: argparse.Namespace) -> Iterator[GatePolicy]:
    yield GatePolicy.from_toml(Path(args.policy)) if args.policy else GatePolicy()
    if args.against:
        yield GatePolicy.from_toml(Path(args.against))


def _print(data: Mapping[str, Any]) -> None:
    reports = {"": data} if "answers" in data else {"policy": data["policy"], "against": data["against"]}
    for name, report in reports.items():
        if name:
            print(f"\n== {name}")
        _print_report(report)
    if "changes" in data:
        changes = data["changes"]
        print("\nfrom the first policy to the second:")
        for what in ("answers", "sentences"):
            print(f"  {what}: {changes[f'{what}_stopped']} newly stopped, {changes[f'{what}_released']} released")


def _print_report(report: Mapping[str, Any]) -> None:
    for key, label in SHARES:
        share = report[key]
        if share["total"]:
            low, high, mid = (f"{100 * share[k]:.1f}" for k in ("low", "high", "share"))
            print(f"{label:32} {share['count']:7} of {share['total']:7}  {mid:>5} %  (95 %: {low} to {high})")
    print("states: " + ", ".join(f"{state} {n}" for state, n in report["states"].items()))
    for row in report["causes"]:
        print(f"{row['sentences']:7}  {row['cause']}  ({row['false']} of them marked grounded)")
        for example in row["examples"]:
            text = f"  {printable(example['text'])[:120]}" if example["text"] else ""
            print(f"         {example['file']}:{example['line']}, sentence {example['sentence']}{text}")
    if report["skipped"]:
        print(f"{report['skipped']} lines skipped:")
        for line in report["skipped_lines"]:
            print(f"         {line['file']}:{line['line']}: {line['reason']}")
