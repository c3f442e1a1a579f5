"""Provider frames, as the SDKs' own types and as plain mappings."""

from __future__ import annotations

from typing import Any

import pytest

from guardrails_plugins import gate_stream, gate_stream_sync
from guardrails_plugins.core.errors import FrameError
from guardrails_plugins.streaming.frames import FrameReader
from tests.streaming.support import BAD, CANARY, GOOD, SHOWN, collect, gate, pieces, text_of

pytestmark = pytest.mark.framework


def openai_chunk(content: str | None = None, finish: str | None = None, **delta: Any) -> Any:
    from openai.types.chat import ChatCompletionChunk

    return ChatCompletionChunk.model_validate(
        {
            "id": "c",
            "created": 1,
            "model": "m",
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": {"content": content, **delta}, "finish_reason": finish}],
        }
    )


def openai_usage() -> Any:
    from openai.types.chat import ChatCompletionChunk

    return ChatCompletionChunk.model_validate(
        {
            "id": "c",
            "created": 1,
            "model": "m",
            "object": "chat.completion.chunk",
            "choices": [],
            "usage": {
                "prompt_tokens": 50,
                "completion_tokens": 17,
                "total_tokens": 67,
                "completion_tokens_details": {"reasoning_tokens": 4},
            },
        }
    )


def chat(text: str, finish: str | None = "stop", usage: bool = True) -> list[Any]:
    tail = [openai_chunk(None, finish)] if finish else []
    return [openai_chunk(p) for p in pieces(text)] + tail + ([openai_usage()] if usage else [])


def anthropic_events(text: str, stop: str | None = "end_turn") -> list[Any]:
    from anthropic.types import (
        RawContentBlockDeltaEvent,
        RawContentBlockStartEvent,
        RawContentBlockStopEvent,
        RawMessageDeltaEvent,
        RawMessageStartEvent,
        RawMessageStopEvent,
    )

    start = RawMessageStartEvent.model_validate(
        {
            "type": "message_start",
            "message": {
                "id": "m",
                "type": "message",
                "role": "assistant",
                "model": "x",
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {"input_tokens": 30, "output_tokens": 1, "cache_read_input_tokens": 5},
            },
        }
    )
    block = RawContentBlockStartEvent.model_validate(
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    )
    deltas = [
        RawContentBlockDeltaEvent.model_validate(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": p}}
        )
        for p in pieces(text)
    ]
    events: list[Any] = [start, block, *deltas, RawContentBlockStopEvent(type="content_block_stop", index=0)]
    if stop:
        events.append(
            RawMessageDeltaEvent.model_validate(
                {
                    "type": "message_delta",
                    "delta": {"stop_reason": stop, "stop_sequence": None},
                    "usage": {"output_tokens": 21},
                }
            )
        )
    return [*events, RawMessageStopEvent(type="message_stop")]


def plain(items: list[Any]) -> list[Any]:
    return [i.model_dump() for i in items]


@pytest.mark.parametrize("make", [chat, anthropic_events])
@pytest.mark.parametrize("form", [list, plain])
async def test_a_whole_answer_is_shown(make: Any, form: Any) -> None:
    events = await collect(gate_stream(form(make(GOOD)), gate()))
    assert text_of(events) == SHOWN
    assert events[-1].state == "completed"
    assert events[-1].usage.output_estimated == 0
    assert not events[-1].usage.hidden_reasoning


def test_usage_is_what_the_provider_reported() -> None:
    openai = list(gate_stream_sync(chat(GOOD), gate()))[-1].usage
    assert (openai.input_reported, openai.output_reported, openai.reasoning_reported) == (50, 17, 4)
    anthropic = list(gate_stream_sync(anthropic_events(GOOD), gate()))[-1].usage
    assert (anthropic.input_reported, anthropic.output_reported) == (35, 21)


def test_a_stop_before_the_last_frame_estimates_what_was_not_reported() -> None:
    done = list(gate_stream_sync(chat(BAD), gate(), prompt_text="four"))[-1]
    assert done.state == "withheld"
    assert done.usage.input_estimated == 4
    assert done.usage.output_reported == 0
    assert 0 < done.usage.output_estimated <= len(BAD)
    assert done.usage.hidden_reasoning


@pytest.mark.parametrize("make", [lambda t: chat(t, None, False), lambda t: anthropic_events(t, None)])
def test_text_without_a_finish_reason_is_truncated(make: Any) -> None:
    events = list(gate_stream_sync(make("It opens at nine [S1]. It has 412 se"), gate()))
    assert text_of(events) == "It opens at nine."
    assert events[-1].state == "truncated"
    assert events[-1].notice


@pytest.mark.parametrize(
    ("reason", "state"),
    [("length", "truncated"), ("content_filter", "withheld"), ("stop", "completed"), ("tool_calls", "completed")],
)
def test_openai_finish_reasons(reason: str, state: str) -> None:
    assert list(gate_stream_sync(chat("It opens at nine [S1]. Come", reason), gate()))[-1].state == state


@pytest.mark.parametrize(
    ("reason", "state"), [("max_tokens", "truncated"), ("refusal", "refused"), ("stop_sequence", "completed")]
)
def test_anthropic_stop_reasons(reason: str, state: str) -> None:
    assert list(gate_stream_sync(anthropic_events("It opens at nine [S1]. Come", reason), gate()))[-1].state == state


def test_an_unknown_finish_reason_is_an_error_and_shows_nothing_more() -> None:
    frame = {"choices": [{"index": 0, "delta": {"content": "Come early."}, "finish_reason": "moonrise"}]}
    events = list(gate_stream_sync([frame], gate()))
    assert [e.type for e in events] == ["error", "done"]
    assert "moonrise" in events[0].message


def test_empty_and_choiceless_frames_pass() -> None:
    frames = [None, "", openai_chunk(None), {"choices": []}, {"choices": [{"index": 0, "delta": None}]}, *chat(GOOD)]
    assert text_of(list(gate_stream_sync(frames, gate()))) == SHOWN


def test_more_than_one_choice_is_refused() -> None:
    two = {"choices": [{"index": 0, "delta": {"content": "a"}}, {"index": 1, "delta": {"content": CANARY}}]}
    second = {"choices": [{"index": 1, "delta": {"content": CANARY}}]}
    for frame in (two, second):
        events = list(gate_stream_sync([frame], gate()))
        assert events[0].code == "bad_frame"
        assert "n=1" in events[0].message
        assert CANARY not in repr(events)


def test_log_probabilities_carry_nothing() -> None:
    frame = openai_chunk("Late fees ended in ")
    frame.choices[0].logprobs = {"content": [{"token": CANARY}]}  # type: ignore[assignment]
    events = list(gate_stream_sync([frame, openai_chunk("QZX9999 [S1]. More"), openai_chunk(None, "stop")], gate()))
    assert CANARY not in repr(events)
    assert events[-1].state == "withheld"


def test_a_refusal_field_is_refused() -> None:
    events = list(
        gate_stream_sync([openai_chunk("Some te"), openai_chunk(None, refusal="I will not " + CANARY)], gate())
    )
    assert events[-1].state == "refused"
    assert CANARY not in repr(events)
    assert events[-1].notice


def test_reasoning_is_counted_and_never_shown() -> None:
    thought = {"choices": [{"index": 0, "delta": {"reasoning_content": f"secret {CANARY}"}}]}
    events = list(gate_stream_sync([thought, *chat(GOOD, usage=False)], gate()))
    assert text_of(events) == SHOWN
    assert CANARY not in repr(events)
    assert events[-1].usage.output_estimated == len(GOOD) + len(f"secret {CANARY}")


def test_tool_calls_stand_only_after_a_clean_end() -> None:
    call = {"index": 0, "id": "t1", "function": {"name": "look", "arguments": '{"q":'}}
    rest = {"index": 0, "function": {"arguments": '"x"}'}}
    frames = [openai_chunk(None, tool_calls=[call]), openai_chunk(None, tool_calls=[rest])]
    done = list(gate_stream_sync([*frames, openai_chunk(None, "tool_calls")], gate()))[-1]
    assert done.tool_calls == ({"id": "t1", "name": "look", "arguments": '{"q":"x"}'},)
    stopped = list(gate_stream_sync([*frames, *chat(BAD)], gate()))[-1]
    assert stopped.tool_calls == ()


def test_anthropic_tool_use_and_thinking() -> None:
    frames = anthropic_events(GOOD)
    extra = [
        {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t", "name": "look"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "thinking_delta", "thinking": CANARY}},
        {"type": "ping"},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "some_new_delta"}},
        {"type": "message_new_thing"},
    ]
    events = list(gate_stream_sync([*frames[:-2], *extra, *frames[-2:]], gate()))
    assert text_of(events) == SHOWN
    assert CANARY not in repr(events)
    assert events[-1].tool_calls == ({"id": "t", "name": "look", "arguments": "{}"},)
    assert events[-1].unknown_events == 2


def test_the_helper_events_of_a_message_stream_do_not_double_the_text() -> None:
    frames: list[Any] = []
    for event in anthropic_events(GOOD):
        frames.append(event)
        if event.type == "content_block_delta":
            frames.append({"type": "text", "text": event.delta.text, "snapshot": CANARY})
    events = list(gate_stream_sync(frames, gate()))
    assert text_of(events) == SHOWN
    assert CANARY not in repr(events)


def test_openai_responses_events() -> None:
    frames: list[Any] = [{"type": "response.created", "response": {}}]
    frames += [{"type": "response.output_text.delta", "delta": p, "logprobs": [CANARY]} for p in pieces(GOOD)]
    frames += [
        {"type": "response.reasoning_text.delta", "delta": CANARY},
        {"type": "response.brand_new.thing"},
        {"type": "response.completed", "response": {"usage": {"input_tokens": 9, "output_tokens": 8}}},
    ]
    events = list(gate_stream_sync(frames, gate()))
    assert text_of(events) == SHOWN
    assert CANARY not in repr(events)
    assert (events[-1].usage.input_reported, events[-1].usage.output_reported) == (9, 8)
    assert events[-1].unknown_events == 1


@pytest.mark.parametrize(
    ("last", "state"),
    [
        (
            {"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}},
            "truncated",
        ),
        ({"type": "response.incomplete", "response": {"incomplete_details": {"reason": "content_filter"}}}, "withheld"),
        ({"type": "response.refusal.delta", "delta": "no"}, "refused"),
        ({"type": "response.failed", "response": {}}, "failed"),
        ({"type": "error", "message": CANARY}, "failed"),
    ],
)
def test_how_a_response_can_end(last: Any, state: str) -> None:
    events = list(gate_stream_sync([{"type": "response.output_text.delta", "delta": "It op"}, last], gate()))
    assert events[-1].state == state
    assert CANARY not in repr(events)


def test_langchain_chunks() -> None:
    from langchain_core.messages import AIMessageChunk

    frames: list[Any] = [AIMessageChunk(content=p) for p in pieces(GOOD)]
    frames.append(AIMessageChunk(content=[{"type": "reasoning", "reasoning": CANARY}]))
    frames.append(
        AIMessageChunk(
            content="",
            response_metadata={"finish_reason": "stop"},
            usage_metadata={"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
        )
    )
    events = list(gate_stream_sync(frames, gate()))
    assert text_of(events) == SHOWN
    assert CANARY not in repr(events)
    assert events[-1].usage.output_reported == 4


def test_nemo_chunks() -> None:
    from nemoguardrails.types import LLMResponseChunk

    frames = [LLMResponseChunk(delta_content=p) for p in pieces(GOOD)]
    frames.append(LLMResponseChunk(delta_reasoning=CANARY, finish_reason="stop"))
    events = list(gate_stream_sync(frames, gate()))
    assert text_of(events) == SHOWN
    assert CANARY not in repr(events)


@pytest.mark.parametrize("unknown", [object(), 3, {"a": 1}, ["x"], {"type": "mystery"}])
def test_an_unknown_object_is_an_error(unknown: Any) -> None:
    events = list(gate_stream_sync(["It opens at nine [S1]. ", unknown, "more"], gate()))
    assert events[-2].code == "bad_frame"
    assert "known frame" in events[-2].message
    assert events[-1].state == "failed"


@pytest.mark.parametrize("cut", range(1, 12))
def test_bytes_may_be_cut_anywhere(cut: int) -> None:
    raw = "aé漢😀b".encode()
    reader = FrameReader()
    assert reader.read(raw[:cut]).text + reader.read(raw[cut:]).text + reader.finish().text == "aé漢😀b"


def test_an_unfinished_sequence_at_the_end_is_replaced() -> None:
    reader = FrameReader()
    assert reader.read("é".encode()[:1]).text + reader.finish().text == "\ufffd"


FRAGMENT = "It opens at nine [S1]. It has 412"


@pytest.mark.parametrize(("first", "state"), [("length", "truncated"), ("content_filter", "withheld")])
@pytest.mark.parametrize("then", ["stop", "", None])
def test_a_later_finish_reason_never_softens_an_earlier_one(first: str, state: str, then: str | None) -> None:
    frames = [
        openai_chunk(FRAGMENT),
        *[{"choices": [{"index": 0, "delta": {}, "finish_reason": r}]} for r in (first, then)],
    ]
    more = {"choices": [{"index": 0, "delta": {"content": " seats [S1]. Come"}, "finish_reason": then}]}
    for tail in ([], [more]):
        events = list(gate_stream_sync([*frames, *tail], gate()))
        assert text_of(events) == "It opens at nine."
        assert events[-1].state == state


def test_text_behind_a_clean_finish_reason_needs_one_of_its_own() -> None:
    frames = [openai_chunk(FRAGMENT, "stop"), openai_chunk(" seats [S1]. Come", None)]
    cut = list(gate_stream_sync(frames, gate()))
    assert text_of(cut) == "It opens at nine. It has 412 seats."
    assert cut[-1].state == "truncated"
    # Some providers name the reason in every frame.
    every = [openai_chunk(p, "stop") for p in pieces(GOOD)]
    whole = list(gate_stream_sync(every, gate()))
    assert text_of(whole) == SHOWN
    assert whole[-1].state == "completed"


def test_an_empty_finish_reason_is_none() -> None:
    frames = [{"choices": [{"index": 0, "delta": {"content": p}, "finish_reason": ""}]} for p in pieces(GOOD)]
    assert list(gate_stream_sync(frames, gate()))[-1].state == "truncated"
    assert list(gate_stream_sync([*frames, openai_chunk(None, "stop")], gate()))[-1].state == "completed"


@pytest.mark.parametrize(
    "frame",
    [
        {},
        {"usage": {"prompt_tokens": 2, "completion_tokens": 3}},
        {"object": "chat.completion.chunk", "choices": None, "usage": {"prompt_tokens": 2}},
        {"object": "chat.completion.chunk"},
    ],
)
def test_frames_without_choices_pass_in_the_middle(frame: Any) -> None:
    whole = chat(GOOD)
    events = list(gate_stream_sync([*whole[:4], frame, *whole[4:]], gate()))
    assert text_of(events) == SHOWN
    assert events[-1].state == "completed"


@pytest.mark.parametrize(
    ("frame", "match"),
    [
        ({"choices": [{"index": 0, "message": {"content": GOOD}, "finish_reason": "stop"}]}, "stream=True"),
        ({"choices": [{"index": 0, "delta": GOOD}]}, "delta is text"),
        ({"choices": 5}, "not built as it says"),
    ],
)
def test_a_frame_that_is_no_frame_of_a_stream_is_an_error(frame: Any, match: str) -> None:
    events = list(gate_stream_sync([frame], gate()))
    assert [e.type for e in events] == ["error", "done"]
    assert match in events[0].message
    assert "nine" not in repr(events)


def test_a_frame_that_raises_says_nothing_of_its_text() -> None:
    class Frame:
        @property
        def choices(self) -> Any:
            raise RuntimeError(CANARY)

    events = list(gate_stream_sync([Frame()], gate()))
    assert events[0].code == "bad_frame"
    assert CANARY not in repr(events)
    with pytest.raises(FrameError) as raised:
        FrameReader().read(Frame())
    assert raised.value.__context__ is None


def test_completion_chunks_of_the_older_interface_are_read() -> None:
    frames = [{"choices": [{"index": 0, "text": p, "finish_reason": None}]} for p in pieces(GOOD)]
    frames.append({"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]})
    events = list(gate_stream_sync(frames, gate()))
    assert text_of(events) == SHOWN
    assert events[-1].state == "completed"


@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning": "12345"},
        {"reasoning_details": [{"type": "reasoning.text", "text": "12345"}]},
        {"function_call": {"name": "look", "arguments": "12345"}},
        {"refusal": "12345"},
        {"audio": {"transcript": "12345"}},
        {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "12345"}}]},
    ],
    ids=lambda d: next(iter(d)),
)
def test_everything_that_a_chat_frame_brings_counts(delta: Any) -> None:
    done = list(gate_stream_sync([{"choices": [{"index": 0, "delta": delta}]}], gate()))[-1]
    assert done.usage.output_estimated == 5


@pytest.mark.parametrize(
    ("kind", "counted"),
    [
        ("response.mcp_call_arguments.delta", 5),
        ("response.custom_tool_call_input.delta", 5),
        ("response.code_interpreter_call_code.delta", 5),
        ("response.refusal.delta", 5),
        ("response.audio.transcript.delta", 5),
        ("response.reasoning_summary_text.delta", 5),
        ("response.function_call_arguments.delta", 5),
        ("response.audio.delta", 0),
    ],
)
def test_everything_that_a_response_event_brings_counts(kind: str, counted: int) -> None:
    done = list(gate_stream_sync([{"type": kind, "delta": "12345"}], gate()))[-1]
    assert done.usage.output_estimated == counted


def test_the_function_call_of_the_older_interface_is_handed_on() -> None:
    parts = [{"name": "look", "arguments": '{"q"'}, {"arguments": ":1}"}]
    frames = [openai_chunk(None, function_call=p) for p in parts]
    done = list(gate_stream_sync([*frames, openai_chunk(None, "function_call")], gate()))[-1]
    assert done.tool_calls == ({"id": None, "name": "look", "arguments": '{"q":1}'},)


def test_a_tool_that_the_provider_runs_itself_is_no_tool_call() -> None:
    frames = anthropic_events(GOOD)
    block = {"type": "server_tool_use", "id": "s", "name": "web_search"}
    extra = [
        {"type": "content_block_start", "index": 3, "content_block": block},
        {"type": "content_block_delta", "index": 3, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
    ]
    events = list(gate_stream_sync([*frames[:-2], *extra, *frames[-2:]], gate()))
    assert events[-1].tool_calls == ()
