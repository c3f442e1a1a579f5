"""Markdown and HTML out of the way of values: what the reader does not see parts no number from its unit.

``**5** million`` is read as ``5 million`` and ``20<b>19</b>`` as ``2019``, because that is how they are shown
(SPEC 0.4). A lone ``*`` and any ``_`` count as emphasis only where CommonMark lets them open or close one:
not between blanks, and not inside a word or between two digits.
"""

from __future__ import annotations

import re

_BLANKS = " \t\r\u00a0\u2000-\u200a\u2028\u2029\u202f\u205f\u2800\u3000\x0b\x0c\x85"
_SPACES = "\u00a0\u2000-\u200a\u202f\u205f\u3000"  # alone they fold to a blank, or part thousands
_MARKUP = re.compile(rf"[*_~`<\\&{{，：—]|[{_BLANKS}]{{2}}|[\t\r\u2028\u2029\u2800\x0b\x0c\x85]")
_HIDDEN = re.compile(
    r"(?P<blank>&(?:nbsp|ensp|emsp|thinsp|#160|#xa0);|<br ?/?>|\\[\n ])"
    r"|(?<=\d)(?:\{(?P<sign>[.,])\}|\\(?P<escaped>[.,]))(?=\d)"  # TeX: 2{,}412
    # they fold to a comma, a colon, a hyphen, which an address or a time may hold
    r"|(?P<pause>(?<!\d)[，：]|[，：](?!\d)|—(?!\d))"
    r"|<!--[^<>\d]{0,200}-->"
    # a target is judged, and so are digits
    r"|</?[A-Za-z][A-Za-z0-9]{0,15}(?:\s(?:(?!href|src|action|data|poster|cite)[^<>\n\d./:]){0,200}+)?/?>"
    r"|\*{2,}|~{2,}|`+"
    r"|(?<![\w*])\*(?=[^\s*])|(?<=[^\s*])\*(?![\w*])"
    # an underscore inside a word or an address is one of its letters
    r"|(?<![^\s\"'(\[“«*$€£])_+(?=[^\s_])|(?<=[^\s_])_+(?=[\s.,;:!?)\]\"'”»*%]|\Z)"
)
# A run of blanks shows as one, save between two digits, where it parts two numbers.
_RUN = re.compile(rf"(?!(?<=\d)[{_BLANKS}]+\d)(?:[{_BLANKS}]{{2,}}|(?![ {_SPACES}])[{_BLANKS}])")
_SHOWN = {"blank": " ", "pause": "、"}


def without_markup(text: str) -> tuple[str, list[int] | None]:
    """The text without emphasis, tags and comments and with single blanks, and for each of its characters
    (and the end) the position in `text`; None when positions are the same."""
    if _MARKUP.search(text) is None:
        return text, None
    places = list(range(len(text) + 1))
    shown, places = _without(text, places, _HIDDEN)
    shown, places = _without(shown, places, _RUN)
    return (text, None) if shown == text else (shown, places)


def _without(text: str, places: list[int], pattern: re.Pattern[str]) -> tuple[str, list[int]]:
    kept: list[str] = []
    where: list[int] = []
    position = 0
    for match in pattern.finditer(text):
        kept.append(text[position : match.start()])
        where.extend(places[position : match.start()])
        position = match.end()
        put = (
            " "
            if pattern is _RUN
            else _SHOWN.get(match.lastgroup or "") or (match.lastgroup and match[match.lastgroup])
        )
        if put:
            kept.append(put)
            where.append(places[match.start()])
    if not kept:
        return text, places
    kept.append(text[position:])
    where.extend(places[position:])
    return "".join(kept), where


def in_override(text: str, start: int) -> bool:
    """Whether the character at `start` stands in a right-to-left override: digits there are shown backwards."""
    return text.rfind("\u202e", 0, start) > text.rfind("\u202c", 0, start)
