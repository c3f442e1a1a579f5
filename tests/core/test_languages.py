"""The strict loader, and what every language file must hold."""

from __future__ import annotations

import dataclasses
import string
from pathlib import Path

import pytest

from guardrails_plugins.core.errors import LanguageDataError, LanguageError
from guardrails_plugins.core.languages import profile as module
from guardrails_plugins.core.languages.profile import (
    LANGUAGES,
    LanguageProfile,
    load_profile,
    parse_profile,
    resolve_language,
)

FOLDER = Path(module.__file__).parent
TEMPLATE = (FOLDER / "_template.toml").read_text(encoding="utf-8")
FILES = sorted(p.stem for p in FOLDER.glob("*.toml") if not p.stem.startswith("_"))


@pytest.fixture(params=FILES)
def language(request: pytest.FixtureRequest) -> LanguageProfile:
    return load_profile(request.param)


def changed(old: str, new: str) -> str:
    assert TEMPLATE.count(old) == 1, f"the template no longer has exactly one {old!r}"
    return TEMPLATE.replace(old, new)


# --- the loader ---------------------------------------------------------------------------


def test_the_template_is_a_whole_file() -> None:
    assert parse_profile(TEMPLATE, "xx.toml").code == "xx"


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        # unknown and missing keys
        ('code = "xx"', 'colour = "red"\ncode = "xx"', "unknown key colour"),
        ("ordinal_dot = false", "ordinal_dots = false", "unknown key numbers.ordinal_dots"),
        ("has_case = true", "", "missing key has_case"),
        ("never_final =", "nver_final =", "unknown key abbreviations.nver_final"),
        ('withheld = "Shown when a sentence failed a check."', "", "missing key notices.withheld"),
        # wrong types
        ("has_case = true", 'has_case = "yes"', "has_case must be bool, is str"),
        ("has_case = true", "has_case = 1", "has_case must be bool, is int"),
        ('openers = ["The", "It", "However"]', 'openers = "The"', "openers must be list, is str"),
        ('headings = ["Sources", "References"]', 'headings = ["Sources", 3]', "headings has an entry of type int"),
        ("thousand = 3", 'thousand = "3"', "numbers.magnitudes.thousand must be int, is str"),
        ("thousand = 3", "thousand = true", "numbers.magnitudes.thousand must be int, is bool"),
        ("suffixes = {}", "suffixes = []", "dates.suffixes must be dict, is list"),
        ('[lists]\nstep_words = ["Step"]', "[[lists]]", "lists must be a table, not list"),
        ('decimal = "."', "decimal = 5", "numbers.decimal must be str, is int"),
        # stray blanks and empty entries
        (
            'openers = ["The", "It",',
            'openers = ["The", "It ",',
            "openers has an empty entry or one with a stray blank: 'It '",
        ),
        ('openers = ["The", "It",', 'openers = ["The", "",', "openers has an empty entry"),
        ('"per cent"]', '"per  cent"]', "numbers.percent has an empty entry or one with a stray blank: 'per  cent'"),
        ('"per cent"]', '"per\\u00a0cent"]', "numbers.percent"),
        ('"$" = "USD"', '"$ " = "USD"', "numbers.currencies has an empty entry or one with a stray blank: '$ '"),
        ('person = "Third person."', 'person = " Third person."', "prompt.person is empty or has a stray blank"),
        ('error = "Shown when a check or the provider failed."', 'error = ""', "notices.error is empty"),
        # duplicates
        ('openers = ["The", "It",', 'openers = ["The", "The",', "openers lists 'The' twice"),
        ('may_end = ["etc.",', 'may_end = ["Mr.",', "abbreviations lists 'Mr.' twice"),
        ('third = "3"', 'third = "3"\nthird = "4"', "not valid TOML"),
        # choices
        ('script = "latin"', 'script = "runes"', "script is 'runes'; use one of latin, cyrillic"),
        ('direction = "ltr"', 'direction = "up"', "direction is 'up'; use one of ltr, rtl"),
        ('order = "dmy"', 'order = "ydm"', "dates.order is 'ydm'; use one of dmy, mdy, ymd"),
        ("suffixes = {}", 'suffixes = { week = "w" }', "dates.suffixes is 'week'; use one of year, month, day"),
        ("[person.not_in_languages]", "[person.not_in_languages]\nxx = []", "person.not_in_languages is 'xx'"),
        ('code = "xx"', 'code = "yy"', "code is 'yy', the file name says otherwise"),
        # meaning
        ('["Mr.", "e.g."]', '["Mr", "e.g."]', "abbreviations: 'Mr' must end with its dot"),
        ("\nmonths = []", '\nmonths = [["January"]]', "dates.months needs twelve lists (or none), has 1"),
        ("\nmonths = []", "\nmonths = [" + "[], " * 11 + '["Dec.", "Dec."]]', "dates.months[11] lists 'Dec.' twice"),
        ('three = "3"', 'three = "three"', "numbers.words.three must be ASCII digits"),
        ('third = "3"', 'third = "٣"', "numbers.ordinal_words.third must be ASCII digits"),
        ('"$" = "USD"', '"$" = "dollar"', "numbers.currencies.$ must be an ISO 4217 code"),
        ('words = ["i", "we"]', 'words = ["I", "we"]', "person.words: 'I' must be in lower case"),
        ("exceptions = []", 'exceptions = ["Gold mine"]', "person.exceptions: 'Gold mine' must be in lower case"),
        ("{count}.", "{n}.", "prompt.sources: a placeholder is 'n'; use one of marker, token, count"),
        ("{count}.", "{}.", "prompt.sources: a placeholder is ''"),
        ("{count}.", "{count.", "prompt.sources:"),
        ('name = "Language"', "name = Language", "not valid TOML"),
    ],
)
def test_an_error_names_file_and_entry(old: str, new: str, named: str) -> None:
    with pytest.raises(LanguageDataError) as error:
        parse_profile(changed(old, new), "xx.toml")
    assert str(error.value).startswith("xx.toml: ")
    assert named in str(error.value)


@pytest.mark.parametrize("tag", ["pt", "pt-BR", "pt_BR", "PT-br", "pt-Latn-PT"])
def test_a_tag_names_its_language(tag: str) -> None:
    assert resolve_language(tag) == "pt"


@pytest.mark.parametrize("tag", ["xx", "", "english", "-en", "e", "en\n", None, 7, ["en"]])
def test_an_unknown_tag_lists_the_known_ones(tag: object) -> None:
    with pytest.raises(LanguageError, match="ar, de, en, es, fa, fr, hi, pt, ru, zh"):
        load_profile(tag)  # type: ignore[arg-type]


def test_a_file_is_read_once_whatever_the_region() -> None:
    assert load_profile("pt-BR") is load_profile("pt") is load_profile("pt-PT")


def test_a_profile_cannot_be_changed() -> None:
    english = load_profile("en")
    with pytest.raises(dataclasses.FrozenInstanceError):
        english.code = "xx"  # type: ignore[misc]
    with pytest.raises(TypeError):
        english.numbers.words["three"] = "4"  # type: ignore[index]
    assert hash(english) == hash(load_profile("en"))


# --- every file ---------------------------------------------------------------------------


def test_there_is_a_file_for_each_language() -> None:
    assert tuple(FILES) == LANGUAGES


def test_script_and_case_agree(language: LanguageProfile) -> None:
    assert language.has_case == (language.script in ("latin", "cyrillic"))
    assert (language.direction == "rtl") == (language.script == "arabic")
    if language.has_case:
        assert [w for w in language.openers if not w[0].isupper()] == []


def test_openers_are_generous(language: LanguageProfile) -> None:
    assert len(language.openers) >= 80


def test_no_spelling_names_two_months(language: LanguageProfile) -> None:
    dates = language.dates
    assert len(dates.months) == 12
    for months in (dates.months, dates.persian_months, dates.islamic_months):
        assert all(months)
        spellings = [word for names in months for word in {name.casefold() for name in names}]
        assert [s for s in spellings if spellings.count(s) > 1] == []


def test_numbers_are_complete(language: LanguageProfile) -> None:
    numbers = language.numbers
    assert {str(n) for n in range(2, 11)} <= set(numbers.words.values())
    assert numbers.percent
    assert {"USD", "EUR"} <= set(numbers.currencies.values())
    assert {3, 6, 9} & set(numbers.magnitudes.values())
    # 0 marks a word that only looks like one (千米 is a kilometre)
    assert all(0 <= exponent <= 24 for exponent in [*numbers.magnitudes.values(), *numbers.magnitude_suffixes.values()])
    assert numbers.decimal not in numbers.group


def test_the_prompt_names_marker_token_and_count(language: LanguageProfile) -> None:
    parts = {f.name: getattr(language.prompt, f.name) for f in dataclasses.fields(language.prompt)}
    used = {key: {name for _, name, _, _ in string.Formatter().parse(text) if name} for key, text in parts.items()}
    assert "marker" in used["markers"]
    assert used["refusal"] == {"token"}
    assert "count" in set().union(*used.values())
    assert "NO_ANSWER" not in "".join(parts.values())


def test_notices_differ_and_hold_no_first_person(language: LanguageProfile) -> None:
    texts = [getattr(language.notices, f.name) for f in dataclasses.fields(language.notices)]
    assert len(set(texts)) == 4
    if language.script != "han":
        words = {w.strip(".,;:!?،؛؟।").casefold() for text in texts for w in text.split()}
        assert words.isdisjoint(language.person.words)


def test_which_person_lists_apply_to_every_answer() -> None:
    assert {code for code in FILES if load_profile(code).person.always} == {"ar", "en", "fa", "hi", "ru", "zh"} & set(
        FILES
    )


def test_domain_endings_are_bare(language: LanguageProfile) -> None:
    assert [e for e in language.domain_endings if e.startswith(".") or e != e.lower()] == []
    assert {"com", "org", "net"} <= set(language.domain_endings)
    assert {"js", "md", "py", "ts", "rs", "sh"}.isdisjoint(language.domain_endings)


# --- decisions worth pinning --------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "kind", "entries"),
    [
        ("en", "never_final", ["Mr.", "Dr.", "e.g.", "i.e.", "vs."]),
        ("en", "before_number", ["no.", "p.", "fig.", "Sept."]),
        ("en", "may_end", ["etc.", "U.S.", "a.m.", "p.m.", "Inc.", "Jr."]),
        ("de", "never_final", ["bzw.", "z. B.", "z.B.", "d. h.", "Dr."]),
        ("de", "before_number", ["Nr.", "S.", "Abb.", "Dez."]),
        ("de", "may_end", ["usw.", "v. Chr.", "Mio."]),
        ("fr", "never_final", ["M.", "p. ex.", "c.-à-d."]),
        ("fr", "may_end", ["etc.", "J.-C."]),
        ("es", "never_final", ["Sr.", "Dra.", "p. ej.", "p.ej."]),
        ("es", "may_end", ["EE. UU.", "EE.UU.", "etc.", "Ud.", "S. A."]),
        ("pt", "never_final", ["Sr.", "Dra.", "p. ex.", "séc."]),
        ("pt", "may_end", ["etc.", "Ltda."]),
        ("ru", "never_final", ["т. е.", "т.е.", "ул.", "пл."]),
        ("ru", "before_number", ["стр.", "рис.", "с."]),
        ("ru", "may_end", ["и т. д.", "и т.д.", "г.", "им.", "тыс."]),
    ],
)
def test_abbreviations_of_each_class(code: str, kind: str, entries: list[str]) -> None:
    assert set(entries) <= set(getattr(load_profile(code).abbreviations, kind))


@pytest.mark.parametrize(
    ("code", "word"),
    [
        ("en", "mine"),
        ("en", "im"),
        ("de", "meinen"),
        ("pt", "nos"),
        ("pt", "consigo"),
        ("es", "encuentro"),
        ("ru", "скажем"),
    ],
)
def test_everyday_words_stay_out_of_the_person_lists(code: str, word: str) -> None:
    assert word not in load_profile(code).person.words


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("en", ["i", "we", "us", "our", "we'd", "let's", "i'm", "is mine"]),
        ("de", ["ich", "wir", "uns", "unsere", "mein", "mir", "mit meinen"]),
        ("fr", ["je", "j'", "nous", "notre", "moi"]),
        ("es", ["yo", "nos", "mi", "soy", "creo"]),
        ("pt", ["eu", "nós", "minha", "acho"]),
        ("ru", ["я", "мы", "нашего", "знаю"]),
    ],
)
def test_first_person_words_are_listed(code: str, words: list[str]) -> None:
    assert set(words) <= set(load_profile(code).person.words)


def test_long_scale_and_short_scale() -> None:
    assert load_profile("en").numbers.magnitudes["billion"] == 9
    assert load_profile("de").numbers.magnitudes["Billion"] == 12
    assert load_profile("es").numbers.magnitudes["billones"] == 12
    assert load_profile("pt").numbers.magnitudes["bilhões"] == 9
