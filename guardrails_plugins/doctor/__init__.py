"""`sentence-gate doctor`: whether a NeMo folder or a Guard leaks, before it serves."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path

from guardrails_plugins.cli import InputError
from guardrails_plugins.commands.terminal import printable
from guardrails_plugins.compare.command import quiet
from guardrails_plugins.doctor.findings import TITLES, Finding


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument(
        "target", nargs="?", metavar="PATH_OR_MODULE:GUARD", help="a NeMo folder, or a guard in a module"
    )
    parser.add_argument(
        "--url", help="a running endpoint: ours (/v1/answers) or OpenAI-compatible (…/chat/completions)"
    )
    parser.add_argument("--question", default="What is in the documents?", help="what the endpoint is asked")
    parser.add_argument("--model", default="gpt-4.1-mini", help="the model an OpenAI-compatible endpoint is asked for")
    parser.add_argument(
        "--listen", type=float, default=60.0, metavar="SECONDS", help="how long a stream is listened to"
    )
    parser.add_argument("--json", action="store_true", help="print findings as JSON")


def run(args: argparse.Namespace) -> int:
    """Examine; 0 when nothing is found, 1 when something is. The key of an endpoint is SENTENCE_GATE_KEY."""
    if bool(args.target) == bool(args.url):
        raise InputError("name a NeMo folder, a MODULE:GUARD, or an endpoint with --url")
    if args.url:
        return _endpoint(args)
    with quiet():
        findings = _examine(args.target)
    if args.json:
        print(json.dumps([f.as_json() for f in findings], ensure_ascii=True, indent=2))
    else:
        _show(args.target, findings)
    return 1 if findings else 0


def _examine(target: str) -> list[Finding]:
    folder = Path(target)
    if folder.exists():
        if not folder.is_dir():
            raise InputError(f"{target} is a file; name the folder that holds config.yml")
        from guardrails_plugins.doctor import nemo

        return nemo.examine(folder)
    if ":" not in target:
        raise InputError(f"{target} is neither a folder nor MODULE:GUARD")
    from guardrails_plugins.doctor import guard

    return guard.examine(guard.load(target))


def _show(target: str, findings: Sequence[Finding]) -> None:
    if not findings:
        print(f"{target}: nothing found. Nothing unchecked was shown, nothing was lost, a broken check held.")
        return
    for number, finding in enumerate(findings, 1):
        print(f"{number}. {TITLES[finding.harm]}")
        print(f"   seen:   {printable(finding.seen)}")
        print(f"   change: {finding.change}")


def _endpoint(args: argparse.Namespace) -> int:
    from guardrails_plugins.doctor.endpoint import examine

    key = os.environ.get("SENTENCE_GATE_KEY") or None
    lines = examine(args.url, question=args.question, key=key, model=args.model, listen_s=args.listen)
    if args.json:
        print(json.dumps([{"good": line.good, "text": line.text} for line in lines], ensure_ascii=True, indent=2))
    else:
        for line in lines:
            print(f"{'?' if line.good is None else 'ok' if line.good else 'NO':>2}  {printable(line.text)}")
    return 1 if any(line.good is False for line in lines) else 0
