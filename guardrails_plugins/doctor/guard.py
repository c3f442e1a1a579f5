"""A Guardrails AI guard: its kinds of `on_fail`, each probed with Guardrails' own streaming; ours as it is used."""

from __future__ import annotations

import asyncio
import importlib
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from guardrails import AsyncGuard, Guard, settings
from guardrails.errors import ValidationError
from guardrails.validators import FailResult, PassResult, ValidationResult, Validator, register_validator

from guardrails_plugins.adapters.guardrails_ai import SentenceGateValidator, async_sentence_stream, sentence_stream
from guardrails_plugins.core.citations import strip_markers
from guardrails_plugins.core.errors import GateError
from guardrails_plugins.doctor.findings import CANARIES, CLEAN, SOURCE, Finding, Harm, Seen, leaked, violating

PIECE_CHARS = 4
OURS = "wrap the model: guard(sentence_stream(llm), ...), with SentenceGateValidator(on_fail={kind!r})"

settings.disable_tracing = True


class GuardError(GateError):
    """What was named is no guard; the message says what would be one."""


@register_validator(name="sentence-gate/doctor-probe", data_type="string")
class Probe(Validator):  # type: ignore[misc]  # the framework's base is untyped here
    """Fails, or breaks, on what holds a canary."""

    seen: Seen
    breaks: bool

    def _validate(self, value: Any, metadata: dict[str, Any]) -> ValidationResult:
        del metadata
        if not any(canary in str(value) for canary in CANARIES):
            return PassResult()
        if self.breaks:
            raise RuntimeError("the doctor's check breaks on purpose")
        if self.seen.verdict_at_piece is None:
            self.seen.verdict_at_piece = self.seen.written
        return FailResult(error_message="doctor", fix_value="")


def load(name: str) -> Any:
    """The guard of ``MODULE:NAME``. Raises `GuardError`."""
    module_name, _, attribute = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise GuardError(f"{module_name} cannot be imported: {type(error).__name__}: {error}") from None
    finally:
        sys.path.pop(0)
    guard = getattr(module, attribute, None)
    if not isinstance(guard, (Guard, AsyncGuard)):
        kind = type(guard).__name__ if hasattr(module, attribute) else "not there"
        raise GuardError(f"{name} is {kind}; name a Guard or AsyncGuard, as in app.guards:guard")
    return guard


def examine(guard: Any) -> list[Finding]:
    """Everything that is found of a guard, worst first."""
    validators = list(guard._validators)  # `guard.validators` holds only their descriptions
    ours = any(isinstance(v, SentenceGateValidator) for v in validators)
    kinds = sorted({_kind(v) for v in validators if not isinstance(v, SentenceGateValidator)}) or ["exception"]
    found: list[Finding] = []
    if ours:
        found += _gated(guard)
    else:
        for kind in kinds:
            found += _stock(type(guard), kind)
    worst: dict[tuple[Harm, str], Finding] = {}
    for finding in found:
        worst.setdefault((finding.harm, finding.seen), finding)
    return sorted(worst.values(), key=lambda f: f.harm)


def _kind(validator: Any) -> str:
    descriptor = validator.on_fail_descriptor
    return str(getattr(descriptor, "value", descriptor) or "exception")


def _stock(guard_type: type, kind: str) -> list[Finding]:
    """Guardrails' own streaming with this kind, a probe in place of the user's check."""
    change = OURS.format(kind=kind if kind in ("exception", "fix", "filter", "refrain", "noop") else "exception")
    found = []
    clean = _run(guard_type, kind, CLEAN, breaks=False)
    if strip_markers(clean.text) != strip_markers(CLEAN):
        lost = len(CLEAN) - len(clean.text)
        seen = f"on_fail={kind!r}: a good answer came with {lost} characters missing or changed"
        found.append(Finding(Harm.LOSES_TEXT, seen, change))
    bad = _run(guard_type, kind, violating(CANARIES[0]), breaks=False)
    count = leaked(strip_markers(bad.text), CANARIES[0])
    if count and kind != "noop":
        whole = ", its number among them" if CANARIES[0] in bad.text else ""
        seen = f"on_fail={kind!r}: {count} characters of a blocked sentence were seen{whole}"
        found.append(Finding(Harm.SHOWS_FIRST, seen, change))
    if bad.error is not None:
        found.append(Finding(Harm.NOT_RUN, f"on_fail={kind!r}: the stream ended with {bad.error}", change))
    if bad.pieces_after > 4 and kind != "noop":
        seen = f"on_fail={kind!r}: the model wrote {bad.pieces_after} more pieces after the verdict"
        found.append(Finding(Harm.READS_ON, seen, change))
    broken = _run(guard_type, kind, violating(CANARIES[0]), breaks=True)
    if CANARIES[0] in broken.text:
        seen = f"on_fail={kind!r}: a check raised, and the sentence it was to judge was shown"
        found.append(Finding(Harm.FAILS_OPEN, seen, change))
    return found + _mixing(guard_type, kind, change)


def _mixing(guard_type: type, kind: str, change: str) -> list[Finding]:
    """One guard, a stream that broke off, and the next caller."""
    first, second = Seen(), Seen()
    guard = guard_type().use(_probe(second, kind, breaks=False))
    secret = f"The secret number is {CANARIES[1]} and it goes"
    _read(guard, _model(secret, first, fail=True), first)
    _read(guard, _model(CLEAN, second), second)
    if CANARIES[1] not in second.text:
        return []
    return [
        Finding(Harm.MIXES_CALLERS, f"on_fail={kind!r}: the next caller saw what was held of a broken stream", change)
    ]


def _gated(guard: Any) -> list[Finding]:
    """A guard with our validator, used as it is meant to be: over `sentence_stream`."""
    wrap = async_sentence_stream if isinstance(guard, AsyncGuard) else sentence_stream
    found = []
    clean, bad = Seen(), Seen()
    _read(guard, wrap(_model(CLEAN, clean, asynchronous=isinstance(guard, AsyncGuard))), clean)
    if clean.error is not None:
        return [Finding(Harm.NOT_RUN, clean.error, "mend what the message names, then run the doctor again")]
    if clean.text != strip_markers(CLEAN):
        found.append(Finding(Harm.LOSES_TEXT, "a good answer was changed", "look at the validators beside the gate"))
    _read(guard, wrap(_model(violating(CANARIES[0]), bad, asynchronous=isinstance(guard, AsyncGuard))), bad)
    count = leaked(bad.text, CANARIES[0])
    if count:
        seen = f"{count} characters of a blocked sentence were seen"
        found.append(Finding(Harm.SHOWS_FIRST, seen, "use another on_fail than noop once the trial is over"))
    return found


def _probe(seen: Seen, kind: str, *, breaks: bool) -> Probe:
    probe = Probe(on_fail=kind if kind != "custom" else "exception")
    probe.seen, probe.breaks = seen, breaks
    return probe


def _run(guard_type: type, kind: str, answer: str, *, breaks: bool) -> Seen:
    seen = Seen()
    try:
        guard = guard_type().use(_probe(seen, kind, breaks=breaks))
        _read(guard, _model(answer, seen, asynchronous=guard_type is AsyncGuard), seen)
    except Exception as error:
        seen.error = type(error).__name__
    if seen.verdict_at_piece is not None and seen.blocked is False and seen.error is None:
        seen.written = max(seen.written, seen.verdict_at_piece)
    return seen


def _model(answer: str, seen: Seen, *, asynchronous: bool = False, fail: bool = False) -> Any:
    pieces = [answer[at : at + PIECE_CHARS] for at in range(0, len(answer), PIECE_CHARS)]

    def stream() -> Iterator[str]:
        for piece in pieces:
            seen.written += 1
            yield piece
        if fail:
            raise ConnectionError("the line broke")

    def llm(*, messages: Any = None, **_: Any) -> Iterator[str]:
        del messages
        return stream()

    async def astream() -> Any:
        for piece in pieces:
            await asyncio.sleep(0)
            seen.written += 1
            yield piece

    class Envelope:
        completion_stream: Any = None

        def __aiter__(self) -> Any:
            return self.completion_stream.__aiter__()

    async def allm(*, messages: Any = None, **_: Any) -> Any:
        del messages
        envelope = Envelope()
        envelope.completion_stream = astream()
        return envelope

    return allm if asynchronous else llm


def _read(guard: Any, llm: Any, seen: Seen) -> None:
    call = {"messages": [{"role": "user", "content": "Tell of the library."}], "metadata": {"sources": [SOURCE]}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if isinstance(guard, AsyncGuard):
                asyncio.run(_read_async(guard, llm, call, seen))
            else:
                for outcome in guard(llm, stream=True, **call):
                    seen.text += str(outcome.validated_output or "")
        except ValidationError:
            seen.blocked = True
        except ConnectionError:
            pass
        except Exception as error:
            seen.error = type(error).__name__


async def _read_async(guard: Any, llm: Any, call: dict[str, Any], seen: Seen) -> None:
    async for outcome in await guard(llm, stream=True, **call):
        seen.text += str(outcome.validated_output or "")
