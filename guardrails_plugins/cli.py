"""`sentence-gate`: demo, check, init, replay, compare, serve, doctor.

Exit codes: 0 when all is well, 1 when an answer was withheld or a configuration leaks, 2 on bad input.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from types import ModuleType

from guardrails_plugins.core.errors import GateError

COMMANDS = {
    "demo": ("guardrails_plugins.commands.demo", "watch one answer through the gate, NeMo and Guardrails AI", "all"),
    "check": ("guardrails_plugins.commands.check", "judge an answer, sentence by sentence", ""),
    "init": ("guardrails_plugins.commands.init", "copy a framework's configuration folder", ""),
    "replay": ("guardrails_plugins.replay.command", "judge recorded answers offline", ""),
    "compare": ("guardrails_plugins.compare.command", "what each release strategy shows before it has checked", "all"),
    "serve": ("guardrails_plugins.server.command", "answer questions over a folder of documents", "server"),
    "doctor": ("guardrails_plugins.doctor", "whether a NeMo folder or a Guard leaks", "all"),
}
"""Each command's module (with `add_arguments(parser)` and `run(args) -> int`), help, and extra."""

QUIET = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OTEL_SDK_DISABLED": "true",
    "NEMO_GUARDRAILS_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "ANONYMIZED_TELEMETRY": "false",
}
"""Set before a framework is imported: no telemetry, and no download at import."""


class InputError(GateError):
    """What the user gave cannot be used; the message says what would be right."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code. No error of the user's making ends in a traceback."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # An answer may hold what the encoding of a terminal or a file does not (cp1252, lone surrogates).
        sys.stdout.reconfigure(errors="backslashreplace")
    parser = parser_of(next((a for a in arguments if not a.startswith("-")), None))
    if parser is None:
        return 2
    args = parser.parse_args(arguments)
    try:
        return int(args.run(args))
    except BrokenPipeError:
        # The reader of our output has left (`| head`); nothing more can be said, also not at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except GateError as error:
        print(f"sentence-gate {args.command}: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        told = f"{error.filename}: {error.strerror}" if error.filename is not None else str(error)
        print(f"sentence-gate {args.command}: {told}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def parser_of(named: str | None) -> argparse.ArgumentParser | None:
    """The parser that knows the arguments of one command; None when a package of that command is missing."""
    parser = argparse.ArgumentParser(prog="sentence-gate", description="A sentence gate for streaming language models.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (_, text, _) in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text)
        # Only the named command is imported: the others may need extras that are not there.
        if name == named:
            module = _load(name)
            if module is None:
                return None
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    return parser


def _load(name: str) -> ModuleType | None:
    path, _, extra = COMMANDS[name]
    for key, value in QUIET.items():
        os.environ.setdefault(key, value)
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        wanted = f"install it with: pip install 'guardrails-plugins[{extra or 'all'}]'"
        print(f"sentence-gate {name}: the package {error.name!r} is missing; {wanted}", file=sys.stderr)
        return None


if __name__ == "__main__":
    sys.exit(main())
