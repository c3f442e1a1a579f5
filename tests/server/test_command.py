"""`sentence-gate serve`: what is wrong is said in one line before anything is served."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from guardrails_plugins.cli import main, parser_of
from guardrails_plugins.server.command import build
from guardrails_plugins.server.providers import Anthropic, Extractive, OpenAI
from tests.server.support import folder


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--docs", "absent"], "not a folder of documents"),
        (["--docs", "empty"], "holds no document"),
        (["--docs", "docs", "--provider", "openai"], "needs --model"),
        (["--docs", "docs", "--provider", "anthropic", "--model", "m"], "ANTHROPIC_API_KEY"),
        (["--docs", "docs", "--host", "0.0.0.0"], "SENTENCE_GATE_KEY"),
        (["--docs", "docs", "--language", "xx"], "no language data"),
        (["--docs", "docs", "--index", "noise"], "--index noise cannot be used"),
        (["--docs", "docs", "--index", "empty"], "--index empty cannot be used"),
        (["--docs", "docs", "--budget-file", "noise"], "--budget-file noise cannot be used"),
        (["--docs", "docs", "--port", "99999"], "between 0 and 65535"),
        (["--docs", "docs", "--policy", "noise"], "cannot be read as a policy file"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    arguments: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SENTENCE_GATE_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    folder(tmp_path / "docs")
    (tmp_path / "empty").mkdir()
    (tmp_path / "noise").write_bytes(bytes(range(256)) * 20)
    assert main(["serve", *arguments]) == 2
    told = capsys.readouterr().err
    assert says in told
    assert told.count("\n") == 1


def args_of(*arguments: str) -> argparse.Namespace:
    parser = parser_of("serve")
    assert parser is not None
    return parser.parse_args(["serve", *arguments])


def test_the_providers_that_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs = str(folder(tmp_path / "docs"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert isinstance(build(args_of("--docs", docs)).provider, Extractive)
    openai = args_of("--docs", docs, "--provider", "openai", "--model", "m", "--base-url", "http://127.0.0.1:1/v1")
    assert isinstance(build(openai).provider, OpenAI)
    anthropic = args_of("--docs", docs, "--provider", "anthropic", "--model", "m")
    assert isinstance(build(anthropic).provider, Anthropic)


def test_limits_and_keys_reach_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs = str(folder(tmp_path / "docs"))
    monkeypatch.setenv("SENTENCE_GATE_KEY", "s3cret")
    policy = tmp_path / "policy.toml"
    policy.write_text('citations = "optional"\n', encoding="utf-8")
    made = build(
        args_of(
            "--docs", docs, "--host", "0.0.0.0", "--cors", "https://a.example", "--max-streams", "3", "--budget", "50",
            "--policy", str(policy), "--language", "pt-BR", "--index", str(tmp_path / "i.db"),
        )
    )  # fmt: skip
    settings = made.settings
    assert (settings.bearer_key, settings.cors_origins, settings.max_streams) == ("s3cret", ("https://a.example",), 3)
    assert (settings.policy.citations, settings.language, made.budget.limit) == ("optional", "pt", 50)
    assert (tmp_path / "i.db").exists()
