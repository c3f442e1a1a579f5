"""`UsageMeter`: what was generated counts, reported and estimated told apart (SPEC section 6)."""

from __future__ import annotations

import pytest

from guardrails_plugins import UsageMeter
from guardrails_plugins.core.errors import ArgumentError, GateError


def test_text_that_arrived_is_estimated_at_a_token_a_byte() -> None:
    meter = UsageMeter()
    meter.on_prompt("ask")
    meter.on_text("é")
    meter.on_reasoning("a")
    usage = meter.result()
    assert (usage.input_estimated, usage.output_estimated) == (3, 3)
    assert (usage.input_tokens, usage.output_tokens) == (3, 3)
    assert usage.hidden_reasoning  # reasoning that never came as text cannot be counted: the result says so


def test_a_lone_surrogate_is_counted_and_breaks_nothing() -> None:
    meter = UsageMeter()
    meter.on_text("\ud800")
    assert meter.result().output_estimated == 3


@pytest.mark.parametrize("text", [None, b"bytes", 5])
def test_only_text_is_counted(text: object) -> None:
    meter = UsageMeter()
    for count in (meter.on_prompt, meter.on_text, meter.on_reasoning):
        with pytest.raises(ArgumentError, match="text"):
            count(text)  # type: ignore[arg-type]
    assert meter.result().input_tokens == meter.result().output_tokens == 0


def test_a_report_stands_and_only_text_after_it_is_estimated() -> None:
    meter = UsageMeter()
    meter.on_prompt("a long question")
    meter.on_text("before")
    meter.report(input_tokens=4, output_tokens=2, reasoning_tokens=1)
    meter.on_text("after")
    usage = meter.result()
    assert (usage.input_reported, usage.input_estimated) == (4, 0)
    assert (usage.output_reported, usage.output_estimated, usage.reasoning_reported) == (2, 5, 1)
    assert usage.output_tokens == 7


def test_a_full_report_leaves_no_doubt_about_reasoning() -> None:
    meter = UsageMeter()
    meter.on_text("text")
    meter.report(output_tokens=9)
    assert not meter.result().hidden_reasoning


@pytest.mark.parametrize("figures", [{"input_tokens": -1}, {"output_tokens": 1.5}, {"reasoning_tokens": True}])
def test_a_figure_that_is_none_is_refused_and_changes_nothing(figures: dict[str, object]) -> None:
    meter = UsageMeter()
    meter.report(input_tokens=3)
    with pytest.raises(GateError, match="whole number"):
        meter.report(**figures)  # type: ignore[arg-type]
    assert meter.result().input_reported == 3
