"""`sentence-gate serve`: an assistant over a folder of documents."""

from __future__ import annotations

import argparse
import os
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from guardrails_plugins.cli import InputError
from guardrails_plugins.core.languages.profile import resolve_language
from guardrails_plugins.core.policy import GatePolicy
from guardrails_plugins.server.answers import Service
from guardrails_plugins.server.app import create_app
from guardrails_plugins.server.budget import Budget
from guardrails_plugins.server.metrics import Metrics
from guardrails_plugins.server.providers import PROVIDERS, Extractive, Provider
from guardrails_plugins.server.retrieval import Library
from guardrails_plugins.server.settings import Settings

T = TypeVar("T")

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?")
"""Scheme, host and port as a browser writes them (RFC 6454, section 6.2): lower case, nothing behind."""

KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--docs", required=True, type=Path, help="a folder of Markdown, text, HTML or PDF")
    parser.add_argument("--index", type=Path, help="the index file (default: in memory, made at each start)")
    parser.add_argument("--language", default="en", help="of answers whose request names none (default: en)")
    parser.add_argument("--provider", choices=["extractive", *PROVIDERS], default="extractive")
    parser.add_argument("--model", help="the provider's model")
    parser.add_argument("--base-url", help="an OpenAI-compatible endpoint")
    parser.add_argument("--policy", type=Path, help="a TOML file with policy keys")
    parser.add_argument("--budget", type=int, metavar="TOKENS", help="tokens a calendar month")
    parser.add_argument("--budget-file", type=Path, default=None, help="where the budget is kept (SQLite)")
    parser.add_argument("--host", default="127.0.0.1", help="loopback by default")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--cors", action="append", default=[], metavar="ORIGIN", help="an origin that may read answers")
    parser.add_argument("--max-streams", type=int, default=Settings().max_streams, help="answers at once")


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted. The bearer key is read from SENTENCE_GATE_KEY."""
    import uvicorn

    service = build(args)
    try:
        uvicorn.run(create_app(service), host=args.host, port=args.port, log_level="info", timeout_graceful_shutdown=5)
    except KeyboardInterrupt:
        return 0
    return 0


def build(args: argparse.Namespace) -> Service:
    """The service of the arguments; documents are indexed here. Raises `InputError` and its kin."""
    key = os.environ.get("SENTENCE_GATE_KEY") or None
    if args.host not in ("127.0.0.1", "localhost", "::1") and key is None:
        raise InputError("set SENTENCE_GATE_KEY before serving beyond this machine, or keep --host 127.0.0.1")
    _check_limits(args)
    settings = Settings(
        language=resolve_language(args.language),
        policy=GatePolicy.from_toml(args.policy) if args.policy else GatePolicy(),
        bearer_key=key,
        cors_origins=tuple(args.cors),
        max_streams=args.max_streams,
    )
    provider = _provider(args)
    library = _opened("--index", args.index, lambda file: Library(args.docs, file))
    done = library.index()
    print(f"{len(library)} passages of {done.read + done.kept} documents ({done.read} read, {done.kept} unchanged)")
    for error in done.errors:
        print(f"left out: {error}")
    if not len(library):
        raise InputError(f"{args.docs} holds no document that can be read (Markdown, text, HTML, PDF)")
    budget = _opened("--budget-file", args.budget_file, lambda file: Budget(file, args.budget))
    return Service(library, provider, settings, budget, Metrics())


def _check_limits(args: argparse.Namespace) -> None:
    if not 0 <= args.port <= 65535:
        raise InputError(f"--port must be between 0 and 65535, not {args.port}")
    if args.max_streams < 1:
        raise InputError(f"--max-streams must be at least 1, not {args.max_streams}")
    if args.budget is not None and args.budget < 1:
        raise InputError(f"--budget must be at least 1 token, not {args.budget}; leave it out for no limit")
    for origin in args.cors:
        if origin != "*" and not _ORIGIN.fullmatch(origin):
            raise InputError(f"--cors {origin!r} is no origin; name one such as https://example.org, without a path")


def _opened(option: str, file: Path | None, make: Callable[[str | Path], T]) -> T:
    """What is kept in an SQLite file, or in memory where none is named."""
    try:
        return make(file or ":memory:")
    except sqlite3.Error as error:
        raise InputError(f"{option} {file} cannot be used: {error}; name a new file, or one that this made") from None


def _provider(args: argparse.Namespace) -> Provider:
    if args.provider == "extractive":
        return Extractive()
    if not args.model:
        raise InputError(f"--provider {args.provider} needs --model")
    key = os.environ.get(KEYS[args.provider])
    if not key and not args.base_url:
        raise InputError(f"set {KEYS[args.provider]} for --provider {args.provider}")
    return PROVIDERS[args.provider](args.model, base_url=args.base_url, api_key=key or "none")
