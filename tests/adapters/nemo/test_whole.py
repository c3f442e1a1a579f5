"""Not streaming: `generate_async`, `check_async`, and what NeMo's logs say."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("nemoguardrails")

from nemoguardrails.rails.llm.options import RailStatus

from .support import BAD, GOOD, GOOD_SHOWN, SECRET, FakeModel, rails, request

pytestmark = pytest.mark.framework

WITHHELD = "The answer stops here: what followed could not be confirmed by the sources."


async def content(model: Any, messages: Any = None, **settings: Any) -> str:
    message = await rails(model, **settings).generate_async(messages=messages or request())
    text: str = message["content"]
    return text


async def test_a_checked_answer_without_markers() -> None:
    assert await content(FakeModel(GOOD)) == GOOD_SHOWN


@pytest.mark.parametrize(
    "text", ['"Hours" is the title. It is "here"', "  It opened.\n\n  Yes.\n ", "user: yes.\nuser no."]
)
async def test_text_is_exact_where_nemo_would_trim(text: str) -> None:
    assert await content(FakeModel(text)) == text


async def test_a_blocked_answer_is_the_notice() -> None:
    assert await content(FakeModel(BAD)) == WITHHELD


async def test_notices_come_from_the_settings_and_the_language() -> None:
    assert await content(FakeModel(BAD), policy={"notices": {"withheld": "No more."}}) == "No more."
    german = await content(FakeModel(BAD), request(language="de"))
    assert german not in (WITHHELD, "")
    assert SECRET not in german


@pytest.mark.parametrize(
    ("text", "finish", "begins"),
    [
        ("NO_ANSWER", "stop", ""),
        ("", "stop", ""),
        ("It opened in 1931 [S1]. NO_ANSWER", "stop", "It opened in 1931."),
        ("It opened in 1931 [S1]. It has", "length", "It opened in 1931.\n\n"),
    ],
)
async def test_refusal_and_truncation(text: str, finish: str, begins: str) -> None:
    shown = await content(FakeModel(text, finish=finish))
    assert shown.startswith(begins)
    assert "NO_ANSWER" not in shown
    assert "It has" not in shown
    assert len(shown) > 10


async def test_the_log_of_the_activated_rail_names_the_codes() -> None:
    response = await rails(FakeModel(BAD)).generate_async(
        messages=request(), options={"log": {"activated_rails": True, "internal_events": True, "colang_history": True}}
    )
    rail = next(r for r in response.log.activated_rails if r.name == "sentence gate")
    assert rail.stop
    outcome = rail.executed_actions[0].return_value
    assert outcome.is_blocked
    assert outcome.metadata["codes"] == ["value_unsupported"]
    assert "value_unsupported" in outcome.reason
    assert SECRET not in repr(response)


async def test_rails_exceptions() -> None:
    message = await rails(FakeModel(BAD), yaml="enable_rails_exceptions: True").generate_async(messages=request())
    assert message["role"] == "exception"
    assert "value_unsupported" in message["content"]["message"]
    assert SECRET not in repr(message)


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("It opened quietly.", RailStatus.PASSED),
        (GOOD, RailStatus.MODIFIED),
        (BAD, RailStatus.BLOCKED),
        ("NO_ANSWER", RailStatus.MODIFIED),
    ],
)
async def test_check_async(answer: str, status: RailStatus) -> None:
    model = FakeModel("not asked")
    messages = [*request(), {"role": "assistant", "content": answer}]
    result = await rails(model).check_async(messages)
    assert result.status is status
    assert SECRET not in result.content
    assert "[S1]" not in result.content
    assert model.calls == 0
    if status is RailStatus.BLOCKED:
        assert result.rail == "sentence gate"
        assert result.content == WITHHELD


async def test_check_async_without_sources_blocks() -> None:
    result = await rails(FakeModel("")).check_async([{"role": "assistant", "content": "It opened in 1931."}])
    assert result.status is RailStatus.BLOCKED


async def test_without_sources_the_answer_is_the_error_notice_and_the_model_is_not_asked() -> None:
    model = FakeModel(GOOD)
    shown = await content(model, request(None))
    assert "1931" not in shown
    assert model.calls == 0


async def test_wrong_sources_and_languages_are_the_callers_error() -> None:
    from guardrails_plugins.core.errors import LanguageError, SourceError

    app = rails(FakeModel(GOOD))
    for wrong, error in (
        (request("one text"), SourceError),
        (request([1]), SourceError),
        (request(language="xx"), LanguageError),
    ):
        with pytest.raises(error):
            await app.generate_async(messages=wrong)
        with pytest.raises(error):
            app.stream_async(messages=wrong)


async def test_the_events_interface_is_gated() -> None:
    events = [
        {"type": "ContextUpdate", "data": {"sources": ["It opened in 1931."]}},
        {"type": "UtteranceUserActionFinished", "final_transcript": "When?"},
    ]
    for text, said in (("It opened in 1931 [S1].", "It opened in 1931."), ("It opened in 1932 [S1].", WITHHELD)):
        new = await rails(FakeModel(text)).generate_events_async(events)
        assert [e["script"] for e in new if e["type"] == "StartUtteranceBotAction"] == [said]


async def test_a_generation_error_is_nemos() -> None:
    with pytest.raises(Exception, match="fake"):
        await rails(FakeModel(GOOD, fail_after=0)).generate_async(messages=request())
