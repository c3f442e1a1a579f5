"""`sentence-gate init nemo DIR`: the NeMo folder, out of an installed package."""

from __future__ import annotations

import argparse
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from guardrails_plugins.cli import InputError

FILES = ("config.yml", "rails.co", "config.py")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("framework", choices=["nemo"])
    parser.add_argument("directory", metavar="DIR", help="a folder that does not exist yet, or is empty")


def run(args: argparse.Namespace) -> int:
    """Copy the folder; nothing is overwritten."""
    target = Path(args.directory)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target} is not an empty folder; name one that does not exist yet")
    texts = {name: nemo_folder().joinpath(name).read_text(encoding="utf-8") for name in FILES}
    target.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (target / name).write_text(text, encoding="utf-8")
    print(f"{target}: {', '.join(FILES)} written. Add your model to config.yml, then:")
    print(f"  nemoguardrails server --config {target}")
    return 0


def nemo_folder() -> Traversable:
    """The folder in an installed package, or in a checkout beside the package."""
    packaged = resources.files("guardrails_plugins").joinpath("nemo_config")
    if packaged.is_dir():
        return packaged
    return Path(__file__).resolve().parents[2] / "nemo_config"
