"""The gate's settings in a NeMo configuration, and what a configuration must not say.

Both are checked while NeMo loads the folder (`init(app)` in config.py), not at the first stream.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nemoguardrails import InstrumentedLLMModel

from guardrails_plugins.adapters.nemo.errors import NemoConfigError
from guardrails_plugins.core.errors import GateError
from guardrails_plugins.core.languages.profile import load_profile, resolve_language
from guardrails_plugins.core.policy import GatePolicy

FLOW = "sentence gate"
"""Name of the flow, as it stands in ``rails.output.flows``."""

ACTION = "sentence_gate"
"""Name of the action that the flow executes."""

KEY = "sentence_gate"
"""Key under ``custom_data`` in config.yml that holds the settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NemoSettings:
    """`custom_data.sentence_gate` of a config.yml.

    `language`: tag of answers whose request names none. `policy`: keys of `GatePolicy`.
    `prompt`: whether the citation instructions and the numbered sources (`build_prompt`) are put
    before the model's prompt. `timeout_s`: seconds of provider silence after which a stream ends
    with an error; None waits. `tracing` is NeMo's own `tracing.enabled`, no setting of ours.
    """

    language: str = "en"
    policy: GatePolicy = field(default_factory=GatePolicy)
    prompt: bool = False
    timeout_s: float | None = None
    tracing: bool = False

    @classmethod
    def from_config(cls, config: Any) -> NemoSettings:
        """Read and check the settings. Raises `NemoConfigError` naming the key."""
        data = (config.custom_data or {}).get(KEY, {})
        data = {} if data is None else data
        if not isinstance(data, Mapping):
            raise NemoConfigError(f"custom_data.{KEY} must be a mapping of settings, not {type(data).__name__}")
        known = list(_READERS)
        for key in data:
            if key not in known:
                close = difflib.get_close_matches(str(key), known, n=1, cutoff=0.4)
                hint = f"did you mean {close[0]!r}? " if close else ""
                raise NemoConfigError(f"custom_data.{KEY}.{key} is no setting; {hint}known: {', '.join(known)}")
        tracing = bool(config.tracing and config.tracing.enabled)
        return cls(tracing=tracing, **{key: _READERS[key](value) for key, value in data.items()})


def _language(value: Any) -> str:
    try:
        return resolve_language(value)
    except GateError as error:
        raise NemoConfigError(f"custom_data.{KEY}.language: {error}") from None


def _policy(value: Any) -> GatePolicy:
    try:
        return GatePolicy.from_mapping({} if value is None else value)
    except (GateError, TypeError) as error:
        raise NemoConfigError(f"custom_data.{KEY}.policy: {error}") from None


def _prompt(value: Any) -> bool:
    if not isinstance(value, bool):
        raise NemoConfigError(f"custom_data.{KEY}.prompt must be true or false, not {value!r}")
    return value


def _timeout(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise NemoConfigError(f"custom_data.{KEY}.timeout_s must be a number of seconds above 0, not {value!r}")
    return float(value)


_READERS: dict[str, Callable[[Any], Any]] = {
    "language": _language,
    "policy": _policy,
    "prompt": _prompt,
    "timeout_s": _timeout,
}


def check_config(config: Any) -> None:
    """Refuse a configuration with which the gate would not hold. Raises `NemoConfigError`."""
    if config.colang_version != "1.0":
        # Colang 2 calls the action from a flow of the user's; streams are refused per call.
        if config.tracing and config.tracing.enabled and config.tracing.enable_content_capture:
            raise NemoConfigError(
                "set tracing.enable_content_capture to False: with Colang 2 NeMo records what the model "
                "wrote before a flow hands it to the gate"
            )
        return
    output = config.rails.output
    listed = output.flows.count(FLOW)
    if listed != 1:
        what = "is missing" if not listed else f"stands there {listed} times"
        raise NemoConfigError(
            f"the sentence gate is installed but its flow {what}: list it once as "
            f"'- {FLOW}' under rails.output.flows in config.yml"
        )
    if output.parallel:
        raise NemoConfigError("set rails.output.parallel to False: NeMo shows text whose parallel rails broke")
    streaming = output.streaming
    for key, wanted, why in (
        ("enabled", True, "without it stream_async and a streaming server refuse every request"),
        ("stream_first", False, "with it NeMo shows text before it is judged"),
        ("chunk_size", 1, "an item is one judged sentence, and it is shown as soon as it passes"),
        ("context_size", 0, "an item is judged once, alone"),
    ):
        found = getattr(streaming, key)
        if found != wanted or isinstance(found, bool) != isinstance(wanted, bool):
            raise NemoConfigError(f"set rails.output.streaming.{key} to {wanted} (it is {found!r}): {why}")
    if config.rails.dialog.single_call.enabled:
        raise NemoConfigError(
            "set rails.dialog.single_call.enabled to False: "
            "in that mode the model's answer reaches NeMo mixed with intent lines"
        )


def check_model(model: Any) -> None:
    """Refuse a model that records text before the gate has read it. Raises `NemoConfigError`."""
    while model is not None and not isinstance(model, str):
        if isinstance(model, InstrumentedLLMModel) and model._content_capture_enabled:
            raise NemoConfigError(
                "set content_capture_enabled=False on the InstrumentedLLMModel given as llm: "
                "its spans would hold the model's text before it is judged"
            )
        model = getattr(model, "wrapped_model", None)


def fixed_texts(config: Any) -> frozenset[str]:
    """Texts that NeMo says by itself: the predefined bot messages, and what it says to an empty answer."""
    messages = [text for texts in (config.bot_messages or {}).values() for text in texts]
    return frozenset((*messages, "I'm not sure what to say."))


def notices(language: str, policy: GatePolicy) -> dict[str, str]:
    """The fixed texts for the reader by name (withheld, refused, truncated, error)."""
    of_language = load_profile(resolve_language(language)).notices
    names = ("withheld", "refused", "truncated", "error")
    return {name: policy.notices.get(name) or getattr(of_language, name) for name in names}
