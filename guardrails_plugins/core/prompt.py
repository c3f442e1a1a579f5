"""`build_prompt`: the instructions without which a model leaves many sentences unmarked."""

from __future__ import annotations

from collections.abc import Iterable

import regex

from guardrails_plugins.core.citations import marker_style
from guardrails_plugins.core.errors import PolicyError
from guardrails_plugins.core.languages.profile import load_profile
from guardrails_plugins.core.policy import GatePolicy
from guardrails_plugins.core.sources import Source, SourceIndex

_UNSEEN = r"[\s\p{Cf}]*+"
_NAME = r"\p{Cf}*+".join(f"[{letter}{chr(ord(letter) + 0xFEE0)}]" for letter in "source")
_TAG = regex.compile(rf"[<＜﹤](?={_UNSEEN}[/／]?{_UNSEEN}{_NAME}\b)", regex.IGNORECASE)
"""What a reader takes for our tag: also with blanks, invisible characters or full-width forms in it."""
_BRACKETED = regex.compile(r"[\[［【〔⟦]([^\[\]［］【】〔〕⟦⟧\n]{0,40}\p{Nd}[^\[\]［］【】〔〕⟦⟧\n]{0,40})[\]］】〕⟧]")


def build_prompt(
    sources: Iterable[str | Source] | SourceIndex, *, language: str = "en", policy: GatePolicy | None = None
) -> str:
    """The system prompt for an answer over `sources` in a language (a BCP 47 tag).

    Asks for: answers from the numbered sources only, a marker in every sentence that states a
    fact, the third person, and the refusal token alone when the sources do not answer. Each
    source stands between its own tags; tags and markers inside its text are written
    differently, so that it can pose neither as another source nor as a citation.
    Raises `SourceError`, `LanguageError` or `PolicyError`.
    """
    policy = GatePolicy() if policy is None else policy
    if not isinstance(policy, GatePolicy):
        raise PolicyError(f"policy must be a GatePolicy, not {type(policy).__name__}; see GatePolicy.from_mapping")
    profile = load_profile(language)
    index = SourceIndex.of(sources, language=profile.code)
    marker_style(policy.marker)
    token = policy.refusal_token or ""
    parts = [profile.prompt.role]
    if policy.citations != "off":
        parts.append(profile.prompt.markers)
    if policy.person:
        parts.append(profile.prompt.person)
    if token:
        parts.append(profile.prompt.refusal)
    parts += [profile.prompt.untrusted, profile.prompt.sources]
    filled = [_fill(part, policy.marker, token, len(index)) for part in parts]
    listed = [_source_block(n, source) for n, source in enumerate(index.sources, 1)]
    return "\n".join([*filled, "", *listed])


def _fill(text: str, marker: str, token: str, count: int) -> str:
    first = marker.replace("{n}", "1")
    return text.replace("{marker}", first).replace("{token}", token).replace("{count}", str(count))


def _source_block(number: int, source: Source) -> str:
    text = _BRACKETED.sub(r"(\1)", _TAG.sub("‹", source.text))
    where = f"\n({_TAG.sub('‹', source.url)})" if source.url else ""
    return f'<source number="{number}">\n{text}{where}\n</source number="{number}">'
