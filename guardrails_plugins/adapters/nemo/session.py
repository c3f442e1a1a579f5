"""One request on its way through NeMo, and which session a coroutine belongs to.

Timeline of a stream whose second sentence is blocked::

    model wrapper                     NeMo's queue        our action            relay
    judges "It opens."  expect(...)   "It opens."         allow (as expected)   "It opens."
    judges the next, stops: stop(…)   the notice          block (as expected)   the error frame
    (provider closed)

The session travels in a context variable, so that nothing of one request can reach another.
It holds text that passed, never text that did not.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from guardrails_plugins.adapters.nemo import sources as origin
from guardrails_plugins.adapters.nemo.settings import NemoSettings, notices
from guardrails_plugins.adapters.nemo.tracing import SentenceSpans
from guardrails_plugins.adapters.nemo.turn import retrieved_in_turn
from guardrails_plugins.adapters.nemo.verdict import Verdict
from guardrails_plugins.core.gate import SentenceGate
from guardrails_plugins.core.languages.profile import resolve_language
from guardrails_plugins.core.outcome import Code, GateOutcome, State
from guardrails_plugins.core.sources import SourceIndex

PIECE = 256
"""Code points of a whole text that the gate is fed at once: spans then last about as long as a sentence."""

STREAM, FLOW_RUN = "stream", "flow"
"""Who asks the action: NeMo's streaming loop (item by item) or its Colang runtime (whole messages)."""

_current: ContextVar[Session | None] = ContextVar("sentence_gate_session", default=None)
_role: ContextVar[str] = ContextVar("sentence_gate_role", default=FLOW_RUN)

_saying: ContextVar[bool] = ContextVar("sentence_gate_saying", default=False)

NO_SOURCES = (
    "No sources came with the request: put them under 'sources' in its context message, or let NeMo retrieve them."
)
NO_SESSION = "The call did not go through a gated method of LLMRails."


def current() -> Session | None:
    """The session of the running coroutine, or None."""
    return _current.get()


def role() -> str:
    """Whether the running coroutine is NeMo's streaming loop or a flow."""
    return _role.get()


def is_saying() -> bool:
    """Whether one of NeMo's own actions runs that say a message as a whole."""
    return _saying.get()


class Saying:
    """Marks, for a `with` block, that one of NeMo's own answering actions runs."""

    def __enter__(self) -> None:
        self._token = _saying.set(True)

    def __exit__(self, *_: object) -> None:
        _saying.reset(self._token)


class Entered:
    """The session as the current one, for a `with` block."""

    def __init__(self, session: Session | None, as_role: str = FLOW_RUN) -> None:
        self._session, self._as_role = session, as_role

    def __enter__(self) -> Session | None:
        self._tokens = _current.set(self._session), _role.set(self._as_role)
        return self._session

    def __exit__(self, *_: object) -> None:
        _current.reset(self._tokens[0])
        _role.reset(self._tokens[1])


class Session:
    """Sources, language and progress of one request. Its repr carries no text.

    Raises `SourceError` or `LanguageError` when the request's context names wrong ones.
    """

    def __init__(
        self,
        settings: NemoSettings,
        context: Mapping[str, Any],
        *,
        question: str | None = None,
        streaming: bool = False,
        fixed: frozenset[str] = frozenset(),
        indexes: origin.Indexes | None = None,
        by_context: bool = False,
    ) -> None:
        self.settings = settings
        self.language = resolve_language(context.get("language") or settings.language)
        self.question = context.get("question") or question
        self.streaming = streaming
        self.generation: asyncio.Task[Any] | None = None
        self.blocked: Verdict | None = None
        self.unwrapped_generator = False
        self.refused_pieces = False
        self.says_fixed = False
        self.lead = ""
        self.shown: deque[tuple[str, str]] = deque()
        self._expected: deque[tuple[str, Verdict | None]] = deque()
        self._items: list[str] = []
        self._answers: list[tuple[str, str, Verdict | None]] = []
        self._notices = notices(self.language, settings.policy)
        self._fixed = set(fixed) | set(self._notices.values())
        given = context.get("sources")
        self._indexes = origin.Indexes() if indexes is None else indexes
        self._given = None if given is None else self._indexes.of(given, self.language)
        self._retrieved: SourceIndex | None = None
        self._by_context = by_context
        self.retrieve(origin.retrieved(context))

    def __repr__(self) -> str:
        count = None if self.index is None else len(self.index)
        return f"Session(language={self.language!r}, sources={count}, streaming={self.streaming})"

    # -- sources -----------------------------------------------------------------------------

    @property
    def index(self) -> SourceIndex | None:
        """The sources: those of the request, else those retrieved; None when there are neither."""
        return self._given if self._given is not None else self._retrieved

    def retrieve(self, chunks: list[str] | None) -> None:
        """Take what NeMo retrieved; sources that the request itself names stand."""
        if chunks is not None and self._given is None:
            self._retrieved = self._indexes.of(chunks, self.language)

    def retrieve_in_turn(self, events: Any, context: Mapping[str, Any] | None) -> None:
        """Take what this turn has retrieved, as its events tell.

        `by_context` (Colang 2, whose state is of one conversation): what its context says, the
        `sources` of an earlier event included. Raises `SourceError` for wrong ones.
        """
        if self._by_context:
            given = (context or {}).get("sources")
            if self._given is None and given is not None:
                self._given = self._indexes.of(given, self.language)
            self.retrieve(origin.retrieved(context))
            return
        happened, chunks = retrieved_in_turn(events or ())
        if happened and self._given is None:
            self._retrieved = None if chunks is None else self._indexes.of(chunks, self.language)

    # -- judging -----------------------------------------------------------------------------

    def gate(self) -> SentenceGate | None:
        """A new gate over the sources, or None when there are none."""
        index = self.index
        if index is None:
            return None
        return SentenceGate(index, language=self.language, policy=self.settings.policy, question=self.question)

    def judge(self, text: str, finish_reason: str = "stop") -> tuple[str, Verdict]:
        """Judge a whole text: what may be shown of it, and how it ended. Never raises: it fails closed."""
        gate = self.gate()
        if gate is None:
            return "", self.failure(NO_SOURCES)
        spans = SentenceSpans(enabled=self.settings.tracing)
        released: list[str] = []
        try:
            for start in range(0, len(text), PIECE):
                outcome = gate.feed(text[start : start + PIECE])
                spans.outcome(outcome)
                released.append(outcome.text)
                if outcome.stopped:
                    return "".join(released), verdict_of(outcome)
            outcome = gate.finish(finish_reason)
        except Exception:  # a defect, or a finish reason nobody knows; its text is not kept
            return "", self.failure()
        spans.outcome(outcome)
        return "".join([*released, outcome.text]), verdict_of(outcome)

    def failure(self, detail: str | None = None) -> Verdict:
        """The verdict of an answer that could not be judged."""
        return Verdict(State.FAILED, (Code.CHECK_FAILED.value,), self._notices["error"], detail=detail)

    def refusal(self) -> Verdict:
        """The verdict of an answer that the provider itself refused to give."""
        return Verdict(State.REFUSED, notice=self._notices["refused"])

    # -- what enters NeMo, and what the action says to it ------------------------------------

    def expect(self, item: str, verdict: Verdict | None = None) -> str:
        """Announce an item before it enters NeMo; `verdict` when it stands for a block."""
        self._expected.append((item, verdict))
        self._items.append(item)
        return item

    def announced(self, item: str) -> bool:
        """Whether an item was announced and NeMo's streaming loop has not shown it yet."""
        return any(expected == item for expected, _ in reversed(self._expected))

    def stop(self, verdict: Verdict) -> str:
        """Announce a block; returns the item that stands for it, which holds no text of the answer."""
        notice = verdict.notice or verdict.reason
        return self.expect(f"\n\n{notice}" if self._items else notice, verdict)

    def arrived(self, text: str) -> tuple[bool, Verdict | None]:
        """Whether NeMo's streaming loop shows an item that was announced, and the verdict to answer."""
        if self._expected and self._expected[0][0] == text:
            return True, self._expected.popleft()[1]
        return (bool(self._items) and text == "".join(self._items)), None

    def answered(self, entered: str, shown: str, verdict: Verdict | None = None) -> None:
        """Record a whole answer that entered NeMo as `entered` and is to be shown as `shown`."""
        self._answers.append((_squeezed(entered), shown, verdict))

    def close_items(self, verdict: Verdict | None) -> None:
        """The streamed items were one answer, and this is how it ended."""
        text = "".join(self._items)
        self.answered(text, text, verdict)

    def recall(self, message: str) -> tuple[str, Verdict | None] | None:
        """The recorded answer that a bot message is, whatever NeMo trimmed off it; None when it is none.

        Compared without whitespace, quotation marks and line-break escapes, all of which NeMo
        takes off. A beginning of an answer is text that passed: it stands as it is, unless a word
        or figure of it may be cut in two.
        """
        squeezed = _squeezed(message)
        for entered, shown, verdict in reversed(self._answers):
            if squeezed == entered:
                return shown, verdict
            if squeezed and entered.startswith(squeezed):
                cut = squeezed[-1].isalnum() and entered[len(squeezed)].isalnum()
                if not cut:
                    return message, verdict
        return None

    def allow(self, text: str) -> None:
        """A text that NeMo says by itself and that is not judged."""
        self._fixed.add(text)

    def is_fixed(self, text: str) -> bool:
        """Whether the text is a notice or one of NeMo's own messages."""
        return text in self._fixed


def verdict_of(outcome: GateOutcome) -> Verdict:
    """The verdict of a gate that has ended; flagged violations are no part of it."""
    codes = outcome.codes if outcome.stopped else ()
    return Verdict(outcome.state, tuple(map(str, codes)), outcome.notice, outcome.withheld_chars)


_DROPPED = str.maketrans("", "", "\"'\\")


def _squeezed(text: str) -> str:
    return "".join(text.replace("\\n", " ").split()).translate(_DROPPED)
