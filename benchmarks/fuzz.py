"""Generated answers in ten languages: the same result for every cutting, exact text, nothing blocked shown.

    python benchmarks/fuzz.py [--cases 1000000] [--seed 1] [--corpus tests/cases]

Each case is a text of words, values, markers, quotes, lists and hostile characters, with a random
bound (20 to 1,000), fed whole and in random pieces to a splitter and to a gate. With `--corpus`
every second text is one of the case files' (JSON Lines), spliced and damaged. Prints the first cases
that differ, then the count. Exit code 1 when any did.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import regex

from guardrails_plugins import GatePolicy, SentenceGate, SentenceSplitter, SourceIndex, strip_markers

LANGUAGES = ("en", "fa", "ar", "ru", "hi", "zh", "de", "fr", "es", "pt")
WORDS = {
    "en": ["The", "hall", "opened", "e.g.", "Dr.", "Brown", "U.S.", "etc.", "No.", "5", "p.m.", "it", "said", "page"],
    "fa": ["سالن", "دکتر", "ه.ش.", "می\u200cشود", "۱۳۹۸", "کتاب", "و", "ق.م.", "است"],
    "ar": ["القاعة", "د.", "في", "سنة", "١٩٩٨", "م.", "و", "هـ.", "كتاب"],
    "ru": ["Зал", "т.", "е.", "г.", "Москва", "им.", "А.", "С.", "Пушкина", "17", "мая", "1998", "г.", "и", "т.", "д."],
    "hi": ["हॉल", "डॉ.", "ई.पू.", "में", "४१२", "हैं", "और", "लाख"],
    "zh": ["大厅", "有", "412", "个", "座位", "2007年", "“引”", "《题》", "他说"],
    "de": ["Die", "Halle", "z.", "B.", "am", "17.", "September", "bzw.", "Nr.", "5", "der", "3.", "Stock", "usw."],
    "fr": ["La", "salle", "M.", "Dupont", "p.", "ex.", "2,5", "millions", "«", "vrai", "»", "etc."],
    "es": ["La", "sala", "p.", "ej.", "Sr.", "López", "1.200", "plazas", "EE.", "UU.", "abre"],
    "pt": ["A", "sala", "Sr.", "Silva", "p.", "ex.", "12,50", "euros", "etc.", "abre"],
}
GLUE = (" ", " ", " ", " ", "  ", "", "\n", "\n\n", "\r\n", "\u00a0", "\t", "\u3000")
ENDS = (
    ". ",
    ".",
    "! ",
    "? ",
    "?! ",
    "... ",
    "… ",
    "。",
    "！",
    "؟ ",
    "۔ ",
    "। ",
    "॥ ",
    ".\n",
    ".) ",
    '." ',
    ".” ",
    "?» ",
    ": ",
)
MARKERS = (
    "[S1]",
    " [S1]",
    " [S1][S2]",
    "[S1] [S2]",
    "[S1, S2]",
    "[S1-S2]",
    "[s1]",
    "[S۱]",
    "［Ｓ１］",
    "【S1】",
    "[S9]",
    "[S",
    "[",
)
ODD = (
    '**', '_', '`', '```\n', '\n- ', '\n1. ',
    '\n2) ', '\n# ', '\n| a |', '\n**b**\n', '(', ')',
    '“', '”', '「', '」', '«', '»',
    '20\u200b19', '1,200.50', '½', 'm²', '10⁶', 'https://example.com/a?b=1.',
    'a@example.org', 'v0.24.1', '52%', '$5.2 million', '\ud800', '\x00',
    '\u202e', 'é', '👩\u200d👧', 'NO_ANSWER', 'NO_', 'ANSWER',
    '.....', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', '[[[[[[', '         ', 'QZX8841',
)  # fmt: skip
CANARY = "QZX8841"
REFUSAL = regex.compile(r"(?<![\p{L}\p{M}\p{N}_])NO_ANSWER(?![\p{L}\p{M}\p{N}_])")


def text(chance: random.Random, language: str) -> str:
    """One generated answer."""
    words = WORDS[language]
    parts: list[str] = []
    for _ in range(chance.randint(1, 24)):
        roll = chance.random()
        if roll < 0.55:
            parts += [chance.choice(words), chance.choice(GLUE)]
        elif roll < 0.75:
            parts.append(chance.choice(ENDS))
        elif roll < 0.88:
            parts.append(chance.choice(MARKERS))
        else:
            parts.append(chance.choice(ODD))
    return "".join(parts)


def corpus(folder: Path) -> list[str]:
    """The texts of all case files under a folder."""
    lines = [line for file in sorted(folder.rglob("*.jsonl")) for line in file.read_text(encoding="utf-8").splitlines()]
    return [value for line in lines if line for value in json.loads(line).values() if isinstance(value, str)]


def damaged(chance: random.Random, texts: Sequence[str]) -> str:
    """Parts of one to three texts joined, with slices left out, doubled or replaced."""
    whole = ""
    for found in chance.sample(texts, chance.randint(1, 3)):
        start = chance.choice((0, 0, chance.randint(0, len(found))))
        whole += found[start : start + 400] + chance.choice(GLUE)
    for _ in range(chance.randint(0, 4)):
        at, size = chance.randint(0, len(whole)), chance.choice((0, 1, 1, 2, 5))
        new = chance.choice(("", whole[at : at + size] * 2, chance.choice(ENDS + MARKERS + ODD + GLUE)))
        whole = whole[:at] + new + whole[at + size :]
    return whole


def cut(chance: random.Random, whole: str) -> list[str]:
    """The text in random pieces, empty ones among them."""
    if chance.random() < 0.3:
        return list(whole)
    pieces, at = [], 0
    while at < len(whole):
        size = chance.choice((0, 1, 1, 2, 3, 4, 7, 20))
        pieces.append(whole[at : at + size])
        at += size
    return pieces


def split(pieces: list[str], language: str, bound: int, style: str) -> list[tuple[object, ...]]:
    """All sentences of the pieces, as plain tuples."""
    splitter = SentenceSplitter(language, max_chars=bound, marker=style)
    found = [s for piece in pieces for s in splitter.feed(piece)]
    rest = splitter.flush()
    return [tuple(s) for s in (found if rest is None else [*found, rest])]


def judge(
    pieces: list[str], index: SourceIndex, language: str, policy: GatePolicy
) -> tuple[str, tuple[object, ...], str]:
    """What the gate shows of the pieces, its violations and its end."""
    gate = SentenceGate(index, language=language, policy=policy)
    shown, violations = "", ()
    for piece in pieces:
        outcome = gate.feed(piece)
        shown, violations = shown + outcome.text, violations + outcome.violations
        if outcome.stopped:
            return shown, violations, str(gate.state)
    outcome = gate.finish()
    return shown + outcome.text, violations + outcome.violations, str(gate.state)


def case(chance: random.Random, indexes: dict[str, SourceIndex], texts: Sequence[str] = ()) -> str | None:
    """Run one case; what is wrong with it, or None. `texts`: see `damaged`."""
    language = chance.choice(LANGUAGES)
    whole = damaged(chance, texts) if texts and chance.random() < 0.5 else text(chance, language)
    bound, style = chance.choice(BOUNDS), chance.choice(STYLES)
    whole = whole.replace("[S", style[: style.index("{")])
    return difference(whole, cut(chance, whole), indexes[language], language, bound, style)


def difference(whole: str, pieces: list[str], index: SourceIndex, language: str, bound: int, style: str) -> str | None:
    """What is wrong with a text, whole and in pieces, or None."""
    once, again = split([whole], language, bound, style), split(pieces, language, bound, style)
    if once != again:
        return f"split differs: {language} {bound} {style} {whole!r} {pieces!r}"
    if "".join(str(s[1]) for s in once) != whole:
        return f"raws do not join: {language} {bound} {style} {whole!r}"
    policy = GatePolicy(max_chars=bound, marker=style)
    one, two = judge([whole], index, language, policy), judge(pieces, index, language, policy)
    if one != two:
        return f"judgement differs: {language} {bound} {style} {whole!r} {pieces!r}"
    if CANARY in one[0] or REFUSAL.search(one[0]):
        return f"shown although blocked: {language} {bound} {style} {whole!r}"
    flagged = judge(pieces, index, language, SHADOWS[bound, style])
    # Inline code that a boundary cuts is judged sentence by sentence: a bare marker in its rest is one.
    code = style != STYLES[0] and "`" in whole
    if flagged[2] == "completed" and not code and flagged[0] != strip_markers(whole, marker=style):
        return f"text altered: {language} {bound} {style} {whole!r}"
    return None


BOUNDS = (20, 33, 64, 128, 400, 1000)
STYLES = ("[S{n}]", "[S{n}]", "[{n}]", "[^{n}]")
SHADOWS = {
    (bound, style): GatePolicy(max_chars=bound, marker=style, refusal_token=None).shadow()
    for bound in BOUNDS
    for style in STYLES
}


def main() -> int:
    """Run the cases. Returns 1 when any failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=Path, metavar="DIR", help="case files whose texts are damaged")
    args = parser.parse_args()
    indexes = {code: SourceIndex([" ".join(words), "Hall 412 1998"], language=code) for code, words in WORDS.items()}
    texts = corpus(args.corpus) if args.corpus else []
    if args.corpus and not texts:
        parser.error(f"{args.corpus} holds no case files (*.jsonl); in a checkout they are in tests/cases")
    chance, failed, start = random.Random(args.seed), 0, time.monotonic()
    for number in range(1, args.cases + 1):
        wrong = case(chance, indexes, texts)
        if wrong is not None:
            failed += 1
            if failed <= 20:
                print(wrong, flush=True)
        if number % 50_000 == 0:
            print(f"{number} cases, {failed} failed, {time.monotonic() - start:.0f} s", flush=True)
    print(f"{args.cases} cases, seed {args.seed}: {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
