"""What stands around an answer in a model's output and is no part of it.

Dialog mode asks the model for ``  "the answer"`` or ``Bot message: "the answer"``; some models
write their reasoning as ``<think>…</think>`` first. Both are taken off before the gate reads.
"""

from __future__ import annotations

from typing import Any

_THINK, _THINK_END = "<think>", "</think>"
MAX_HELD = 64
"""Code points that may wait for a quotation mark: only blanks ever do, and a bound keeps it linear."""

_OPENINGS = ('Bot message: "', '"')


class Framing:
    """Takes the frame off a text that arrives in pieces. State: what is held, and what is still awaited.

    `quoted`: whether the answer is asked for in quotation marks. Reasoning is counted, not kept.
    """

    def __init__(self, *, quoted: bool = False) -> None:
        self._quoted = quoted
        self._stage = "start"
        self._held = ""
        self._closing = False
        self.reasoning_chars = 0

    @classmethod
    def of_handler(cls, handler: Any, *, to_rails: bool = False) -> Framing:
        """Take over from NeMo's streaming handler, which would join and cut sentences at its patterns.

        `to_rails`: its items go to output rails, and it then keeps back the empty one that a last
        chunk without text makes: some rails of NeMo's library (self check output) block no text.
        """
        if handler is None:
            return cls()
        quoted = bool(handler.prefix)
        handler.set_pattern(prefix=None, suffix=None)
        handler.stop = []
        if to_rails:
            push = handler.push_chunk

            async def push_text(chunk: Any, metadata: Any = None) -> None:
                if chunk != "":
                    await push(chunk, metadata)

            handler.push_chunk = push_text
        return cls(quoted=quoted)

    def feed(self, text: str) -> str:
        """The part of the answer that is certain now."""
        self._held += text
        if self._stage == "start":
            self._start()
        if self._stage == "think":
            self._think()
        if self._stage == "after":
            self._after()
        if self._stage == "open":
            self._open()
        if self._stage != "body":
            return ""
        return self._body()

    def finish(self) -> str:
        """What is left at the end, without the closing quotation mark."""
        held, self._held = self._held, ""
        if self._stage == "think":
            self.reasoning_chars += len(held)
            return ""
        if self._closing and held.rstrip().endswith('"'):
            return held.rstrip()[:-1]
        return held

    def _start(self) -> None:
        begun = self._held.lstrip()
        if begun.startswith(_THINK):
            self._held, self._stage = begun[len(_THINK) :], "think"
        elif not _THINK.startswith(begun) or len(self._held) > MAX_HELD:
            self._stage = "open" if self._quoted else "body"

    def _think(self) -> None:
        thought, found, rest = self._held.partition(_THINK_END)
        if found:
            self.reasoning_chars += len(thought)
            self._held, self._stage = rest, "after"
        else:
            keep = len(_THINK_END) - 1
            self.reasoning_chars += max(len(thought) - keep, 0)
            self._held = thought[-keep:]

    def _after(self) -> None:
        """The blank lines between the reasoning and the answer belong to neither."""
        self._held = self._held.lstrip()
        if self._held:
            self._stage = "open" if self._quoted else "body"

    def _open(self) -> None:
        begun = self._held.lstrip()
        for opening in _OPENINGS:
            if begun.startswith(opening):
                self._held, self._stage, self._closing = begun[len(opening) :], "body", True
                return
        if len(self._held) > MAX_HELD or (begun and not any(o.startswith(begun) for o in _OPENINGS)):
            self._stage = "body"

    def _body(self) -> str:
        """All but a tail that may prove to be the closing quotation mark."""
        held = self._held
        cut = len(held)
        if self._closing:
            stripped = held.rstrip()
            cut = len(stripped) - stripped.endswith('"')
            if len(held) - cut > MAX_HELD:
                cut = len(held)
        self._held = held[cut:]
        return held[:cut]


def bare(text: str, *, quoted: bool) -> str:
    """A whole answer without what stands around it."""
    framing = Framing(quoted=quoted)
    return framing.feed(text) + framing.finish()
