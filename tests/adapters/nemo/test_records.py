"""A blocked sentence is nowhere in NeMo: results, explain, history, traces, verbose logs."""

from __future__ import annotations

import io
import logging
from typing import Any

import pytest

pytest.importorskip("nemoguardrails")

from .support import BAD, SECRET, FakeModel, collect, everything, rails, request

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
    assert "The hall opened in 1931." in found
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


TRACING = """
tracing:
  enabled: True
  enable_content_capture: True
  adapters: [{name: FileSystem, filepath: "%s"}]
"""


async def test_traces_with_content_capture(tmp_path: Any) -> None:
    path = tmp_path / "traces.jsonl"
    app = rails(FakeModel(BAD), yaml=TRACING % path)
    await collect(app.stream_async(messages=request()))
    await app.generate_async(messages=request())
    written = path.read_text()
    assert written.count("gen_ai.content.completion") == 2
    assert SECRET not in written


async def test_a_span_for_every_judged_sentence_without_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_SDK_DISABLED", raising=False)
    trace = pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry import trace as api
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = trace.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(api, "get_tracer", lambda name, *a, **k: provider.get_tracer(name))
    yaml = "tracing: {enabled: True, enable_content_capture: True, adapters: [{name: OpenTelemetry}]}"
    app = rails(FakeModel(BAD, delay=0.001), yaml=yaml)
    await collect(app.stream_async(messages=request()))
    spans = [s for s in exporter.get_finished_spans() if s.name == "sentence_gate.sentence"]
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
    spans = [s for s in exporter.get_finished_spans() if s.name == "sentence_gate.sentence"]
    assert [s.attributes["sentence_gate.verdict"] for s in spans] == ["passed", "withheld"]
    assert SECRET not in "\n".join(s.to_json() for s in exporter.get_finished_spans())
