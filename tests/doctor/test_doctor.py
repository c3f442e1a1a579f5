"""The doctor finds what each framework's own streaming does wrong, and nothing in ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from guardrails_plugins.cli import main
from guardrails_plugins.commands.init import nemo_folder
from guardrails_plugins.doctor.findings import CANARIES, Harm, leaked, violating
from guardrails_plugins.server.app import create_app
from guardrails_plugins.server.providers import OpenAI
from tests.server.fake_provider import FakeProvider, Finish, Wait, pieces, running
from tests.server.support import GOOD, QUESTION, service

COLANG = """
define subflow mine
  $verdict = execute mine_check
  if $verdict.is_blocked
    bot refuse to respond
    stop
"""
ACTION = """
from nemoguardrails.actions import action
from nemoguardrails.actions.rail_outcome import RailOutcome


@action(name="mine_check")
async def mine_check(context=None, **_):
    return {verdict}
"""


def folder(path: Path, streaming: str, *, verdict: str = "RailOutcome.allow()", flows: str = "[mine]") -> Path:
    path.mkdir()
    yaml = f"models: []\nrails:\n  output:\n    flows: {flows}\n    streaming: {{{streaming}}}\n"
    (path / "config.yml").write_text(yaml, encoding="utf-8")
    (path / "rails.co").write_text(COLANG, encoding="utf-8")
    (path / "actions.py").write_text(ACTION.format(verdict=verdict), encoding="utf-8")
    return path


def harms(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, list[dict[str, Any]]]:
    code = main(["doctor", *args, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_nemos_defaults_show_first_fail_open_and_read_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = harms(capsys, str(folder(tmp_path / "stock", "enabled: True")))
    assert code == 1
    assert [f["harm"] for f in found] == ["shows_first", "fails_open", "reads_on"]
    assert "stream_first: False" in found[0]["change"]
    assert "its number among them" in found[0]["seen"]


def test_nemo_that_checks_first_still_cuts_sentences_and_reads_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = "enabled: True, stream_first: False, chunk_size: 20, context_size: 5"
    _, found = harms(capsys, str(folder(tmp_path / "checked", settings)))
    assert [f["harm"] for f in found] == ["shows_first", "reads_on"]
    assert "its number among them" not in found[0]["seen"]
    assert "sentence-gate init nemo" in found[0]["change"]


def test_a_rail_that_blocks_good_answers_loses_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = "enabled: True, stream_first: False"
    _, found = harms(capsys, str(folder(tmp_path / "strict", settings, verdict="RailOutcome.block(reason='x')")))
    assert "loses_text" in [f["harm"] for f in found]


def test_streaming_that_is_off_would_raise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = harms(capsys, str(folder(tmp_path / "off", "enabled: False")))
    assert (code, [f["harm"] for f in found]) == (1, ["no_streaming"])
    assert "enabled: True" in found[0]["change"]


def test_an_action_that_answers_with_a_bool_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, found = harms(capsys, str(folder(tmp_path / "bool", "enabled: True", verdict="True")))
    assert [f["harm"] for f in found] == ["not_run"]
    assert "RailOutcome" in found[0]["seen"]


def test_a_folder_whose_rail_is_not_there_is_said_to_be_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = harms(capsys, str(folder(tmp_path / "broken", "enabled: True", flows="[absent]")))
    assert code == 1
    assert [f["harm"] for f in found] == ["not_run"]


def test_our_folder_has_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert harms(capsys, str(nemo_folder())) == (0, [])
    assert main(["doctor", str(nemo_folder())]) == 0
    assert "nothing found" in capsys.readouterr().out


GUARDS = {
    "exception": ["shows_first", "fails_open"],
    "fix": ["loses_text", "reads_on"],
    "filter_async": ["loses_text", "reads_on"],
    "gated": [],
    "gated_async": [],
}


@pytest.mark.parametrize("name", GUARDS)
def test_guards(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = harms(capsys, f"tests.doctor.guards:{name}")
    assert [f["harm"] for f in found] == GUARDS[name]
    assert code == (1 if GUARDS[name] else 0)
    for finding in found:
        assert "sentence_stream" in finding["change"]


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("tests.doctor.guards:no_guard", "is int; name a Guard"),
        ("tests.doctor.guards:absent", "not there; name a Guard"),
        ("tests.doctor.absent:guard", "cannot be imported"),
        ("nowhere", "neither a folder nor"),
        (__file__, "name the folder"),
    ],
)
def test_what_is_no_target_is_told_in_one_line(target: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", target]) == 2
    told = capsys.readouterr().err
    assert says in told
    assert "Traceback" not in told


def test_a_folder_that_does_not_load(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.yml").write_text("rails: [", encoding="utf-8")
    assert main(["doctor", str(tmp_path)]) == 2
    assert "does not load" in capsys.readouterr().err


def test_one_target_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 2
    assert main(["doctor", "a", "--url", "http://127.0.0.1:1"]) == 2
    assert "name a NeMo folder" in capsys.readouterr().err


def test_harms_are_printed_worst_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", str(folder(tmp_path / "stock", "enabled: True"))])
    out = capsys.readouterr().out
    assert out.index("1. shows text") < out.index("2. lets text through") < out.index("3. goes on reading")
    assert CANARIES[0] not in out


def test_leaks_are_counted_from_the_sentence_itself() -> None:
    whole = violating(CANARIES[0])
    assert leaked(whole, CANARIES[0]) == len(f"The secret number of the library is {CANARIES[0]}")
    assert leaked("Nothing of it. The harbour library", CANARIES[0]) == 0
    assert leaked("x The secret num", CANARIES[0]) == len("The secret num")
    assert list(Harm) == sorted(Harm)


def test_a_running_endpoint_of_ours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fake = FakeProvider([*pieces(GOOD[:62]), Wait(0.4), *pieces(GOOD[62:]), Finish()])
    with running(fake.app) as upstream:
        made = service(tmp_path, OpenAI("f", base_url=f"{upstream}/v1", api_key="none"), ping_s=0.1)
        with running(create_app(made)) as url:
            assert main(["doctor", "--url", f"{url}/v1/answers", "--question", QUESTION]) == 0
    out = capsys.readouterr().out
    for line in (
        "ok  text arrives as it is written",
        "ok  usage is reported",
        "comments kept",
        "ok  a client that leaves",
    ):
        assert line in out


def test_an_endpoint_that_answers_in_one_lump_and_without_usage(capsys: pytest.CaptureFixture[str]) -> None:
    app = FastAPI()
    chunk = json.dumps({"choices": [{"index": 0, "delta": {"content": "text "}}]})

    @app.post("/v1/chat/completions")
    async def answer() -> StreamingResponse:
        body = "".join(f"data: {chunk}\n\n" for _ in range(5)) + "data: [DONE]\n\n"
        return StreamingResponse(iter([body]), media_type="text/event-stream")

    with running(app) as url:
        assert main(["doctor", "--url", f"{url}/v1/chat/completions"]) == 1
    out = capsys.readouterr().out
    assert "NO  text arrives in one lump" in out
    assert "NO  usage is never reported" in out
    assert " ?  whether leaving reaches the provider cannot be seen" in out


def test_an_endpoint_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--url", "http://127.0.0.1:9/v1/answers"]) == 2
    assert "does not answer" in capsys.readouterr().err
