"""`SentenceGateValidator`: what Guardrails asks, answered by the gate."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from guardrails.types.on_fail import OnFailAction
from guardrails.validator_base import Validator, register_validator
from guardrails_ai.types import ValidationResult

from guardrails_plugins.adapters.guardrails_ai.bare import BareStream, BareStreams
from guardrails_plugins.adapters.guardrails_ai.correction import fail_frame
from guardrails_plugins.adapters.guardrails_ai.errors import StreamingKindError, UnboundStreamError
from guardrails_plugins.adapters.guardrails_ai.kinds import REASKS, read_on_fail
from guardrails_plugins.adapters.guardrails_ai.metadata import SOURCES, check_shape, metadata_of_caller, read_request
from guardrails_plugins.adapters.guardrails_ai.results import passed
from guardrails_plugins.adapters.guardrails_ai.saving import read_policy, saved_policy, saved_sources
from guardrails_plugins.adapters.guardrails_ai.server import show_in_completion, show_in_frame, shown_by
from guardrails_plugins.adapters.guardrails_ai.session import Frame, Settings
from guardrails_plugins.adapters.guardrails_ai.whole import judge_whole
from guardrails_plugins.core.languages.profile import resolve_language
from guardrails_plugins.core.policy import GatePolicy
from guardrails_plugins.core.sources import SourceIndex

RAIL_ALIAS = "sentence-gate/sentence_gate"


@register_validator(name=RAIL_ALIAS, data_type="string")
class SentenceGateValidator(Validator):  # type: ignore[misc]
    """Lets a sentence pass only when the sources that it cites state what it states.

    `language` is the BCP 47 tag that answers are asked for in, unless `metadata["language"]` says
    otherwise. `policy` is a `GatePolicy`, a mapping of its keys or the path of a TOML file.
    `on_fail`: see `OUTCOME_TABLE`. `sources` stand in where a call's metadata has none. `kind` is
    written by `to_dict` only. Raises `MetadataError`, `PolicyError`, `SourceError` or
    `LanguageError` at once for what is wrong. One instance serves any number of streams.
    """

    override_value_on_pass = True

    def __init__(
        self,
        language: str = "en",
        policy: GatePolicy | Mapping[str, Any] | str | os.PathLike[str] | None = None,
        on_fail: Any = "exception",
        *,
        sources: Any = None,
        kind: str | None = None,
        **kwargs: Any,
    ) -> None:
        resolve_language(language)
        if sources is not None:
            check_shape(sources)
            sources = sources if isinstance(sources, SourceIndex) else tuple(sources)
        found, correction = read_on_fail(on_fail, kind)
        self.settings = Settings(found, read_policy(policy), correction)
        self.language = language
        self.sources = sources
        self._streams = BareStreams()
        super().__init__(on_fail=OnFailAction.FIX, use_local=True, **kwargs)
        self._kwargs = {"language": language, "kind": found.value, **kwargs}
        saved = saved_policy(self.settings.policy)
        if saved:
            self._kwargs["policy"] = saved

    def get_args(self) -> dict[str, Any]:
        """What `to_dict` saves: the arguments, `sources` as mappings among them.

        They are not among those that Guardrails writes into each span.
        """
        if self.sources is None:
            return dict(self._kwargs)
        return {**self._kwargs, SOURCES: saved_sources(self.sources)}

    @property
    def required_metadata_keys(self) -> list[str]:
        """The keys that a call's metadata must have; wrong values raise here, before the model is called."""
        metadata = metadata_of_caller()
        if metadata is not None and (self.sources is not None or SOURCES in metadata):
            read_request(metadata, sources=self.sources, language=self.language)
        return [] if self.sources is not None else [SOURCES]

    def _validate(self, value: Any, metadata: dict[str, Any]) -> ValidationResult:
        """Judge a whole text. A value of None (an absent field) passes; another type raises `FrameError`."""
        if value is None:
            return passed(None)
        request = read_request(metadata, sources=self.sources, language=self.language)
        return judge_whole(value, request, self.settings)

    async def async_validate(self, value: Any, metadata: dict[str, Any]) -> ValidationResult:
        """The same; judging takes microseconds, so no thread is used."""
        result = self.validate(value, metadata)
        if isinstance(value, str):
            show_in_completion(value, shown_by(result))
        return result

    def validate_stream(self, chunk: Any, metadata: dict[str, Any], **kwargs: Any) -> ValidationResult | None:
        """Answer for one item of a stream: a frame of ours, or raw text of a bare callable."""
        if isinstance(chunk, Frame):
            try:
                return self._frame(chunk, metadata)
            except BaseException:
                # Whoever holds the traceback would hold the stream open.
                stream = chunk.session.stream()
                if stream is not None:
                    stream.close()
                raise
        self._refuse_reask()
        result = self._bare(chunk, metadata, last=bool(kwargs.get("remainder")))
        show_in_frame(shown_by(result))
        return result

    async def async_validate_stream(
        self, chunk: Any, metadata: dict[str, Any], **kwargs: Any
    ) -> ValidationResult | None:
        """The same under an AsyncGuard, which never says that a stream has ended: bare callables are refused."""
        if isinstance(chunk, Frame):
            context, watcher = kwargs.get("context"), chunk.session.watcher
            try:
                result = self._frame(chunk, metadata)
            except BaseException:
                stream = chunk.session.stream()
                if stream is not None:
                    await stream.aclose()
                raise
            if watcher is not None and context is not None and chunk is chunk.session.opening:
                watcher(context)
            return result
        self._refuse_reask()
        raise UnboundStreamError(
            "an AsyncGuard never says when a stream ends, so the last sentence would be lost: "
            "call it with async_sentence_stream(llm), which also takes a model name"
        )

    def _frame(self, frame: Frame, metadata: dict[str, Any]) -> ValidationResult:
        session = frame.session
        if frame is session.opening:
            self._refuse_reask()
            session.bind(self, self.settings, read_request(metadata, sources=self.sources, language=self.language))
            return passed("")
        if frame.failure is None:
            return passed(str(frame))
        return fail_frame(frame, frame.failure, self.settings)

    def _bare(self, chunk: str, metadata: dict[str, Any], *, last: bool) -> ValidationResult | None:
        def begun() -> BareStream:
            request = read_request(metadata, sources=self.sources, language=self.language)
            return BareStream(request, self.settings)

        return self._streams.of_caller(begun).take(chunk, last=last)

    def _refuse_reask(self) -> None:
        if self.settings.kind in REASKS:
            raise StreamingKindError(
                f"on_fail={self.settings.kind.value!r} cannot ask again once text is shown: "
                "call the guard without stream=True"
            )
