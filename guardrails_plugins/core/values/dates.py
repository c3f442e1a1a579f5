"""Dates as single values, in the calendar they are written in (never converted)."""

from __future__ import annotations

import re
from typing import NamedTuple

import regex

from guardrails_plugins.core.values.scan import Scan

_NUMERIC = re.compile(
    r"(?<![\d./-])(?:(\d{4})([-/.])(\d{1,2})\2(\d{1,2})|(\d{1,2})([-/.])(\d{1,2})\6(\d{4}|\d{2}))(?![\d]|[-/.]\d)"
)
_CJK = re.compile(r"(?:(\d{4}|\d{2}) ?年 ?)?(\d{1,2}) ?月(?: ?(\d{1,2}) ?[日号號])?")
_DAY = re.compile(r"(\d{1,2})(?!\d)")
_YEAR = re.compile(r"(\d{4})(?![\d]|[.,]\d)")
# º and ª are o and a once folded.
_DAY_SUFFIX = regex.compile(r"(?:(?:st|nd|rd|th|er|\.?[oaºª°])(?!\p{L})|-?го|-?е|\.)?")
_ORDINAL_SUFFIX = regex.compile(r"-?([\p{L}\p{M}]{1,4})(?![\p{L}\p{M}])")
_MONTH_AND_YEAR = re.compile(r"(?<![\d./-])(0?[1-9]|1[0-2])/([12]\d{3})(?![\d]|[-/.]\d)")
_BLANK_DATE = re.compile(r"(\d{1,2})\. (\d{1,2})\. ?(\d{4})(?!\d)")
_DAYS = re.compile(r"(\d{1,2}) ?[-~] ?(\d{1,2})(?![\d:]|[.,]\d)")
_CJK_DAYS = re.compile(r"(?:(\d{4}) ?年 ?)?(\d{1,2}) ?月 ?(\d{1,2}) ?[日号號]? ?(?:-|~|至|到) ?(\d{1,2}) ?[日号號]")
_GAP = re.compile(r"[ ,،/-]{0,3}")
_YEAR_GAP = re.compile(r"[ ,،/-]{0,3}\(?")
_OTHER_NAME = regex.compile(r" ?\([\p{L}\p{M}]{2,12}\)")  # 5 مارس (آذار) 2018
_SOON_A_YEAR = re.compile(r"(?: \d{1,2})?,? \d{4}(?!\d)")
_OTHER_CALENDARS = range(1200, 1500)
"""Years in which Persian and Islamic dates of today are counted."""
_CONNECTOR_BEFORE = regex.compile(r"(?r)(\p{L}{1,4}) ")
_CONNECTOR_TO_MONTH = regex.compile(r" (\p{L}{1,6})(?= )|,")
_WORD_TO_YEAR = regex.compile(r"[ ,،]{1,2}([\p{L}\p{M}']{1,8})(?= )")

DAYS = 31
MONTHS = 12


class Date(NamedTuple):
    """Parts of a date; 0 where it names none. `calendar` is g, p or i."""

    calendar: str
    year: int
    month: int
    day: int

    @property
    def key(self) -> str:
        """What it denotes, as a lookup key."""
        return f"d:{self.calendar}:{self.year}-{self.month}-{self.day}"


def read_numeric(text: str, start: int, order: str) -> tuple[list[Date], int] | None:
    """``2026-09-17``, ``17.09.2026``, ``3/4/2026`` (both readings), ``2026年9月17日``."""
    cjk = _CJK.match(text, start)
    if cjk is not None:
        year, month, day = (int(g or 0) for g in cjk.groups())
        if 1 <= month <= MONTHS and day <= DAYS:
            return [Date("g", year, month, day)], cjk.end()
    short = _MONTH_AND_YEAR.match(text, start)
    if short is not None:
        return [Date("g", int(short.group(2)), int(short.group(1)), 0)], short.end()
    spaced = _BLANK_DATE.match(text, start) if order == "dmy" else None
    if spaced is not None:
        dates = _valid([(int(spaced.group(3)), int(spaced.group(2)), int(spaced.group(1)))])
        return (dates, spaced.end()) if dates else None
    match = _NUMERIC.match(text, start)
    if match is None:
        return None
    groups = match.groups()
    if groups[0]:
        dates = _valid([(int(groups[0]), int(groups[2]), int(groups[3]))])
        return (dates, match.end()) if dates else None
    first, second, year = int(groups[4]), int(groups[6]), int(groups[7])
    if len(groups[7]) == 2 and groups[5] != ".":
        years = [1900 + year, 2000 + year]
    else:
        years = [year] if len(groups[7]) == 4 else [2000 + year, 1900 + year]
    dates = _valid([(y, m, d) for y in years for m, d in ((second, first), (first, second))])
    return (dates, match.end()) if dates else None


def _valid(parts: list[tuple[int, int, int]]) -> list[Date]:
    return [
        Date(calendar, y, m, d)
        for y, m, d in dict.fromkeys(parts)
        for calendar in ("gpi" if y in _OTHER_CALENDARS else "g")
        if 1 <= m <= MONTHS and 1 <= d <= DAYS
    ]


def read_days(scan: Scan, start: int) -> tuple[Date, Date, tuple[int, int, int, int]] | None:
    """``3-7 March 2019``, ``March 3-7, 2019``, ``3月5日至12日``: both days, and the two spans."""
    text = scan.text
    cjk = _CJK_DAYS.match(text, start)
    if cjk is not None:
        year, month, first, last = (int(g or 0) for g in cjk.groups())
        if 1 <= month <= MONTHS and 1 <= first < last <= DAYS:
            spans = (start, cjk.end(3), cjk.start(4), cjk.end())
            return Date("g", year, month, first), Date("g", year, month, last), spans
    match = _DAYS.match(text, start)
    if match is None or not 1 <= int(match.group(1)) < int(match.group(2)) <= DAYS:
        return None
    begin = start
    found = _month_after(scan, match.end())
    if found is not None:
        calendar, number, end = found
    else:
        before = scan.before(start, scan.lexicon.months)
        if before is None or not _is_month_word(scan, before[1], start):
            return None
        calendar, _, named = before[0].partition(":")
        number, begin, end = int(named), before[1], match.end()
    year, end = _year_after(scan, end)
    one, two = (Date(calendar, year, number, int(match.group(n))) for n in (1, 2))
    return one, two, (begin, match.end(1), match.start(2), end)


def read_named(scan: Scan, start: int) -> tuple[list[Date], int, int] | None:
    """A date with a month's name, of which the digits at `start` are the first: its readings and span."""
    text = scan.text
    day = _DAY.match(text, start)
    if day is not None and 1 <= int(day.group(1)) <= DAYS:
        found = _month_after(scan, day.end())
        if found is not None:
            calendar, month, end = found
            year, end = _year_after(scan, end)
            return [Date(calendar, year, month, int(day.group(1)))], start, end
    year_match = _YEAR.match(text, start)
    if year_match is not None:
        found = _month_after(scan, year_match.end())
        if found is not None:
            calendar, month, end = found
            gap = _GAP.match(text, end)
            day = _DAY.match(text, gap.end()) if gap is not None else None
            if day is not None and 1 <= int(day.group(1)) <= DAYS:
                return [Date(calendar, int(year_match.group(1)), month, int(day.group(1)))], start, day.end()
            return [Date(calendar, int(year_match.group(1)), month, 0)], start, end
    return _month_before(scan, start)


def _month_before(scan: Scan, start: int) -> tuple[list[Date], int, int] | None:
    """``September 17, 2026``, ``September 2026``: the month stands before the digits."""
    text = scan.text
    at = start
    before = scan.before(at, scan.lexicon.months)
    if before is None:
        connector = _CONNECTOR_BEFORE.match(text, max(0, at - 6), at)
        if connector is None or connector.group(1).lower() not in scan.lexicon.connectors:
            if text[max(0, at - 2) : at] != ", ":
                return None
            at -= 2
        else:
            at = connector.start()
        before = scan.before(at, scan.lexicon.months)
        if before is None:
            return None
    meaning, begin = before
    if meaning and not _is_month_word(scan, begin, at):
        return None
    calendar, month = meaning.split(":")
    year = _YEAR.match(text, start)
    if year is not None:
        return [Date(calendar, int(year.group(1)), int(month), 0)], begin, year.end()
    day = _DAY.match(text, start)
    if day is None or not 1 <= int(day.group(1)) <= DAYS:
        return None
    end = _suffix_end(scan, day.end())
    if text[end - 1] == ".":
        end = day.end()
    number, end = _year_after(scan, end)
    return [Date(calendar, number, int(month), int(day.group(1)))], begin, end


def _month_after(scan: Scan, end: int) -> tuple[str, int, int] | None:
    position = _suffix_end(scan, end)
    for _ in range(2):
        found = scan.after(position, scan.lexicon.months)
        if found is not None:
            at = position + (scan.text[position : position + 1] in (" ", "-"))
            if not _is_month_word(scan, at, found[1]):
                return None
            calendar, month = found[0].split(":")
            return calendar, int(month), found[1]
        connector = _CONNECTOR_TO_MONTH.match(scan.text, position, position + 9)
        if connector is None or (connector.group(1) or "de").lower() not in scan.lexicon.connectors | {"de"}:
            return None
        position = connector.end()
    return None


def _suffix_end(scan: Scan, end: int) -> int:
    """Where the suffix of a day ends (``1st``, ``1º``, ``7वीं``); `end` where it has none."""
    suffix = _DAY_SUFFIX.match(scan.text, end)
    if suffix is not None and suffix.group():
        return int(suffix.end())
    other = _ORDINAL_SUFFIX.match(scan.lower, end)
    return int(other.end()) if other is not None and other.group(1) in scan.lexicon.ordinal_suffixes else end


def _is_month_word(scan: Scan, start: int, end: int) -> bool:
    """English names that are also everyday words (may, march) count only with a capital, or beside a year."""
    word = scan.text[start:end]
    if _SOON_A_YEAR.match(scan.text, start + len(word.rstrip())) is not None:
        return True
    return not (
        word.isascii()
        and word[:1].islower()
        and word.rstrip(" .").lower() in ("may", "march", "mar", "dec", "sep", "jan", "mehr", "tir")
    )


def _year_after(scan: Scan, end: int) -> tuple[int, int]:
    """The year behind a day or month, past what may stand between (``im Jahr``), and the end; 0 where there is none."""
    text, position = scan.text, end
    other = _OTHER_NAME.match(text, end)
    if other is not None:
        position = other.end()
    for _ in range(4):
        gap = _YEAR_GAP.match(text, position)
        at = gap.end() if gap is not None else position
        year = _YEAR.match(text, at)
        if year is not None and at > end:
            closed = text[at - 1] == "(" and text[year.end() : year.end() + 1] == ")"
            if text[at - 1] != "(" or closed:
                return int(year.group(1)), year.end() + closed
        word = _WORD_TO_YEAR.match(text, position, position + 12)
        if word is None or word.group(1).lower() not in scan.lexicon.year_words:
            break
        position = word.end()
    return 0, end
