"""Values written one way in the source and another way in the answer, and values that differ.

The test makes the values itself, so it knows what they denote without reading them.
"""

from __future__ import annotations

import datetime
import os

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from guardrails_plugins import GatePolicy, Source, check_text

EXAMPLES = int(os.environ.get("SENTENCE_GATE_EXAMPLES", "40"))
common = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
POLICY = GatePolicy(citations="off", person=False)

DIGITS = {
    "fa": str.maketrans("0123456789.,", "۰۱۲۳۴۵۶۷۸۹٫٬"),
    "ar": str.maketrans("0123456789.,", "٠١٢٣٤٥٦٧٨٩٫٬"),
    "hi": str.maketrans("0123456789", "०१२३४५६७८९"),
    "zh": str.maketrans("0123456789", "０１２３４５６７８９"),
}
DOT_GROUPS = ("de", "es", "pt")
BLANK_GROUPS = ("fr", "ru", "es")
FRAMES = {
    "en": "There are {} books.",
    "de": "Es gibt {} Bücher.",
    "fr": "Il y a {} livres.",
    "es": "Hay {} libros.",
    "pt": "Existem {} livros.",
    "ru": "Там {} книг.",
    "fa": "آنجا {} کتاب هست.",
    "ar": "هناك {} كتاب.",
    "hi": "वहाँ {} किताबें हैं।",
    "zh": "那里有{}本书。",
}
MONTHS = {
    "en": ("January", "March", "December"),
    "de": ("Januar", "März", "Dezember"),
    "fr": ("janvier", "mars", "décembre"),
    "ru": ("января", "марта", "декабря"),
}
NUMBERS = (1, 3, 12)


def supported(language: str, source: str, sentence: str, source_language: str | None = None) -> bool:
    outcome = check_text(
        sentence, [Source(source, language=source_language or language)], language=language, policy=POLICY
    )
    assert set(outcome.codes) <= {"value_unsupported"}
    return not outcome.stopped


def spellings(language: str, number: int) -> list[str]:
    """Ways to write a whole number in a language."""
    ways = [str(number)]
    if language in DIGITS:
        ways.append(str(number).translate(DIGITS[language]))
    grouped = f"{number:,}"
    if language in ("en", "hi", "zh"):
        ways.append(grouped)
    if language in ("fa", "ar"):
        ways.append(grouped.translate(DIGITS[language]))
    if language in DOT_GROUPS:
        ways.append(grouped.replace(",", "."))
    if language in BLANK_GROUPS:
        ways += [grouped.replace(",", blank) for blank in ("\u00a0", "\u202f")]
    return ways


languages = st.sampled_from(sorted(FRAMES))
numbers = st.one_of(st.integers(10, 99), st.integers(100, 9_999_999_999))


@common
@given(st.data(), languages, languages, numbers)
def test_a_whole_number_is_found_in_any_spelling(
    data: st.DataObject, language: str, source_language: str, number: int
) -> None:
    written = data.draw(st.sampled_from(spellings(source_language, number)))
    answered = data.draw(st.sampled_from(spellings(language, number)))
    source = FRAMES[source_language].format(written)
    assert supported(language, source, FRAMES[language].format(answered), source_language)


@common
@given(st.data(), languages, numbers, numbers)
def test_another_number_is_not_found(data: st.DataObject, language: str, number: int, other: int) -> None:
    assume(number != other)
    source = FRAMES[language].format(data.draw(st.sampled_from(spellings(language, other))))
    assert not supported(
        language, source, FRAMES[language].format(data.draw(st.sampled_from(spellings(language, number))))
    )


@common
@given(st.data(), languages, st.integers(1000, 9_999_999))
def test_a_part_of_a_number_is_not_found(data: st.DataObject, language: str, number: int) -> None:
    whole = data.draw(st.sampled_from(spellings(language, number)))
    digits = str(number)
    at = data.draw(st.integers(1, len(digits) - 1))
    part = data.draw(st.sampled_from((digits[:at], digits[at:])))
    assume(not part.startswith("0"))
    assert not supported(language, FRAMES[language].format(whole), FRAMES[language].format(part))


@common
@given(st.data(), languages, st.integers(0, 999), st.integers(1, 99), st.integers(0, 3))
def test_a_decimal_is_found_with_either_point_and_with_zeros(
    data: st.DataObject, language: str, whole: int, part: int, zeros: int
) -> None:
    fraction = f"{part:02d}"
    point = data.draw(st.sampled_from((".", ",")))
    comma = data.draw(st.sampled_from((".", ",")))
    assume(len(fraction) + zeros != 3)
    source = FRAMES[language].format(f"{whole}{point}{fraction}")
    assert supported(language, source, FRAMES[language].format(f"{whole}{comma}{fraction}{'0' * zeros}"))
    assert not supported(language, source, FRAMES[language].format(f"{whole}{comma}{part % 99 + 1:02d}7"))


@common
@given(st.data(), st.sampled_from(sorted(MONTHS)), st.integers(13, 28), st.integers(0, 2), st.integers(1600, 2199))
def test_a_date_is_found_in_any_form_and_no_other_date_is(
    data: st.DataObject, language: str, day: int, month: int, year: int
) -> None:
    name, number = MONTHS[language][month], NUMBERS[month]
    date = datetime.date(year, number, day)
    dot = "." if language == "de" else ""
    forms = [date.isoformat(), f"{day}{dot} {name} {year}", f"{day}.{number:02d}.{year}"]
    frame = {"en": "It opened on {}.", "de": "Offen seit {}.", "fr": "Ouvert le {}.", "ru": "Открыт {}."}[language]
    source = frame.format(data.draw(st.sampled_from(forms)))
    assert supported(language, source, frame.format(data.draw(st.sampled_from(forms))))
    other = date + datetime.timedelta(days=data.draw(st.sampled_from((1, -1, 365, -31))))
    assert not supported(language, source, frame.format(other.isoformat()))


@common
@given(st.integers(0, 23), st.integers(0, 59), st.integers(0, 23), st.integers(0, 59))
def test_a_time_is_found_in_either_clock_and_no_other_time_is(hour: int, minute: int, other: int, later: int) -> None:
    twelve = f"{(hour - 1) % 12 + 1}:{minute:02d} {'am' if hour < 12 else 'pm'}"
    full = f"{hour:02d}:{minute:02d}"
    assert supported("en", f"It opens at {full} daily.", f"It opens at {twelve} daily.")
    assert supported("en", f"It opens at {twelve} daily.", f"It opens at {full} daily.")
    assume((hour, minute) != (other, later))
    assert not supported("en", f"It opens at {other:02d}:{later:02d} daily.", f"It opens at {twelve} daily.")


@common
@given(st.text("0123456789.,-–%$€½⁶ \u00a0\u2009'kMm:/e+()٫٬", max_size=30), languages)
def test_a_sentence_is_supported_by_itself(text: str, language: str) -> None:
    """Whatever runs of digits and signs mean, the source that holds them word for word supports them."""
    sentence = FRAMES[language].format("x" + text + "x")
    outcome = check_text(sentence, [Source(sentence, language=language)], language=language, policy=POLICY)
    assert "value_unsupported" not in outcome.codes
