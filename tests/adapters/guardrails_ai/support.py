"""Answers in ten languages, providers that say what was taken from them, and readers that say when they saw what."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from openai.types.chat import ChatCompletionChunk

from guardrails_plugins.core.gate import SentenceGate
from guardrails_plugins.core.policy import GatePolicy

MESSAGES = [{"role": "user", "content": "Tell me about the hall."}]
INVENTED = "2019"


@dataclass(frozen=True)
class Answer:
    """A source and an answer over it: two good sentences, one with an invented year, one more."""

    language: str
    source: str
    first: str
    second: str
    bad: str
    last: str

    @property
    def text(self) -> str:
        """The answer that fails at its third sentence."""
        return self.first + self.second + self.bad + self.last

    @property
    def good(self) -> str:
        """The answer without its failing sentence."""
        return self.first + self.second + self.last

    @property
    def metadata(self) -> dict[str, Any]:
        """What a call of a guard over this answer carries."""
        return {"sources": [self.source], "language": self.language}


ANSWERS = {
    a.language: a
    for a in (
        Answer(
            "en",
            "The hall has 40 seats. Members pay 12 euros.",
            "The hall has 40 seats [S1].",
            "\n\nMembers pay 12 euros [S1].",
            " Late fees ended in 2019 [S1].",
            " The hall stays open to all [S1].\n",
        ),
        Answer(
            "de",
            "Der Saal hat 40 Plätze. Mitglieder zahlen 12 Euro.",
            "Der Saal hat 40 Plätze [S1].",
            "\n\nMitglieder zahlen 12 Euro [S1].",
            " Gebühren endeten 2019 [S1].",
            " Der Saal bleibt offen [S1].\n",
        ),
        Answer(
            "fr",
            "La salle compte 40 places. Les membres paient 12 euros.",
            "La salle compte 40 places [S1].",
            "\n\nLes membres paient 12 euros [S1].",
            " Les frais ont pris fin en 2019 [S1].",
            " La salle reste ouverte [S1].\n",
        ),
        Answer(
            "es",
            "La sala tiene 40 plazas. Los socios pagan 12 euros.",
            "La sala tiene 40 plazas [S1].",
            "\n\nLos socios pagan 12 euros [S1].",
            " Las tasas acabaron en 2019 [S1].",
            " La sala sigue abierta [S1].\n",
        ),
        Answer(
            "pt",
            "A sala tem 40 lugares. Os membros pagam 12 euros.",
            "A sala tem 40 lugares [S1].",
            "\n\nOs membros pagam 12 euros [S1].",
            " As taxas acabaram em 2019 [S1].",
            " A sala continua aberta [S1].\n",
        ),
        Answer(
            "ru",
            "В зале 40 мест. Читатели платят 12 евро.",
            "В зале 40 мест [S1].",
            "\n\nЧитатели платят 12 евро [S1].",
            " Сборы отменили в 2019 [S1].",
            " Зал открыт для всех [S1].\n",
        ),
        Answer(
            "ar",
            "تضم القاعة 40 مقعدا. يدفع الأعضاء 12 يورو.",
            "تضم القاعة 40 مقعدا [S1].",
            "\n\nيدفع الأعضاء 12 يورو [S1].",
            " انتهت الرسوم في 2019 [S1].",
            " تبقى القاعة مفتوحة [S1].\n",
        ),
        Answer(
            "fa",
            "تالار 40 صندلی دارد. اعضا 12 یورو می‌پردازند.",
            "تالار 40 صندلی دارد [S1].",
            "\n\nاعضا 12 یورو می‌پردازند [S1].",
            " جریمه‌ها در 2019 پایان یافت [S1].",
            " تالار باز است [S1].\n",
        ),
        Answer(
            "hi",
            "सभागार में 40 सीटें हैं। सदस्य 12 यूरो देते हैं।",
            "सभागार में 40 सीटें हैं [S1]।",
            "\n\nसदस्य 12 यूरो देते हैं [S1]।",
            " शुल्क 2019 में समाप्त हुआ [S1]।",
            " सभागार खुला रहता है [S1]।\n",
        ),
        Answer(
            "zh",
            "大厅有40个座位。会员支付12欧元。",
            "大厅有40个座位[S1]。",
            "会员支付12欧元[S1]。",
            "罚款在2019年取消[S1]。",
            "大厅一直开放[S1]。\n",
        ),
    )
}
EN = ANSWERS["en"]


def unmarked(text: str) -> str:
    """The text without its markers and the blank before each: every marker here is [S1]."""
    return text.replace(" [S1]", "").replace("[S1]", "")


def cut(text: str, size: int) -> list[str]:
    """The text in pieces of `size`; 0 is the whole."""
    return [text[i : i + size] for i in range(0, len(text), size)] if size else [text]


def as_chunks(pieces: list[str]) -> list[Any]:
    """The pieces as the OpenAI SDK's own chunk objects, with a role chunk, an end and a usage chunk."""

    def chunk(delta: dict[str, Any] | None, reason: str | None = None, usage: Any = None) -> ChatCompletionChunk:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": reason}]
        return ChatCompletionChunk.model_validate(
            {
                "id": "c",
                "created": 0,
                "model": "m",
                "object": "chat.completion.chunk",
                "choices": choices,
                "usage": usage,
            }
        )

    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return [
        chunk({"role": "assistant", "content": ""}),
        *(chunk({"content": piece}) for piece in pieces),
        chunk({}, "stop"),
        chunk(None, usage=usage),
    ]


@dataclass
class Provider:
    """A model that streams `items` and knows how many were taken and whether its stream was closed."""

    items: list[Any]
    taken: int = 0
    calls: int = 0
    closed: bool = False
    stall_at: int | None = None
    fail_at: int | None = None
    seen: list[Any] = field(default_factory=list)

    def _begin(self, messages: Any) -> None:
        self.calls += 1
        self.seen.append(messages)

    def __call__(self, *, messages: Any = None, **kwargs: Any) -> Any:
        self._begin(messages)
        return self._items() if kwargs.get("stream") else self._whole()

    def _whole(self) -> str:
        return "".join(i for i in self.items if isinstance(i, str))

    def _items(self) -> Iterator[Any]:
        try:
            for number, item in enumerate(self.items):
                if number == self.fail_at:
                    raise ConnectionError("the line broke")
                self.taken += 1
                yield item
        finally:
            self.closed = True

    async def generate(self, *, messages: Any = None, **kwargs: Any) -> Any:
        """The same, for an AsyncGuard."""
        self._begin(messages)
        return self._async_items() if kwargs.get("stream") else self._whole()

    async def _async_items(self) -> AsyncIterator[Any]:
        try:
            for number, item in enumerate(self.items):
                await asyncio.sleep(0)
                if number == self.stall_at:
                    await asyncio.sleep(3600)
                if number == self.fail_at:
                    raise ConnectionError("the line broke")
                self.taken += 1
                yield item
        finally:
            self.closed = True


@dataclass
class Reading:
    """What a reader saw: each text with the number of items taken from the provider by then."""

    seen: list[tuple[str, int]] = field(default_factory=list)
    outcomes: list[Any] = field(default_factory=list)
    error: BaseException | None = None

    @property
    def text(self) -> str:
        """Everything shown, joined."""
        return "".join(text for text, _ in self.seen)

    def add(self, outcome: Any, taken: int) -> None:
        """Record one outcome of the framework's iterator."""
        self.outcomes.append(outcome)
        if outcome.validated_output:
            self.seen.append((outcome.validated_output, taken))


def read(guard: Any, llm: Callable[..., Any], provider: Provider, metadata: dict[str, Any], **kwargs: Any) -> Reading:
    """Read a Guard's stream to its end or error."""
    reading = Reading()
    try:
        for outcome in guard(llm, messages=MESSAGES, metadata=metadata, stream=True, **kwargs):
            reading.add(outcome, provider.taken)
    except Exception as error:
        reading.error = error
    return reading


async def read_async(
    guard: Any, llm: Callable[..., Any], provider: Provider, metadata: dict[str, Any], **kwargs: Any
) -> Reading:
    """Read an AsyncGuard's stream to its end or error."""
    reading = Reading()
    try:
        async for outcome in await guard(llm, messages=MESSAGES, metadata=metadata, stream=True, **kwargs):
            reading.add(outcome, provider.taken)
    except Exception as error:
        reading.error = error
    return reading


def gated(answer: Answer, pieces: list[str], policy: GatePolicy | None = None) -> list[tuple[str, int, bool]]:
    """What the gate itself releases: text, the number of pieces it took, and whether it was flagged."""
    gate = SentenceGate([answer.source], language=answer.language, policy=policy or GatePolicy())
    released: list[tuple[str, int, bool]] = []
    for number, piece in enumerate(pieces, start=1):
        outcome = gate.feed(piece)
        released.extend((s.text, number, bool(s.violations)) for s in outcome.sentences)
        if outcome.stopped:
            return released
    outcome = gate.finish()
    released.extend((s.text, len(pieces), bool(s.violations)) for s in outcome.sentences)
    return released
