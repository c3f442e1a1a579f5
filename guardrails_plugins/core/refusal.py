"""The refusal token: fixed text with which a model says that the sources do not answer.

It is text of its own only when no letter, digit or ``_`` touches it.
"""

from __future__ import annotations

import regex

_WORDLIKE = r"[\p{L}\p{M}\p{N}_]"
_MARKER_OPENERS = frozenset("[［【")
_GLUED = regex.compile(_WORDLIKE)


class RefusalToken:
    """Finds one token; also watches the start of a stream, to act before the first boundary.

    `undecided` is true while the text so far could still become the token.
    """

    __slots__ = ("_head", "_pattern", "token", "undecided")

    def __init__(self, token: str | None) -> None:
        self.token = token or ""
        self._pattern = regex.compile(rf"(?<!{_WORDLIKE}){regex.escape(self.token)}(?!{_WORDLIKE})") if token else None
        self._head = ""
        self.undecided = token is not None

    def find(self, text: str, start: int = 0) -> int:
        """Where the token stands in `text` with its end behind `start`, or -1."""
        if self._pattern is None or self.token not in text:
            return -1
        match = self._pattern.search(text, max(0, start - len(self.token)))
        return match.start() if match is not None and match.end() > start else -1

    def opens(self, piece: str) -> bool:
        """Take the next piece of the stream's start; true once it is sure that it begins with the token.

        A marker behind the token decides nothing here: it is taken out, and what follows it
        may touch the token (``NO_ANSWER[S1]S`` is shown as ``NO_ANSWERS``).
        """
        # Whitespace alone is not kept: a stream may begin with any amount of it.
        self._head = (self._head + piece).lstrip()
        head, size = self._head, len(self.token)
        if len(head) <= size:
            self.undecided = self.token.startswith(head)
            if not self.undecided:
                self._head = ""
            return False
        self.undecided = False
        self._head = ""  # nothing of a sentence that may be blocked is kept
        after = head[size]
        return head.startswith(self.token) and after not in _MARKER_OPENERS and not _GLUED.match(after)

    def is_whole(self) -> bool:
        """Whether the stream, now ended, was the token alone."""
        return self._head.rstrip() == self.token

    def discard(self) -> None:
        """Forget what was seen of the stream's start."""
        self._head, self.undecided = "", False
