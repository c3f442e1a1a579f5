"""What a gate says: states, codes, violations, outcomes.

None of these objects holds text of a blocked sentence: a violation is a code and a span.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple

from guardrails_plugins.core.sentence import Sentence, Span


class State(enum.StrEnum):
    """Where a gated stream stands; every state but `OPEN` is final."""

    OPEN = "open"
    COMPLETED = "completed"
    WITHHELD = "withheld"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    FAILED = "failed"


STOPPED_STATES = frozenset({State.WITHHELD, State.REFUSED, State.FAILED})
"""The states in which the provider's stream is to be closed and nothing follows."""


class Code(enum.StrEnum):
    """The codes that this package gives; own checks add theirs as plain strings."""

    CITATION_OUT_OF_RANGE = "citation_out_of_range"
    CITATION_MISSING = "citation_missing"
    CITATION_MALFORMED = "citation_malformed"
    VALUE_UNSUPPORTED = "value_unsupported"
    VALUE_MISCITED = "value_miscited"
    FIRST_PERSON = "first_person"
    CHECK_FAILED = "check_failed"
    PROVIDER_FILTERED = "provider_filtered"


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule.

    `span` counts code points of the raw model stream, half-open: the value, word or marker,
    else the whole sentence. `kind` is a value's kind. `rule` names the check. `found_in`
    lists, from 1, the sources that hold the value although the sentence does not cite them.
    """

    code: str
    span: Span
    kind: str | None = None
    rule: str | None = None
    found_in: tuple[int, ...] = ()


class ReleasedSentence(NamedTuple):
    """A sentence that may be shown, with `text` exactly as released (whitespace before it included).

    `cited` are the numbers of the sources it cites, sorted; `violations` those that the
    policy only flags.
    """

    sentence: Sentence
    text: str
    cited: tuple[int, ...] = ()
    violations: tuple[Violation, ...] = ()

    @property
    def span(self) -> Span:
        """The sentence's span in the raw stream."""
        return self.sentence.span


class GateOutcome(NamedTuple):
    """What one call of `feed` or `finish` decided.

    `text` may be shown now and may be empty; it is the `text` of `sentences` joined.
    `withheld_chars` counts the code points of the sentence (or cut-off fragment) dropped by
    this call. `notice` is the fixed text for the reader when the answer ended other than
    completely, else None.
    """

    text: str = ""
    stopped: bool = False
    state: State = State.OPEN
    violations: tuple[Violation, ...] = ()
    sentences: tuple[ReleasedSentence, ...] = ()
    notice: str | None = None
    withheld_chars: int = 0

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of `violations`, each once, in order."""
        return tuple(dict.fromkeys(v.code for v in self.violations))
