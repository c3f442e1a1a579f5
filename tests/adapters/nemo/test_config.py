"""What is refused while a folder loads, in one sentence that names the line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nemoguardrails")

from nemoguardrails import LLMRails, RailsConfig

from guardrails_plugins.adapters.nemo import NemoConfigError, folder

from .support import BAD, FOLDER, GOOD, GOOD_ITEMS, GOOD_SHOWN, FakeModel, collect, rails, request, write

pytestmark = pytest.mark.framework


def refusal(**kwargs: Any) -> str:
    with pytest.raises(RuntimeError) as caught:
        rails(FakeModel(""), **kwargs)
    assert isinstance(caught.value.__cause__, NemoConfigError)
    return str(caught.value.__cause__)


@pytest.mark.parametrize(
    ("line", "value"),
    [("stream_first", "True"), ("enabled", "False"), ("chunk_size", "200"), ("context_size", "50")],
)
def test_streaming_settings_that_would_leak(line: str, value: str) -> None:
    message = refusal(yaml=f"rails: {{output: {{streaming: {{{line}: {value}}}}}}}")
    assert f"rails.output.streaming.{line}" in message
    assert "\n" not in message


def test_nemos_defaults_are_refused() -> None:
    assert "rails.output.streaming.enabled" in refusal(yaml="rails: {output: {streaming: {enabled: False}}}")


def test_parallel_output_rails() -> None:
    assert "rails.output.parallel" in refusal(yaml="rails: {output: {parallel: True}}")


def test_single_call_mode() -> None:
    assert "rails.dialog.single_call.enabled" in refusal(yaml="rails: {dialog: {single_call: {enabled: True}}}")


@pytest.mark.parametrize("flows", ["[]", "[sentence gate, sentence gate]"])
def test_our_flow_stands_there_once(flows: str) -> None:
    assert "rails.output.flows" in refusal(yaml=f"rails: {{output: {{flows: {flows}}}}}")


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"languages": "en"}, "language"),
        ({"language": "xx"}, "custom_data.sentence_gate.language"),
        ({"policy": {"citation": "off"}}, "citations"),
        ({"policy": {"marker": "S"}}, "custom_data.sentence_gate.policy"),
        ({"policy": ["citations"]}, "custom_data.sentence_gate.policy"),
        ({"policy": {"notices": {"gone": "x"}}}, "notice"),
        ({"prompt": "yes"}, "custom_data.sentence_gate.prompt"),
        ({"timeout_s": -1}, "custom_data.sentence_gate.timeout_s"),
    ],
)
def test_wrong_settings_name_the_key(settings: dict[str, Any], named: str) -> None:
    assert named in refusal(**settings)


def test_settings_that_are_no_mapping(tmp_path: Path) -> None:
    write(tmp_path)
    text = (tmp_path / "config.yml").read_text()
    (tmp_path / "config.yml").write_text(text[: text.index("custom_data")] + "custom_data: {sentence_gate: 3}\n")
    (tmp_path / "config.py").write_text((FOLDER / "config.py").read_text())
    with pytest.raises(RuntimeError) as caught:
        LLMRails(RailsConfig.from_path(str(tmp_path)), llm=FakeModel(""))
    assert "custom_data.sentence_gate must be a mapping" in str(caught.value.__cause__)


def test_the_folder_as_it_ships_loads() -> None:
    assert sorted(p.name for p in folder().iterdir() if p.suffix != ".pyc" and p.name != "__pycache__") == [
        "config.py",
        "config.yml",
        "rails.co",
    ]
    LLMRails(RailsConfig.from_path(str(folder())), llm=FakeModel(""))


def test_update_llm_stays_gated() -> None:
    from guardrails_plugins.adapters.nemo import GatedModel

    app = rails(FakeModel(""))
    model = FakeModel("another")
    app.update_llm(model)
    assert isinstance(app.llm, GatedModel)
    assert app.llm.inner is model


async def test_ones_own_folder_needs_the_flow_in_config_yml_and_two_lines_in_config_py(tmp_path: Path) -> None:
    (tmp_path / "config.yml").write_text(
        "models: []\nrails:\n  output:\n    flows: [sentence gate]\n"
        "    streaming: {enabled: True, stream_first: False, chunk_size: 1, context_size: 0}\n"
    )
    (tmp_path / "config.py").write_text(
        "from guardrails_plugins.adapters.nemo import install\n\ndef init(app):\n    install(app)\n"
    )
    config = RailsConfig.from_path(str(tmp_path))
    for _ in range(2):
        app = LLMRails(config, llm=FakeModel(GOOD))
        assert await collect(app.stream_async(messages=request())) == GOOD_ITEMS
        assert (await app.generate_async(messages=request()))["content"] == GOOD_SHOWN
    blocked = LLMRails(config, llm=FakeModel(BAD))
    assert (await blocked.generate_async(messages=request()))["content"].startswith("The answer stops here")


@pytest.mark.parametrize(
    "line", ["$outcome = execute other_check", "bot refuse to respond", "$sentence_gate = execute Sentence_Gate"]
)
def test_a_flow_of_that_name_that_runs_something_else(line: str, tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "rails.co").write_text(f"define subflow sentence gate\n  {line}\n")
    (tmp_path / "config.py").write_text((FOLDER / "config.py").read_text())
    with pytest.raises(RuntimeError) as caught:
        LLMRails(RailsConfig.from_path(str(tmp_path)), llm=FakeModel(""))
    assert isinstance(caught.value.__cause__, NemoConfigError)
    assert "execute sentence_gate" in str(caught.value.__cause__)


def test_a_model_whose_spans_would_hold_unjudged_text_is_refused() -> None:
    from nemoguardrails import InstrumentedLLMModel

    recording = InstrumentedLLMModel(FakeModel(""), content_capture_enabled=True)
    with pytest.raises(RuntimeError) as caught:
        rails(recording)
    assert "content_capture_enabled=False" in str(caught.value.__cause__)
    app = rails(InstrumentedLLMModel(FakeModel(""), content_capture_enabled=False))
    with pytest.raises(NemoConfigError, match="content_capture_enabled=False"):
        app.update_llm(recording)
