"""The gate's table: every state with every event, and every call in every state."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from guardrails_plugins import GatePolicy, SentenceGate, SentenceSplitter
from guardrails_plugins.core.errors import FinishReasonError, FrameError, PolicyError, StreamClosedError
from guardrails_plugins.core.outcome import STOPPED_STATES, Code, State
from guardrails_plugins.core.sentence import Sentence
from guardrails_plugins.core.states import TRANSITIONS, Event

SOURCES = ["The hall opened in 1998 and has 412 seats."]
PASSES = "The hall has 412 seats [S1]. "
FAILS = "The hall has 500 seats [S1]. "


def _opened(**policy: object) -> SentenceGate:
    return SentenceGate(SOURCES, policy=GatePolicy(**policy))  # type: ignore[arg-type]


def _explodes(sentence: Sentence, context: object) -> list[object]:
    raise RuntimeError(sentence.text)


INTO: dict[State, Callable[[], SentenceGate]] = {}


def _into(state: State) -> Callable[[Callable[[SentenceGate], object]], None]:
    def keep(step: Callable[[SentenceGate], object]) -> None:
        def make() -> SentenceGate:
            gate = _opened()
            step(gate)
            return gate

        INTO[state] = make

    return keep


_into(State.OPEN)(lambda gate: gate.feed(PASSES))
_into(State.COMPLETED)(lambda gate: gate.finish())
_into(State.WITHHELD)(lambda gate: gate.feed(FAILS + "The next."))
_into(State.REFUSED)(lambda gate: gate.feed("NO_ANSWER."))
_into(State.TRUNCATED)(lambda gate: gate.finish("length"))
_into(State.FAILED)(lambda gate: gate.fail())

CALLS: dict[str, Callable[[SentenceGate], object]] = {
    "feed": lambda gate: gate.feed("more"),
    "finish": lambda gate: gate.finish(),
    "refuse": lambda gate: gate.refuse(),
    "fail": lambda gate: gate.fail(),
}


def test_the_table_leaves_the_open_state_by_every_event_and_no_other() -> None:
    for state, event in itertools.product(State, Event):
        assert ((state, event) in TRANSITIONS) == (state is State.OPEN)
    assert set(TRANSITIONS.values()) == set(State)


@pytest.mark.parametrize("state", list(State))
def test_each_state_is_reached_and_says_whether_it_stopped(state: State) -> None:
    gate = INTO[state]()
    assert gate.state is state
    assert gate.stopped == (state in STOPPED_STATES)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("state", [s for s in State if s is not State.OPEN])
def test_a_call_after_the_end_is_an_error_and_changes_nothing(state: State, call: str) -> None:
    gate = INTO[state]()
    with pytest.raises(StreamClosedError, match=r"new SentenceGate"):
        CALLS[call](gate)
    assert gate.state is state


@pytest.mark.parametrize("event", list(Event))
@pytest.mark.parametrize("state", [s for s in State if s is not State.OPEN])
def test_no_event_moves_a_gate_that_has_ended(state: State, event: Event) -> None:
    gate = INTO[state]()
    with pytest.raises(StreamClosedError, match=f"{state.value}.*{event.value}"):
        gate._move(event)
    assert gate.state is state


def test_wrong_arguments_leave_an_open_gate_as_it_was() -> None:
    gate = _opened()
    gate.feed("The hall has ")
    with pytest.raises(FrameError, match="bytes"):
        gate.feed(b"412")  # type: ignore[arg-type]
    with pytest.raises(FinishReasonError, match="known: stop"):
        gate.finish("done")
    gate.feed("412 seats [S1].")
    assert gate.finish().text == "The hall has 412 seats."
    with pytest.raises(FrameError):
        _opened().feed(3)  # type: ignore[arg-type]


def test_a_policy_must_be_one() -> None:
    with pytest.raises(PolicyError, match="from_mapping"):
        SentenceGate(SOURCES, policy={"citations": "off"})  # type: ignore[arg-type]


@pytest.mark.parametrize("cut", [1, 7, 100])
def test_a_defect_in_the_splitter_fails_closed(monkeypatch: pytest.MonkeyPatch, cut: int) -> None:
    def breaks(self: object, text: str) -> list[Sentence]:
        raise ZeroDivisionError(text)

    gate = _opened()
    gate.feed("A")  # past the refusal token
    monkeypatch.setattr("guardrails_plugins.core.splitter.SentenceSplitter.feed", breaks)
    outcome = gate.feed(PASSES[:cut])
    assert (outcome.text, outcome.state) == ("", State.FAILED)
    assert outcome.codes == (Code.CHECK_FAILED,)
    with pytest.raises(StreamClosedError):
        gate.feed("more")


def test_a_defect_at_the_flush_fails_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(self: object) -> None:
        raise ZeroDivisionError

    gate = _opened()
    gate.feed("The hall")
    monkeypatch.setattr("guardrails_plugins.core.splitter.SentenceSplitter.flush", breaks)
    assert gate.finish().state is State.FAILED


class Abort(BaseException):
    """No `Exception`."""


def test_a_check_that_raises_no_exception_stops_the_stream_too() -> None:
    def check(sentence: Sentence, _: object) -> list[object]:
        raise Abort(sentence.text)

    gate = SentenceGate(["It opens."], policy=GatePolicy(checks=(check,)))
    outcome = gate.feed("It opens [S1]. More")
    assert (outcome.state, outcome.codes, outcome.text) == ("failed", ("check_failed",), "")


def test_an_interrupted_check_leaves_no_open_gate() -> None:
    def check(sentence: Sentence, _: object) -> list[object]:
        raise KeyboardInterrupt

    gate = SentenceGate(["It opens."], policy=GatePolicy(checks=(check,)))
    with pytest.raises(KeyboardInterrupt):
        gate.feed("It opens [S1]. More")
    assert gate.state == "failed"
    with pytest.raises(StreamClosedError):
        gate.feed("more")


def test_a_check_that_raises_keeps_its_text_to_itself() -> None:
    gate = _opened(checks=(_explodes,))
    outcome = gate.feed(PASSES + "Next")
    assert outcome.state is State.FAILED
    assert "412" not in repr(outcome)


def test_a_check_that_answers_nonsense_fails_closed() -> None:
    gate = _opened(checks=(lambda sentence, context: ["no violation"],))
    assert gate.feed(PASSES + "Next").state is State.FAILED


def test_an_abandoned_gate_takes_nothing_more() -> None:
    gate = _opened()
    gate.feed("The hall")
    gate.discard()
    gate.discard()
    assert gate.state is State.FAILED
    with pytest.raises(StreamClosedError):
        gate.finish()


def test_a_notice_may_be_replaced() -> None:
    gate = _opened(notices={"withheld": "Held back."})
    assert gate.feed(FAILS + "Next").notice == "Held back."


class GateMachine(RuleBasedStateMachine):
    """Any calls in any order: the state follows the table, and text comes only out of an open gate."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = _opened()
        self.shown = ""

    @initialize(token=st.sampled_from(["NO_ANSWER", None]))
    def start(self, token: str | None) -> None:
        self.gate = _opened(refusal_token=token)

    @precondition(lambda self: self.gate.state is State.OPEN)
    @rule(piece=st.sampled_from([PASSES, FAILS, "NO_", "ANSWER", "The hall", ".", " ", "\n\n", "[S1]", "Fees: \n- "]))
    def feed(self, piece: str) -> None:
        self.shown += self.gate.feed(piece).text

    @precondition(lambda self: self.gate.state is State.OPEN)
    @rule(reason=st.sampled_from(["stop", "length", "content_filter", "refusal"]))
    def finish(self, reason: str) -> None:
        self.shown += self.gate.finish(reason).text

    @precondition(lambda self: self.gate.state is State.OPEN)
    @rule(call=st.sampled_from(["refuse", "fail"]))
    def end(self, call: str) -> None:
        assert CALLS[call](self.gate).text == ""  # type: ignore[attr-defined]

    @precondition(lambda self: self.gate.state is not State.OPEN)
    @rule(call=st.sampled_from(sorted(CALLS)))
    def after_the_end(self, call: str) -> None:
        state = self.gate.state
        with pytest.raises(StreamClosedError):
            CALLS[call](self.gate)
        assert self.gate.state is state

    @invariant()
    def nothing_blocked_was_shown(self) -> None:
        assert "500" not in self.shown
        if self.gate._refusal.token:  # glued to other letters it is ordinary text
            assert re.search(r"(?<!\w)NO_ANSWER(?!\w)", self.shown) is None
        assert "[S1]" not in self.shown


TestGateMachine = GateMachine.TestCase
TestGateMachine.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)


def test_a_splitter_is_flushed_once() -> None:
    splitter = SentenceSplitter()
    splitter.feed("The hall")
    assert splitter.flush() is not None
    with pytest.raises(StreamClosedError, match="flushed already"):
        splitter.flush()
    with pytest.raises(StreamClosedError, match="new one"):
        splitter.feed("more")
    with pytest.raises(FrameError, match="not bytes"):
        SentenceSplitter().feed(b"x")  # type: ignore[arg-type]
