"""One extractor for answers and sources: the values of a text, in order."""

from __future__ import annotations

import re
from collections.abc import Iterator

from guardrails_plugins.core.languages.profile import LanguageProfile
from guardrails_plugins.core.normalize import fold
from guardrails_plugins.core.sentence import Span
from guardrails_plugins.core.values import clock, dates, links, numbers, tokens
from guardrails_plugins.core.values.lexicon import JOINERS, Lexicon, answer_lexicon
from guardrails_plugins.core.values.markup import in_override, without_markup
from guardrails_plugins.core.values.mentions import is_mention
from guardrails_plugins.core.values.model import NONE, Reading, Value
from guardrails_plugins.core.values.plain import noun_after, read_alone
from guardrails_plugins.core.values.ranges import share_unit, short_year
from guardrails_plugins.core.values.scan import Scan

_DIGIT = re.compile(r"[0-9]")
# A digit, or what folding makes one of.
_HAS_DIGIT = re.compile(
    "[\\d⁰¹²³⁴⁵⁶⁷⁸⁹₀-₉¼-¾⅐-⅟↉\u2460-\u249b\u24ea-\u24ff\u2776-\u2793\u3220-\u3229\u3248-\u324f\u3251-\u325f\u3280-\u3289"
    "\u32b1-\u32cb\u3358-\u3370\u33e0-\u33fe\U0001f100-\U0001f10a]"
)
_RANGE = re.compile(r" ?(?:-|~|〜|～) ?(?=[$€£¥₹]?\d)")
_TO = re.compile(rf" (?:{'|'.join(sorted(JOINERS))}) (?=[$€£¥₹]?\d)")
# A wrapped line goes on; two numbers on two lines stay two.
_WRAP = re.compile(r"(?<!\d)\n|\n(?!\d)")
_YEAR_DIGITS = 4
_POWER = re.compile(r"\^\d+")
_CODE_AND_SUM = re.compile(r"([A-Z]{3})\d+(?:\.\d+)*|\d+(?:\.\d+)*([A-Z]{3})")
_RATIO = re.compile(r"\d{1,4}:\d{1,4}(?![\d:])")


def extract(
    text: str,
    profile: LanguageProfile,
    *,
    equivalences: frozenset[str],
    list_prefix: int = 0,
    source_count: int = 0,
) -> tuple[Value, ...]:
    """The values of a sentence's shown form, in order; linear in its length.

    The first `list_prefix` characters are a list marker and hold none. With the equivalence
    ``source_mention`` a mention of one of `source_count` sources by its number is none.
    """
    digit = _DIGIT if text.isascii() else _HAS_DIGIT
    if digit.search(text) is None and not links.may_hold_link(text):
        return ()
    if "\n" in text:
        text = _WRAP.sub(" ", text)
    lexicon = answer_lexicon(profile.code)
    count = source_count if "source_mention" in equivalences else 0
    values = tuple(read(text, lexicon, start=list_prefix, source_count=count))
    if "\u202e" in text:  # what is shown there is no value of any source
        return tuple(v._replace(readings=()) if in_override(text, v.span[0]) else v for v in values)
    return values


def read(text: str, lexicon: Lexicon, *, start: int = 0, source_count: int = 0) -> Iterator[Value]:
    """The values of a text read with a lexicon; spans lie in `text`."""
    shown, places = without_markup(text)
    folded, offsets = fold(shown)
    if places is not None:
        offsets = places if offsets is None else [places[at] for at in offsets]
    begin = start
    if offsets is not None and start:
        begin = next((i for i, o in enumerate(offsets) if o >= start), len(folded))
    values = _Reader(Scan(folded, lexicon), begin, source_count).values()
    return values if offsets is None else (_placed(value, offsets) for value in values)


def _placed(value: Value, offsets: list[int]) -> Value:
    """A value of the folded text with its span in the text it was folded from."""
    first, last = value.span
    return value._replace(span=Span(offsets[first], offsets[last - 1] + 1 if last > first else offsets[last]))


class _Reader:
    """Reads one folded text from left to right; each digit belongs to one value."""

    __slots__ = ("_count", "_scan", "_start", "_text")

    def __init__(self, scan: Scan, start: int, source_count: int) -> None:
        self._scan = scan
        self._text = scan.text
        self._start = start
        self._count = source_count

    def values(self) -> Iterator[Value]:
        text, search = self._text, _DIGIT.search
        endings = self._scan.lexicon.domain_endings
        position = self._start
        pending: list[links.Link | None] = [None]
        if links.looks_like_link(text):
            pending = [*(link for link in links.find_links(text, endings) if link.start >= position), None]
        for link in pending:
            limit = link.start if link is not None else len(text)
            while (digit := search(text, position, limit)) is not None:
                start = digit.start()
                alone = read_alone(self._scan, start)
                if alone is not None:
                    position = alone.span[1]
                    yield alone
                    continue
                found, end = self._at(start, position)
                yield from found
                position = max(end, digit.end())
            if link is not None:
                reading = Reading(link.key, text[link.start : link.end], NONE, link.scheme)
                yield Value(link.kind, Span(link.start, link.end), (reading,))
                position = link.end

    def _at(self, start: int, floor: int) -> tuple[list[Value], int]:
        """The values that begin with the digit at `start`, and where they end."""
        text, scan = self._text, self._scan
        if text[start - 1 : start] == "^" and (
            text[start - 2 : start - 1].isalnum() or text[start - 2 : start - 1] in (")", "]")
        ):
            end = self._digits_end(start)
            if end - start < _YEAR_DIGITS or text[start - 2].isdigit():
                return [], end  # a power or a note; more digits are a value put out of the way
        glued = tokens.glued_end(text, start)
        if glued:
            token = text[start:glued].casefold().replace(" ", "")
            return [self._value("identifier", start, glued, (Reading(f"i:{token}", token),))], glued
        days = dates.read_days(scan, start)
        if days is not None and days[2][0] >= floor:
            one, two, (begin, middle, second, end) = days
            return [self._date([one], begin, middle), self._date([two], second, end)], end
        dated = dates.read_numeric(text, start, scan.lexicon.order)
        if dated is not None:
            return [self._date(dated[0], start, dated[1])], dated[1]
        phone = tokens.phone_span(text, start)
        if phone is not None:
            begin, end, digits = phone
            number = f"n:={digits}" if digits[0] == "0" else f"n:{digits}"
            readings = (Reading(f"p:{digits}", digits), Reading(number, digits, frozenset({"thousands"})))
            return [self._value("phone", begin, end, readings)], end
        named = dates.read_named(scan, start)
        if named is not None and named[1] >= floor:
            return [self._date(named[0], named[1], named[2])], named[2]
        identifier = self._identifier(start, floor)
        if identifier is not None:
            return identifier
        time = clock.read_time(scan, start)
        if time is not None:
            return self._times(start, time)
        return self._numbers(start)

    def _identifier(self, start: int, floor: int) -> tuple[list[Value], int] | None:
        text = self._text
        span = tokens.identifier_span(text, start)
        if span is None or span[0] < floor:
            return None
        begin, end = span
        if (money := _CODE_AND_SUM.fullmatch(text, begin, end)) is not None and (
            money[1] or money[2]
        ).lower() in self._scan.lexicon.currency_signs:
            return None  # EUR20, 20EUR
        magnitude = numbers.read_quantity(self._scan, start)
        if (
            begin == start
            and magnitude is not None
            and (magnitude.exponent or magnitude.ordinal)
            and magnitude.suffix_end >= end
        ):
            return None
        time = clock.read_time(self._scan, start) if begin == start else None
        if time is not None and time.end >= end:
            return None
        token = text[begin:end]
        readings = [Reading(f"i:{token.casefold()}", token.casefold())]
        if tokens.identifier_number_start(text, begin, end) and magnitude is not None:
            readings += numbers.quantity_readings(magnitude, negative=False)
        return [self._value("identifier", begin, end, tuple(readings))], end

    def _times(self, start: int, time: clock.Time) -> tuple[list[Value], int]:
        needs = frozenset({"clock"})
        surface = self._text[start : time.end].lower()
        kind = "t" if time.exact else "h"
        readings = tuple(Reading(f"{kind}:{m}{time.seconds}", surface, needs) for m in time.minutes)
        return [self._value("time", start, time.end, readings)], time.end

    def _numbers(self, start: int) -> tuple[list[Value], int]:
        text, scan = self._text, self._scan
        whole = numbers.read_han_chain(text, start) or numbers.read_fraction(text, start)
        if whole is not None:
            plain, end = whole
            if isinstance(plain, Reading):
                return [self._value("number", start, end, (plain,))], end
            return self._single(numbers.with_unit(scan, start, end, (plain,)))
        ratio = _RATIO.match(text, start)
        if ratio is not None:
            return [
                self._value("number", start, ratio.end(), (Reading(f"r:{ratio.group()}", ratio.group()),))
            ], ratio.end()
        quantity = numbers.read_quantity(scan, start)
        if quantity is None:
            return self._whole_token(start)
        power = _POWER.match(text, quantity.end)
        if power is not None:
            token = text[start : power.end()]
            return [self._value("number", start, power.end(), (Reading(f"x:{token}", token),))], power.end()
        if is_mention(scan, start, quantity, self._count):
            return [], quantity.end
        return self._range(quantity) or self._single(quantity)

    def _whole_token(self, start: int) -> tuple[list[Value], int]:
        """``1.2.3`` matches only itself; ``1,2,3`` is a list of numbers."""
        match = numbers.NUMBER.match(self._text, start)
        assert match is not None
        token = match.group()
        if "," in token and "." not in token and "'" not in token:
            return self._list(token, start), match.end()
        return [self._value("identifier", start, match.end(), (Reading(f"i:{token}", token),))], match.end()

    def _list(self, token: str, start: int) -> list[Value]:
        """``1,2,3``: numbers written without blanks between them."""
        values = []
        for part in token.split(","):
            plain = numbers.read_plain(part, self._scan.lexicon)
            readings = tuple(Reading(f"n:{p.canonical}", p.surface, p.needs) for p in plain)
            values.append(Value("number", Span(start, start + len(part)), readings, short=len(part) == 1))
            start += len(part) + 1
        return values

    def _single(self, quantity: numbers.Quantity) -> tuple[list[Value], int]:
        negative = numbers.is_negative(self._scan, quantity)
        readings = numbers.quantity_readings(quantity, negative=negative)
        more = self._shared(quantity) or self._as_time(quantity)
        return [self._number(quantity, tuple(readings + more))], quantity.end

    def _as_time(self, quantity: numbers.Quantity) -> list[Reading]:
        if quantity.percent or quantity.exponent or quantity.currency:
            return []
        return clock.unworded(self._scan, quantity.start, quantity.end, quantity.plain[0].canonical)

    def _shared(self, quantity: numbers.Quantity) -> list[Reading]:
        """``10 to 12 %``: the first number may share the unit of the second."""
        joined = _TO.match(self._text, quantity.end)
        if joined is None or quantity.percent or quantity.exponent:
            return []
        return self._unit_of_next(quantity, joined.end(), frozenset({"range"}))

    def _unit_of_next(self, quantity: numbers.Quantity, at: int, needs: frozenset[str]) -> list[Reading]:
        digit = _DIGIT.search(self._text, at, at + 3)
        assert digit is not None  # the joiner looked ahead to it
        time = clock.read_time(self._scan, digit.start())
        whole = quantity.plain[0].canonical
        if time is not None and whole.isdigit() and int(whole) <= 12:
            return [Reading(f"t:{clock.first_end(self._scan, int(whole), time)}", "", needs | {"clock"})]
        following = numbers.read_quantity(self._scan, digit.start())
        if following is None or not (following.percent or following.exponent or following.currency):
            return []
        like = quantity._replace(
            percent=following.percent, exponent=following.exponent, currency=quantity.currency or following.currency
        )
        return numbers.quantity_readings(like, negative=False, extra=needs, tag="~")

    def _range(self, quantity: numbers.Quantity) -> tuple[list[Value], int] | None:
        """``10-12``, ``2018-19``, ``10-12 %``: both ends, sharing the unit."""
        text = self._text
        joined = _RANGE.match(text, quantity.end)
        if joined is None or quantity.ordinal:
            return None
        digit = _DIGIT.search(text, joined.end(), joined.end() + 2)
        assert digit is not None  # the joiner looked ahead to it
        if dates.read_numeric(text, digit.start(), "dmy") or tokens.identifier_span(text, digit.start()):
            return None
        needs = frozenset({"range"})
        negative = numbers.is_negative(self._scan, quantity)
        tag = text[quantity.start : self._digits_end(digit.start())]
        time = clock.read_time(self._scan, digit.start())
        if time is not None:
            first = self._unit_of_next(quantity, joined.end(), needs)
            own = numbers.quantity_readings(quantity, negative=negative, extra=needs, tag=tag) if not first else []
            values, end = self._times(digit.start(), time)
            return [self._number(quantity, tuple(first + own)), *values], end
        second = numbers.read_quantity(self._scan, digit.start())
        if second is None:
            return None
        second = second._replace(start=digit.start())
        left, right = share_unit(quantity, second)
        second_readings = numbers.quantity_readings(right, negative=False, extra=needs, tag=tag)
        short = short_year(quantity, second)
        if short is not None:
            second_readings = [Reading(f"n:{short}", tag, needs)]
        readings = numbers.quantity_readings(left, negative=negative, extra=needs, tag=tag)
        values = [
            self._number(quantity, tuple(readings)),
            self._number(second, tuple(second_readings)),
        ]
        return values, second.end

    def _number(self, quantity: numbers.Quantity, readings: tuple[Reading, ...]) -> Value:
        canonical = quantity.plain[0].canonical
        short = len(canonical) == 1 and not (quantity.percent or quantity.exponent)
        return Value(
            "number", Span(quantity.start, quantity.end), readings, noun_after(self._text, quantity.end), short
        )

    def _date(self, readings: list[dates.Date], start: int, end: int) -> Value:
        surface = self._text[start:end].casefold()
        return self._value("date", start, end, tuple(Reading(d.key, surface, frozenset({"date"})) for d in readings))

    def _digits_end(self, start: int) -> int:
        end = start
        while end < len(self._text) and self._text[end].isdigit():
            end += 1
        return end

    @staticmethod
    def _value(kind: str, start: int, end: int, readings: tuple[Reading, ...]) -> Value:
        return Value(kind, Span(start, end), readings)
