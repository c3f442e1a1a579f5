"""Clock times as minutes since midnight."""

from __future__ import annotations

import re
from typing import NamedTuple

import regex

from guardrails_plugins.core.values.lexicon import FIRST_EAST_ASIAN
from guardrails_plugins.core.values.model import Reading
from guardrails_plugins.core.values.scan import Scan

_CLOCK = re.compile(r"(?<![\d:.])(\d{1,2})[:٫](\d{1,2})(?::(\d{2}))?(?![\d]|:\d)")
_CJK = re.compile(r"(\d{1,2}) ?[点點时時](?: ?(\d{1,2}) ?分|(半))?")
_HOUR_MARK = regex.compile(r"(\d{1,2}) ?[hH](?: ?(\d{2})(?!\d)|(?= |$|[,.;)]))(?!\p{L})")
_DOTTED = re.compile(r"(\d{1,2})\.(\d{2})(?!\d)")
_HOUR = re.compile(r"(\d{1,2})(?![\d:]|[.,]\d)")
_MINUTES = re.compile(r" ?(?:(?:et|e|y|и|و|और) ?)?(\d{1,2})(?![\d.,:]\d|\d)")
_MINUTES_END = re.compile(r" ?(?:[.,;:!?)|]|$)| (?:[^\W\d_])")
_DOTTED_TIME = re.compile(r"([01]?\d|2[0-3])\.([0-5]\d)(?![\d.,]\d|\d)")
_AFTER_TIME = re.compile(r"\d:\d{2} ?(?:-|to|bis|à|a|до|تا|إلى|الی|से|至|到) ?$")
_DAY_OF_24 = frozenset({"de", "es", "fr", "pt", "ru", "zh"})
"""Languages in which a time without a half of the day counts 24 hours."""
HALF_DAY = 720
DAY = 1440


class Time(NamedTuple):
    """Possible readings in minutes since midnight; `exact` is false where the half of the day is not stated."""

    minutes: tuple[int, ...]
    exact: bool
    end: int
    seconds: str = ""


def read_time(scan: Scan, start: int) -> Time | None:
    """The clock time whose first digit stands at `start`; None when it is none."""
    text = scan.text
    match = _CLOCK.match(text, start)
    if match is not None:
        hour, minute = int(match.group(1)), int(match.group(2))
        if hour > 24 or minute > 59:
            return None
        time = _with_half(scan, start, match.end(), hour, minute, bare=True)
        return time._replace(seconds=f":{match[3]}") if time is not None and match[3] else time
    cjk = _CJK.match(text, start)
    if cjk is not None and int(cjk.group(1)) <= 24:
        minute = 30 if cjk.group(3) else int(cjk.group(2) or 0)
        return _with_half(scan, start, cjk.end(), int(cjk.group(1)), minute, bare=True)
    marked = (
        _HOUR_MARK.match(text, start) if scan.lexicon.code in ("fr", "pt", "es") or not scan.lexicon.decimal else None
    )
    if marked is not None and marked.group(2) is not None and int(marked.group(1)) <= 24:
        return _with_half(scan, start, marked.end(), int(marked.group(1)), int(marked.group(2)), bare=True)
    return _read_worded(scan, start)


def _read_worded(scan: Scan, start: int) -> Time | None:
    """``9 am``, ``9.30 p.m.``, ``21.00 Uhr``, ``9 o'clock``: a word says that it is a time."""
    text = scan.text
    dotted = _DOTTED.match(text, start)
    found = dotted or _HOUR.match(text, start)
    if found is None:
        return None
    hour, minute = int(found.group(1)), int(found.group(2)) if dotted is not None else 0
    if hour > 24 or minute > 59:
        return None
    if scan.lexicon.code in ("fa", "ar") and scan.before(start, scan.lexicon.hour) is not None:
        minute, end = _minutes(scan, found.end())
        if minute:
            return _with_half(scan, start, end, hour, minute, bare=True)
    return _with_half(scan, start, found.end(), hour, minute, bare=False)


def _with_half(scan: Scan, start: int, end: int, hour: int, minute: int, *, bare: bool) -> Time | None:
    lexicon = scan.lexicon
    worded = bare
    oclock = scan.after(end, lexicon.hour)
    if oclock is not None:
        bare = bare or scan.lower[oclock[1] - 1] == "h"
        worded, end = True, oclock[1]
        if not minute:
            minute, end = _minutes(scan, end)
    half = scan.after(end, lexicon.am)
    if half is None:
        before = scan.before(start, lexicon.am)
        # Before the time only where the script writes it so (下午3点, शाम 6 बजे); "at" and "am" are too short.
        if before is not None and (
            scan.text[before[1]] >= FIRST_EAST_ASIAN or "\u0900" <= scan.text[before[1]] <= "\u097f"
        ):
            half = (before[0], end)
    if half is not None and 1 <= hour <= 12:
        base = (hour % 12) * 60 + minute + (HALF_DAY if half[0] == "pm" else 0)
        return Time((base,), True, half[1])
    if not worded:
        return None
    base = (hour * 60 + minute) % DAY
    exact = hour > 12 or hour == 0 or (bare and lexicon.code in _DAY_OF_24)
    return Time((base,), exact, end)


def first_end(scan: Scan, hour: int, second: Time) -> int:
    """The minutes of ``9`` in ``9 to 5 pm``: the same half of the day as the second end, where it comes before that."""
    base = hour % 12 * 60
    if scan.lexicon.code in _DAY_OF_24:
        return hour * 60 % DAY
    last = second.minutes[0]
    same = base + (HALF_DAY if last >= HALF_DAY else 0)
    return same if same < last else (same + HALF_DAY) % DAY


def _minutes(scan: Scan, end: int) -> tuple[int, int]:
    """The minutes behind an hour's word: ``18 heures 45``, ``18 часов 45 минут``, ``18 Uhr 30``."""
    match = _MINUTES.match(scan.text, end)
    if match is None or int(match.group(1)) > 59:
        return 0, end
    word = scan.after(match.end(), scan.lexicon.minute)
    if word is None and (len(match.group(1)) != 2 or not _MINUTES_END.match(scan.text, match.end())):
        return 0, end
    return int(match.group(1)), word[1] if word is not None else match.end()


def unworded(scan: Scan, start: int, end: int, number: str) -> list[Reading]:
    """The readings as a time of a number that stands alone.

    ``ساعت ۱۷``, ``الساعة 17`` (the word stands in front), ``9:30 تا 18`` (behind a time), and ``18.00``
    where the decimal sign is the comma.
    """
    lexicon, text = scan.lexicon, scan.text
    needs = frozenset({"clock"})
    dotted = _DOTTED_TIME.fullmatch(text, start, end) if lexicon.decimal == "," else None
    if dotted is not None:
        minutes = int(dotted.group(1)) * 60 + int(dotted.group(2))
        return [Reading(f"t:{minutes}", "", needs)]
    if not number.isdigit() or len(number) > 2 or not 1 <= int(number) <= 24:
        return []
    minutes = int(number) * 60 % DAY
    worded = lexicon.code in ("fa", "ar") and scan.before(start, lexicon.hour) is not None
    if worded or _AFTER_TIME.search(text, max(0, start - 12), start):
        return [Reading(f"{'t' if minutes > HALF_DAY else 'h'}:{minutes}", "", needs)]
    return []
