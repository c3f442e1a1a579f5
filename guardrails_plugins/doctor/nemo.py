"""A NeMo folder: its rails, with a probing rail beside them, against a scripted model."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from nemoguardrails import LLMRails, RailsConfig
from nemoguardrails.actions.rail_outcome import RailOutcome
from nemoguardrails.types import LLMResponse, LLMResponseChunk

from guardrails_plugins.core.citations import strip_markers
from guardrails_plugins.core.errors import GateError
from guardrails_plugins.doctor.findings import CANARIES, CLEAN, SOURCE, Finding, Harm, Seen, leaked, violating

PIECE_CHARS = 4
PIECE_SECONDS = 0.001
PROBE_YAML = "models: []\nrails:\n  output:\n    flows: [doctor probe]\n"
PROBE_COLANG = """
define subflow doctor probe
  $verdict = execute doctor_probe
  if $verdict.is_blocked
    bot refuse to respond
    stop
"""
STREAM_FIRST = "rails.output.streaming.stream_first: False"


class FolderError(GateError):
    """The folder is no NeMo configuration; the message says why."""


class ScriptedModel:
    """Writes one answer in pieces; says "no" to a rail that asks it whether to block."""

    model_name = "scripted"
    provider_name: str | None = None
    provider_url: str | None = None

    def __init__(self, answer: str, seen: Seen) -> None:
        self._answer, self._seen = answer, seen

    async def generate_async(self, prompt: Any, *, stop: Any = None, **_: Any) -> LLMResponse:
        """What a rail with a model is told."""
        return LLMResponse(content="no")

    async def stream_async(self, prompt: Any, *, stop: Any = None, **_: Any) -> AsyncIterator[LLMResponseChunk]:
        """The answer."""
        for at in range(0, len(self._answer), PIECE_CHARS):
            await asyncio.sleep(PIECE_SECONDS)
            self._seen.written += 1
            yield LLMResponseChunk(delta_content=self._answer[at : at + PIECE_CHARS])


def examine(folder: Path) -> list[Finding]:
    """Everything that is found of a folder, worst first. Raises `FolderError` when it does not load."""
    config = _load(folder)
    streaming = config.rails.output.streaming
    if config.colang_version != "1.0":
        return [Finding(Harm.NOT_RUN, f"Colang {config.colang_version} does not stream output rails", "use Colang 1.0")]
    if config.rails.output.flows and not streaming.enabled:
        return [
            Finding(
                Harm.NO_STREAMING,
                "output rails are configured and streaming of them is off",
                "rails.output.streaming.enabled: True (with stream_first: False)",
            )
        ]
    found: list[Finding] = []
    clean = _run(folder, CLEAN, probe="pass")
    if clean.error is not None:
        return [Finding(Harm.NOT_RUN, clean.error, "mend what the message names, then run the doctor again")]
    if strip_markers(clean.text) != strip_markers(CLEAN):
        why = "was blocked" if clean.blocked else f"came as {len(clean.text)} of {len(CLEAN)} characters"
        found.append(Finding(Harm.LOSES_TEXT, f"a good answer {why}", "look at the rail that blocks or rewrites it"))
    found += _blocking(folder, streaming)
    broken = _run(folder, violating(CANARIES[0]), probe="raise")
    if CANARIES[0] in broken.text:
        change = STREAM_FIRST if streaming.stream_first else "make the action return a block when it fails"
        found.append(Finding(Harm.FAILS_OPEN, "a check raised, and the sentence it was to judge was shown", change))
    found += _mixing(folder)
    return sorted(found, key=lambda f: f.harm)


def _blocking(folder: Path, streaming: Any) -> list[Finding]:
    seen = _run(folder, violating(CANARIES[0]), probe="block")
    count = leaked(strip_markers(seen.text), CANARIES[0])
    found = []
    if count:
        whole = ", its number among them" if CANARIES[0] in seen.text else ""
        if streaming.stream_first:
            change = STREAM_FIRST
        else:
            change = "chunks end inside sentences: use the folder of `sentence-gate init nemo DIR`"
        found.append(Finding(Harm.SHOWS_FIRST, f"{count} characters of a blocked sentence were seen{whole}", change))
    if seen.pieces_after > 4:
        found.append(
            Finding(
                Harm.READS_ON,
                f"the model wrote {seen.pieces_after} more pieces after the block",
                "only closing the provider's stream stops it: the folder of `sentence-gate init nemo DIR` does",
            )
        )
    return found


def _mixing(folder: Path) -> list[Finding]:
    seen = [Seen() for _ in CANARIES]

    async def both() -> None:
        await asyncio.gather(
            *(_stream(_rails(folder, violating(c), s, "pass"), s) for c, s in zip(CANARIES, seen, strict=True))
        )

    asyncio.run(both())
    crossed = CANARIES[1] in seen[0].text or CANARIES[0] in seen[1].text
    change = "keep state in the request's context, not in the module"
    return [Finding(Harm.MIXES_CALLERS, "one caller saw another's text", change)] if crossed else []


def _run(folder: Path, answer: str, *, probe: str) -> Seen:
    seen = Seen()
    try:
        rails = _rails(folder, answer, seen, probe)
        asyncio.run(_whole(rails, seen))
    except Exception as error:
        seen.error = f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
    return seen


async def _whole(rails: LLMRails, seen: Seen) -> None:
    """The stream, and then what is still running: a model that is read on after a block is read to its end."""
    await _stream(rails, seen)
    rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    if rest:
        await asyncio.wait(rest, timeout=30)


async def _stream(rails: LLMRails, seen: Seen) -> None:
    context = {"sources": [SOURCE], "language": "en"}
    messages = [{"role": "context", "content": context}, {"role": "user", "content": "Tell of the library."}]
    async for item in rails.stream_async(messages=messages):
        if isinstance(item, str) and item.startswith('{"error"'):
            error = json.loads(item)["error"]
            if error.get("type") != "guardrails_violation":
                seen.error = str(error.get("message"))[:200]
                continue
            seen.blocked = True
            if seen.verdict_at_piece is None:
                seen.verdict_at_piece = seen.written
        elif isinstance(item, str):
            seen.text += item


def _rails(folder: Path, answer: str, seen: Seen, probe: str) -> LLMRails:
    config = _load(folder)
    if probe != "pass":
        added = RailsConfig.from_content(yaml_content=PROBE_YAML, colang_content=PROBE_COLANG)
        config.flows = [*config.flows, *added.flows]
        config.rails.output.flows = [*config.rails.output.flows, "doctor probe"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rails = LLMRails(config, llm=ScriptedModel(answer, seen))

    async def doctor_probe(context: dict[str, Any], **_: Any) -> RailOutcome:
        if not any(canary[:4] in (context.get("bot_message") or "") for canary in CANARIES):
            return RailOutcome.allow()
        if probe == "raise":
            raise RuntimeError("the doctor's check breaks on purpose")
        if seen.verdict_at_piece is None:
            seen.verdict_at_piece = seen.written
        return RailOutcome.block(reason="doctor")

    if probe != "pass":
        rails.register_action(doctor_probe, "doctor_probe")
    return rails


def _load(folder: Path) -> RailsConfig:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return RailsConfig.from_path(str(folder))
    except Exception as error:
        told = str(error).splitlines()[0][:200] if str(error) else ""
        raise FolderError(f"{folder} does not load as a NeMo configuration: {type(error).__name__}: {told}") from None
