"""Clock times as minutes since midnight."""

from __future__ import annotations

import re
from typing import NamedTuple

import regex

from guardrails_plugins.core.values.model import Reading
from guardrails_plugins.core.values.scan import Scan

_CLOCK = re.compile(r"(?<![\d:.])(\d{1,2})[:٫](\d{1,2})(?::(\d{2}))?(?![\d]|:\d)")
_CJK = re.compile(r"(\d{1,2}) ?[点點时時](?: ?(\d{1,2}) ?分|(半))?")
_HOUR_MARK = regex.compile(r"(\d{1,2}) ?[hH](?: ?(\d{2})(?!\d)|(?= |$|[,.;)]))(?!\p{L})")
_DOTTED = re.compile(r"(\d{1,2})\.(\d{2})(?!\d)")
_HOUR = re.compile(r"(\d{1,2})(?![\d:]|[.,]\d)")
HALF_DAY = 720
DAY = 1440


class Time(NamedTuple):
    """Possible readings in minutes since midnight; `exact` is false where the half of the day is not stated."""

    minutes: tuple[int, ...]
    exact: bool
    end: int


def read_time(scan: Scan, start: int) -> Time | None:
    """The clock time whose first digit stands at `start`; None when it is none."""
    text = scan.text
    match = _CLOCK.match(text, start)
    if match is not None:
        hour, minute = int(match.group(1)), int(match.group(2))
        if hour > 24 or minute > 59:
            return None
        return _with_half(scan, start, match.end(), hour, minute, bare=True)
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
    return _with_half(scan, start, found.end(), hour, minute, bare=False)


def _with_half(scan: Scan, start: int, end: int, hour: int, minute: int, *, bare: bool) -> Time | None:
    lexicon = scan.lexicon
    worded = bare
    oclock = scan.after(end, lexicon.hour)
    if oclock is not None:
        worded, end = True, oclock[1]
    half = scan.after(end, lexicon.am)
    if half is None:
        before = scan.before(start, lexicon.am)
        # Before the time only where the language writes it so (下午3点); "at" and "am" are too short.
        half = (
            before
            if (before is not None and not before[0].isascii()) or (before and ord(scan.text[before[1]]) > 0x2E7F)
            else None
        )
        if half is not None:
            half = (half[0], end)
    if half is not None and 1 <= hour <= 12:
        base = (hour % 12) * 60 + minute + (HALF_DAY if half[0] == "pm" else 0)
        return Time((base,), True, half[1])
    if not worded:
        return None
    base = (hour * 60 + minute) % DAY
    if hour > 12 or hour == 0:
        return Time((base,), True, end)
    return Time((base,), False, end)


def whole_hour(scan: Scan, start: int, hour: str) -> list[Reading]:
    """``ساعت ۱۷``, ``الساعة 17``: where the word stands in front, a whole hour may be a time as well."""
    lexicon = scan.lexicon
    if lexicon.code not in ("fa", "ar") or not hour.isdigit() or len(hour) > 2 or not 1 <= int(hour) <= 24:
        return []
    if scan.before(start, lexicon.hour) is None:
        return []
    minutes = int(hour) * 60 % DAY
    return [Reading(f"{'t' if minutes > HALF_DAY else 'h'}:{minutes}", "", frozenset({"clock"}))]
