"""Guardrails AI: its own streaming for each `on_fail`, and our validator."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from guardrails import AsyncGuard, Guard, settings
from guardrails.errors import ValidationError
from guardrails.validators import FailResult, PassResult, ValidationResult, Validator, register_validator

from guardrails_plugins.adapters.guardrails_ai import (
    SentenceGateValidator,
    async_sentence_stream,
    gate_report,
    sentence_stream,
)
from guardrails_plugins.compare.recorded import Recorded
from guardrails_plugins.compare.seen import Watch
from guardrails_plugins.compare.strategies import REAL, Checker, Strategy, asynchronous, watched

KINDS = ("exception", "fix", "filter", "refrain", "noop")
GATED_KINDS = ("exception", "fix", "filter", "refrain")

settings.disable_tracing = True


@register_validator(name="sentence-gate/compare-same-check", data_type="string")
class SameCheck(Validator):  # type: ignore[misc]  # the framework's base is untyped here
    """The gate's checks on what Guardrails' own sentence chunker hands over."""

    checker: Checker

    def _validate(self, value: Any, metadata: dict[str, Any]) -> ValidationResult:
        del metadata
        if self.checker.blocks(value):
            return FailResult(error_message="same check", fix_value="")
        return PassResult()


def _validator(watch: Watch, on_fail: str) -> SameCheck:
    validator = SameCheck(on_fail=on_fail)
    validator.checker = Checker(watch)
    return validator


def _note(watch: Watch, guard: Any, outcome: Any, *, gated: bool) -> None:
    """Show an outcome's text, the fixed notice apart: that is the gate's and not the model's."""
    text = str(outcome.validated_output or "")
    notice = gate_report(guard, outcome).notice if gated else None
    if notice and text.strip() == notice:
        watch.stop(notice)
    else:
        watch.show(text)


def _finish(watch: Watch, guard: Any, *, gated: bool) -> None:
    if gated and not gate_report(guard).passed:
        watch.verdict()
        watch.stop()


def _failed(watch: Watch, error: Exception) -> None:
    if isinstance(error, ValidationError):
        watch.verdict()
        watch.stop()
    else:
        watch.error = type(error).__name__


def _read(watch: Watch, guard: Guard, llm: Any, *, gated: bool) -> None:
    recorded = watch.model.recorded
    messages = [{"role": "user", "content": recorded.question or "?"}]
    try:
        for outcome in guard(llm, messages=messages, metadata={"sources": list(recorded.sources)}, stream=True):
            _note(watch, guard, outcome, gated=gated)
        _finish(watch, guard, gated=gated)
    except Exception as error:
        _failed(watch, error)


async def _read_async(watch: Watch, guard: AsyncGuard, llm: Any, *, gated: bool) -> None:
    recorded = watch.model.recorded
    messages = [{"role": "user", "content": recorded.question or "?"}]
    metadata = {"sources": list(recorded.sources)}
    try:
        async for outcome in await guard(llm, messages=messages, metadata=metadata, stream=True):
            _note(watch, guard, outcome, gated=gated)
        _finish(watch, guard, gated=gated)
    except Exception as error:
        _failed(watch, error)


def _sync(recorded: Recorded, on_fail: str, *, gated: bool) -> Watch:
    watch = watched(recorded)

    def llm(*, messages: Any = None, **_: Any) -> Iterator[str]:
        del messages
        return watch.model.stream()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if gated:
            guard = Guard().use(SentenceGateValidator(language=recorded.language, on_fail=on_fail))
            _read(watch, guard, sentence_stream(llm), gated=True)
        else:
            _read(watch, Guard().use(_validator(watch, on_fail)), llm, gated=False)
    _end(watch)
    return watch


def _end(watch: Watch) -> None:
    """A model that nobody closed goes on to its end: what it would have written is counted."""
    model = watch.model
    if model.ended is None:
        model.written = len(model.recorded.pieces())
        model.ended = float("inf")


def _async(recorded: Recorded, on_fail: str, *, gated: bool) -> Watch:
    async def read(watch: Watch) -> None:
        async def llm(*, messages: Any = None, **_: Any) -> Any:
            del messages
            return watch.model.astream() if gated else _Envelope(watch.model.astream())

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if gated:
                guard = AsyncGuard().use(SentenceGateValidator(language=recorded.language, on_fail=on_fail))
                await _read_async(watch, guard, async_sentence_stream(llm), gated=True)
            else:
                await _read_async(watch, AsyncGuard().use(_validator(watch, on_fail)), llm, gated=False)

    watch = asynchronous(recorded, read)
    _end(watch)
    return watch


class _Envelope:
    """What an AsyncGuard asks of a streaming callable: the stream under this name."""

    def __init__(self, stream: Any) -> None:
        self.completion_stream = stream


def strategies() -> Iterator[Strategy]:
    """Each `on_fail` with the stock chunker, sync and async, and the gate in Guardrails AI."""
    ways: tuple[tuple[str, Callable[..., Watch]], ...] = (("sync", _sync), ("async", _async))
    for way, function in ways:
        for kind in KINDS:
            yield Strategy(
                f"Guardrails AI {kind}, {way}",
                REAL,
                "guardrails",
                "guardrails Guard(stream=True)" if way == "sync" else "guardrails AsyncGuard(stream=True)",
                partial(function, on_fail=kind, gated=False),
            )
    for way, function in ways:
        for kind in GATED_KINDS:
            yield Strategy(
                f"Guardrails AI with the gate, {kind}, {way}",
                REAL,
                "gate",
                "guardrails_plugins.adapters.guardrails_ai",
                partial(function, on_fail=kind, gated=True),
            )
