"""A blocked sentence is nowhere in NeMo: results, explain, history, traces, verbose logs."""

from __future__ import annotations

import io
import logging
from typing import Any

import pytest

pytest.importorskip("nemoguardrails")

from guardrails_plugins.adapters.nemo import gate_items

from .support import (
    BAD,
    KNOWLEDGE,
    SECRET,
    DialogModel,
    FakeModel,
    collect,
    everything,
    rails,
    request,
    searching,
)
from .test_sources import ASK, DIALOG

pytestmark = pytest.mark.framework

OPTIONS = {
    "log": {"activated_rails": True, "llm_calls": True, "internal_events": True, "colang_history": True},
    "output_vars": True,
    "llm_output": True,
}


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Any:
    """Everything that any logger says, at every level."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield stream
    root.removeHandler(handler)
    root.setLevel(level)


async def test_streaming(logged: io.StringIO, capsys: pytest.CaptureFixture[str]) -> None:
    app = rails(FakeModel(BAD), verbose=True)
    items = await collect(app.stream_async(messages=request(), options=OPTIONS))
    assert len(items) == 2
    found = "\n".join([*items, everything(app.explain()), everything(app.events_history_cache), logged.getvalue()])
    printed = capsys.readouterr()
    assert "The hall opened in 1931." in printed.out  # the verbose log is there
    assert SECRET not in found + printed.out + printed.err


async def test_not_streaming(logged: io.StringIO, capsys: pytest.CaptureFixture[str]) -> None:
    app = rails(FakeModel(BAD), verbose=True)
    response = await app.generate_async(messages=request(), options=OPTIONS)
    found = "\n".join(
        [everything(response), everything(app.explain()), everything(app.events_history_cache), logged.getvalue()]
    )
    printed = capsys.readouterr()
    assert "value_unsupported" in found
    assert SECRET not in found + printed.out + printed.err


async def test_a_state_that_is_kept(logged: io.StringIO) -> None:
    app = rails(FakeModel(BAD))
    response = await app.generate_async(messages=request(), state={})
    assert SECRET not in everything(response) + logged.getvalue()


async def test_dialog_mode(logged: io.StringIO, capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    app = searching(DialogModel(f'  "{BAD}"'), tmp_path, colang=DIALOG, knowledge=KNOWLEDGE)
    app.verbose = True
    items = await collect(app.stream_async(messages=ASK, options=OPTIONS))
    response = await app.generate_async(messages=ASK, options=OPTIONS)
    assert items[0] == "The hall opened in 1931."
    found = [*items, everything(response), everything(app.explain()), everything(app.events_history_cache)]
    assert SECRET not in "\n".join([*found, logged.getvalue(), *capsys.readouterr()])


async def test_streams_of_ones_own(logged: io.StringIO, capsys: pytest.CaptureFixture[str]) -> None:
    async def pieces() -> Any:
        for start in range(0, len(BAD), 5):
            yield BAD[start : start + 5]

    app = rails(FakeModel(""), verbose=True)
    wrapped = await collect(app.stream_async(messages=request(), generator=gate_items(pieces())))
    unwrapped = await collect(app.stream_async(messages=request(), generator=pieces()))
    assert wrapped[0] == "The hall opened in 1931."
    found = [*wrapped, *unwrapped, everything(app.explain()), logged.getvalue(), *capsys.readouterr()]
    assert SECRET not in "\n".join(found)


async def test_a_passthrough_function(logged: io.StringIO, capsys: pytest.CaptureFixture[str]) -> None:
    async def answer(context: Any, events: Any) -> tuple[str, dict[str, str]]:
        return BAD, {"raw": BAD}

    app = rails(FakeModel(""), yaml="passthrough: True", verbose=True)
    app.passthrough_fn = answer
    items = await collect(app.stream_async(messages=request(), options=OPTIONS))
    response = await app.generate_async(messages=request(), options=OPTIONS)
    found = [*items, everything(response), everything(app.explain()), logged.getvalue(), *capsys.readouterr()]
    assert "value_unsupported" in "\n".join(found)
    assert SECRET not in "\n".join(found)


async def test_a_provider_error_that_quotes_the_answer(logged: io.StringIO, capsys: pytest.CaptureFixture[str]) -> None:
    error = RuntimeError(f"broke after: Late fees ended {SECRET}")
    app = rails(FakeModel(BAD, size=4, fail_after=10, error=error), verbose=True)
    items = await collect(app.stream_async(messages=request()))
    assert "generation_error" in items[-1]
    found = "\n".join([*items, everything(app.explain()), logged.getvalue(), *capsys.readouterr()])
    assert "broke off (RuntimeError)" in found
    assert SECRET not in found


async def test_what_the_reader_left_behind(logged: io.StringIO, capsys: pytest.CaptureFixture[str]) -> None:
    app = rails(FakeModel(BAD, size=1, stall_after=len(BAD) - 1), policy={"max_chars": 1000}, verbose=True)
    stream = app.stream_async(messages=request())
    await anext(stream)
    await stream.aclose()
    found = [everything(app.explain()), everything(app.events_history_cache), logged.getvalue(), *capsys.readouterr()]
    assert SECRET not in "\n".join(found)


TRACING = """
tracing:
  enabled: True
  enable_content_capture: True
  adapters: [{name: FileSystem, filepath: "%s"}]
"""


@pytest.mark.parametrize("format", ["opentelemetry", "legacy"])
@pytest.mark.parametrize("dialog", [False, True])
async def test_traces_with_content_capture(tmp_path: Any, dialog: bool, format: str) -> None:
    path = tmp_path / "traces.jsonl"
    yaml = TRACING % path + f"  span_format: {format}\n"
    if dialog:
        app = searching(DialogModel(f'"{BAD}"'), tmp_path, yaml=yaml, colang=DIALOG, knowledge=KNOWLEDGE)
    else:
        app = rails(FakeModel(BAD), yaml=yaml)
    messages = ASK if dialog else request()
    await collect(app.stream_async(messages=messages))
    await app.generate_async(messages=messages)
    written = path.read_text()
    assert format == "legacy" or written.count("gen_ai.content.completion") == (4 if dialog else 2)
    assert len(written.splitlines()) >= 2
    assert SECRET not in written


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Where all spans of a real tracer provider end up."""
    monkeypatch.delenv("OTEL_SDK_DISABLED", raising=False)
    trace = pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry import trace as api
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = trace.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(api, "get_tracer", lambda name, *a, **k: provider.get_tracer(name))
    return exporter


def sentence_spans(exporter: Any) -> list[Any]:
    return [s for s in exporter.get_finished_spans() if s.name == "sentence_gate.sentence"]


OTEL = "tracing: {enabled: True, enable_content_capture: True, adapters: [{name: OpenTelemetry}]}"


async def test_a_span_for_every_judged_sentence_without_its_text(exporter: Any) -> None:
    app = rails(FakeModel(BAD, delay=0.001), yaml=OTEL)
    await collect(app.stream_async(messages=request()))
    spans = sentence_spans(exporter)
    assert [s.attributes["sentence_gate.verdict"] for s in spans] == ["passed", "withheld"]
    assert list(spans[1].attributes["sentence_gate.codes"]) == ["value_unsupported"]
    assert spans[0].attributes["sentence_gate.cited"] == 1
    assert spans[0].end_time > spans[0].start_time
    everywhere = "\n".join(s.to_json() for s in exporter.get_finished_spans())
    assert "The hall opened in 1931." in everywhere
    assert SECRET not in everywhere
    assert not any("hall" in s.to_json() for s in spans)
    exporter.clear()
    await app.generate_async(messages=request())
    spans = sentence_spans(exporter)
    assert [s.attributes["sentence_gate.verdict"] for s in spans] == ["passed", "withheld"]
    assert SECRET not in "\n".join(s.to_json() for s in exporter.get_finished_spans())


async def test_spans_of_a_stream_of_ones_own_and_of_flagged_sentences(exporter: Any) -> None:
    async def pieces() -> Any:
        for start in range(0, len(BAD), 5):
            yield BAD[start : start + 5]

    app = rails(FakeModel(""), yaml=OTEL)
    await collect(app.stream_async(messages=request(), generator=gate_items(pieces())))
    assert [s.attributes["sentence_gate.verdict"] for s in sentence_spans(exporter)] == ["passed", "withheld"]
    assert sentence_spans(exporter)[1].attributes["sentence_gate.withheld_chars"] > 0
    exporter.clear()
    app = rails(FakeModel(BAD), yaml=OTEL, policy={"actions": {"value_unsupported": "flag"}})
    items = await collect(app.stream_async(messages=request()))
    spans = sentence_spans(exporter)
    assert len(spans) == len(items) == 42
    assert [list(s.attributes["sentence_gate.codes"]) for s in spans[:3]] == [[], ["value_unsupported"], []]
    assert SECRET in "".join(items)  # flagged, so shown
    assert SECRET not in "".join(s.to_json() for s in spans)
    assert [s.attributes["sentence_gate.number"] for s in spans] == list(range(1, 43))


async def test_no_spans_without_tracing(exporter: Any) -> None:
    await collect(rails(FakeModel(BAD)).stream_async(messages=request()))
    assert sentence_spans(exporter) == []
