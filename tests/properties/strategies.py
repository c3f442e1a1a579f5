"""What the properties are run over: cuts, wild text, and answers in ten languages whose shown form is known.

A *piece* pairs what the model writes with what a reader may see of it, so that the tests
need no second implementation of the marker rules.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

CANARY = "QZX8841"
"""An identifier that no source holds; a sentence with it is blocked."""


@dataclass(frozen=True)
class Language:
    """Sentences that pass, written in one language; `{}` is where a marker may stand."""

    tag: str
    source: str
    cited: tuple[str, ...]
    plain: tuple[str, ...]
    blocked: str
    blank: str = " "


LANGUAGES = (
    Language(
        "en",
        "The hall has 412 seats and opened on 17 September 1998; see https://example.com/hall or call 555-0143.",
        (
            "The hall has 412 seats{}.",
            "It opened on 17 September 1998{}.",
            "Dr. Brown wrote about it, e.g. Here{}.",
            "More is at https://example.com/hall{}.",
            "Is it “old”{}?",
        ),
        ("Good.", "Is it open?", "Well, yes!"),
        "The code is " + CANARY + "{}.",
    ),
    Language(
        "de",
        "Die Halle hat 412 Plätze und wurde am 17. September 1998 eröffnet.",
        ("Die Halle hat 412 Plätze{}.", "Sie wurde am 17. September 1998 eröffnet{}.", "Es gibt z. B. Bücher{}."),
        ("Gut.", "Ist offen?"),
        "Der Code ist " + CANARY + "{}.",
    ),
    Language(
        "fr",
        "La salle compte 412 places et 2,5 millions de livres.",
        ("La salle compte 412 places{}.", "Elle garde 2,5 millions de livres{}.", "Est-ce « vrai »{} ?"),
        ("Bien.", "Est-ce ouvert ?"),
        "Le code est " + CANARY + "{}.",
    ),
    Language(
        "es",
        "La sala tiene 412 plazas y abre a las 9:30.",
        ("La sala tiene 412 plazas{}.", "Abre a las 9:30{}.", "¿Está abierta la sala{}?"),
        ("Bien.", "¿Está abierta?"),
        "El código es " + CANARY + "{}.",
    ),
    Language(
        "pt",
        "A sala tem 412 lugares e custa 12,50 euros.",
        ("A sala tem 412 lugares{}.", "A entrada custa 12,50 euros{}."),
        ("Bem.", "Está aberta?"),
        "O código é " + CANARY + "{}.",
    ),
    Language(
        "ru",
        "В зале 412 мест, он открыт 17 сентября 1998 года.",
        ("В зале 412 мест{}.", "Он открыт 17 сентября 1998 года{}.", "Это «зал», т. е. Дворец{}."),
        ("Хорошо.", "Он открыт?"),
        "Код такой: " + CANARY + "{}.",
    ),
    Language(
        "fa",
        "سالن ۴۱۲ صندلی دارد و ۲٫۵ میلیون کتاب.",
        ("سالن ۴۱۲ صندلی دارد{}.", "آنجا ۲٫۵ میلیون کتاب می‌بینند{}.", "آیا سالن «قدیمی» است{}؟"),
        ("خوب.", "باز است؟"),
        "رمز این است " + CANARY + "{}.",
    ),
    Language(
        "ar",
        "في القاعة ٤١٢ مقعدا.",
        ("في القاعة ٤١٢ مقعدا{}.", "هل القاعة قديمة{}؟"),
        ("جيد.", "هل القاعة مفتوحة؟"),
        "الرمز هو " + CANARY + "{}.",
    ),
    Language(
        "hi",
        "हॉल में ४१२ सीटें हैं।",
        ("हॉल में ४१२ सीटें हैं{}।", "लोग हॉल में बैठे हैं{}।"),
        ("ठीक।", "क्या हॉल खुला है?"),
        "कूट यह है " + CANARY + "{}।",
    ),
    Language(
        "zh",
        "大厅有412个座位。",
        ("大厅有412个座位{}。", "大厅是“老”的{}。"),
        ("好。", "大厅开门吗？"),
        "代码是" + CANARY + "{}。",
        blank="",
    ),
)


@dataclass(frozen=True)
class Answer:
    """An answer with its source and shown form; `bad_at` is where the blocked sentence begins, or None."""

    language: Language
    raw: str
    shown: str
    bad_at: int | None


_MARKERS = ("[S1]", " [S1]", " [S1][S2]", "[S1] [S2]", " [S1, S2]", " [s1]", " [S۱]")
_BREAKS = ("\n", "\n\n", " \n\n  ", "\r\n\r\n", "\n\n\n")


def _good(draw: st.DrawFn, language: Language) -> tuple[str, str]:
    if draw(st.booleans()):
        text = draw(st.sampled_from(language.plain))
        return text, text
    template = draw(st.sampled_from(language.cited))
    marker = draw(st.sampled_from(_MARKERS))
    if draw(st.booleans()):
        return template.format(marker), template.format("")
    return template.format("") + marker, template.format("")


@st.composite
def answers(draw: st.DrawFn, *, bad: bool | None = None) -> Answer:
    """A whole answer; with `bad` true one sentence of it is blocked, with false none, else either."""
    language = draw(st.sampled_from(LANGUAGES))
    count = draw(st.integers(1, 5))
    with_bad = draw(st.booleans()) if bad is None else bad
    at = draw(st.integers(0, count - 1)) if with_bad else -1
    raw, shown, bad_at = "", "", None
    for number in range(count):
        gap = "" if number == 0 else draw(st.sampled_from((language.blank, *_BREAKS)))
        if number == at:
            bad_at = len(raw) + len(gap)
            raw += gap + language.blocked.format(draw(st.sampled_from(_MARKERS)))
            continue
        text, seen = _good(draw, language)
        raw += gap + text
        if bad_at is None:
            shown += gap + seen
    tail = draw(st.sampled_from(("", "\n", " ", "\n\n")))
    return Answer(language, raw + tail, shown if bad_at is not None else shown + tail, bad_at)


_FRAGMENT_TEXT = (
    ". ~? ~! ~… ~؟ ~۔ ~。~！~？~। ~॥ ~...~?!~؛ ~; ~: ~：~"
    "[S1]~[S2]~[S9]~[S~[~]~[S1, S2]~[S1-S2]~[S 1]~［Ｓ１］~【S1】~[1]~[С1]~"
    "“~”~«~»~„~‘~’~\"~'~「~」~『~』~《~》~(~)~（~）~"
    "**~_~`~```\n~# ~| a | b |\n~- ~* ~• ~1. ~2. ~1) ~a) ~Step 1: ~"
    "\n~\n\n~\r\n~ ~  ~\t~\u00a0~\u2009~\u3000~\u2028~"
    "Mr. ~e.g. ~z. B. ~т. е. ~etc. ~U.S. ~a.m. ~No. ~p. ~Sept. ~J. K. ~M. ~"
    "NO_ANSWER~NO_~NO_ANSWERS~_~NO~"
    "412~3.14~1,200~17.~17. September~2019~۴۱۲~٤١٢~४१२~½~10⁶~20~19~9 pm~52%~"
    "https://example.com/hall~example.com~a@example.com~v0.24.1~COVID-19~+1 212 555 0143~"
    "The hall~It~is old~we~I~Die Halle~ist~La salle~Музей~открыт~мы~سالن~می\u200cرود~"
    "القاعة~हॉल~है~大厅~我~自我~，~、~،~, ~"
    "👩\u200d👩\u200d👧~🇩🇪~e\u0301~\u0301~\u200b~\u200c~\u200d~\u202e~\u00ad~\ufeff~\ud800~\udc00~"
    "\u0000"
)
_FRAGMENTS = _FRAGMENT_TEXT.split("~")

wild_texts = st.lists(
    st.one_of(st.sampled_from(_FRAGMENTS), st.text(st.characters(codec=None), max_size=3)), max_size=24
).map("".join)
"""Text made of what decides boundaries, markers and values, with any code point between."""


@st.composite
def cuts(draw: st.DrawFn, text: str) -> list[str]:
    """Some way of cutting `text` into pieces, empty ones included."""
    mode = draw(st.sampled_from(("each", "three", "some")))
    if mode == "each":
        return list(text)
    if mode == "three":
        return [text[i : i + 3] for i in range(0, len(text), 3)]
    points = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    return [text[a:b] for a, b in zip([0, *points], [*points, len(text)], strict=True)]
