"""Markdown and HTML out of the way of values: what the reader does not see parts no number from its unit.

``**5** million`` is read as ``5 million`` and ``20<b>19</b>`` as ``2019``, because that is how they are shown
(SPEC 0.4). A lone ``*`` and any ``_`` count as emphasis only where CommonMark lets them open or close one:
not between blanks, and not inside a word or between two digits.
"""

from __future__ import annotations

import re

_MARKUP = re.compile(r"[*_~`<]")
_HIDDEN = re.compile(
    r"<!--[^<>\d]{0,200}-->"
    r"|</?[A-Za-z][A-Za-z0-9]{0,15}(?:\s(?:(?!href|src|://)[^<>\n]){0,200})?/?>"  # a target is judged
    r"|\*{2,}|~{2,}|`+"
    r"|(?<![\w*])\*(?=[^\s*])|(?<=[^\s*])\*(?![\w*])"
    # an underscore inside a word or an address is one of its letters
    r"|(?<![^\s\"'(\[“«*$€£])_+(?=[^\s_])|(?<=[^\s_])_+(?=[\s.,;:!?)\]\"'”»*%]|\Z)"
)


def without_markup(text: str) -> tuple[str, list[int] | None]:
    """The text without emphasis, tags and comments, and for each of its characters (and the end) the
    position in `text`; None when positions are the same."""
    if _MARKUP.search(text) is None:
        return text, None
    kept: list[str] = []
    places: list[int] = []
    position = 0
    for match in _HIDDEN.finditer(text):
        kept.append(text[position : match.start()])
        places.extend(range(position, match.start()))
        position = match.end()
    if not kept:
        return text, None
    kept.append(text[position:])
    places.extend(range(position, len(text) + 1))
    return "".join(kept), places


def in_override(text: str, start: int) -> bool:
    """Whether the character at `start` stands in a right-to-left override: digits there are shown backwards."""
    return text.rfind("\u202e", 0, start) > text.rfind("\u202c", 0, start)
