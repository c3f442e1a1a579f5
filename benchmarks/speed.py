"""What the gate costs: ratios against a floor measured in the same run.

    python benchmarks/speed.py [--quick] [--json FILE] [--plots DIR]

The floor is one search for a terminator by a precompiled pattern in each piece of the same
stream: less than that no splitter can do. It is measured with `regex`, the engine of this package
and of the peers that have one, and with the standard `re`, which is quicker on so short a text.
Everything else is printed as so many times either, and in microseconds. Peers (`peers.py`) are
measured where they are installed.
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import regex
from peers import PEERS
from prose import prose, sentences
from report import machine, plot, table

from guardrails_plugins import GatePolicy, Sentence, SentenceGate, SentenceSplitter, Source, SourceIndex, check_text
from guardrails_plugins.core.judge import Judge
from guardrails_plugins.core.languages.profile import load_profile
from guardrails_plugins.core.refusal import RefusalToken

PIECE = 4
"""Code points a piece: about one token of English."""

TERMINATOR = r"[.!?…؟۔。！？।॥]"
FLOORS = {"times_floor": regex.compile(TERMINATOR).search, "times_re_floor": re.compile(TERMINATOR).search}
"""The search of the floor, in each engine."""
ASKED = {
    "en": (
        "The hall seats 412 visitors and opened to the public in 1998 [S1].",
        "The hall seats 412 visitors. It opened in 1998. ",
    ),
    "ru": (
        "Зал вмещает 412 зрителей и открылся для публики в 1998 году [S1].",
        "Зал вмещает 412 зрителей. Открылся в 1998 году. ",
    ),
    "zh": ("大厅可容纳412名观众，于1998年向公众开放[S1]。", "大厅可容纳412名观众。1998年开放。"),
}
GROWTH_TEXTS: dict[str, Callable[[int], str]] = {
    "prose": lambda n: prose("en", n)[:n],
    "no terminator": lambda n: prose("en", n).replace(".", ",").replace("?", ",")[:n],
    "false terminators": lambda n: ("about 3.14 and e.g. U.S. GDP, " * (n // 30 + 1))[:n],
    "dots": lambda n: "." * n,
    "closers": lambda n: ")" * n,
    "open quotes": lambda n: "“" * n,
    "blanks": lambda n: " " * n,
    "newlines": lambda n: "\n" * n,
    "brackets": lambda n: "[" * n,
    "digits": lambda n: "7" * n,
}


def best(run: Callable[[], object], seconds: float) -> float:
    """Seconds of the fastest of several runs, repeated for about `seconds`."""
    shortest = float("inf")
    gc.collect()
    gc.disable()
    end = time.perf_counter() + seconds
    try:
        while True:
            start = time.perf_counter()
            run()
            now = time.perf_counter()
            shortest = min(shortest, now - start)
            if now > end:
                return shortest
    finally:
        gc.enable()


def pieces(text: str, size: int = PIECE) -> list[str]:
    """The text in pieces of `size` code points."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def floor(stream: Iterable[str], search: Callable[[str], object]) -> None:
    """The least that any splitter does with a piece."""
    for piece in stream:
        search(piece)


def times_floors(stream: list[str], run: Callable[[], object], seconds: float) -> tuple[dict[str, float], float]:
    """How many times either floor a run takes, and its seconds. The floors are taken before and after it."""
    before = [best(lambda s=search: floor(stream, s), seconds / 6) for search in FLOORS.values()]
    cost = best(run, seconds)
    after = [best(lambda s=search: floor(stream, s), seconds / 6) for search in FLOORS.values()]
    return {name: cost / min(pair) for name, *pair in zip(FLOORS, before, after, strict=True)}, cost


def split(stream: Iterable[str], language: str) -> None:
    """Our splitter over a stream."""
    splitter = SentenceSplitter(language)
    for piece in stream:
        splitter.feed(piece)
    splitter.flush()


def gate(stream: Iterable[str], index: SourceIndex, language: str, policy: GatePolicy) -> None:
    """Splitter and gate, all checks, over a stream."""
    judge = SentenceGate(index, language=language, policy=policy)
    for piece in stream:
        judge.feed(piece)
    judge.finish()


def streams(seconds: float) -> list[dict[str, Any]]:
    """Splitter and gate against the floor, in three languages."""
    rows = []
    for language in ("en", "ru", "zh"):
        count = 300
        gap = "" if language == "zh" else " "
        cited = gap.join(sentences(language, count, marker=" [S1]" if gap else "[S1]"))
        plain = gap.join(sentences(language, count))
        index = SourceIndex([Source(plain, language=language)])
        assert check_text(cited, index, language=language).state == "completed"
        for name, text, run in (
            ("splitter", plain, lambda p, lang=language: split(p, lang)),
            ("gate", cited, lambda p, i=index, lang=language: gate(p, i, lang, GatePolicy())),
        ):
            stream = pieces(text)
            times, cost = times_floors(stream, lambda s=stream, r=run: r(s), seconds)
            rows.append(
                {
                    "what": name,
                    "language": language,
                    **times,
                    "us_per_piece": cost / len(stream) * 1e6,
                    "us_per_sentence": cost / count * 1e6,
                    "pieces_per_sentence": len(stream) / count,
                }
            )
    return rows


def judging(seconds: float) -> list[dict[str, Any]]:
    """One sentence with two values against 1, 10 and 100 sources of 2,000 characters."""
    rows = []
    for language, (text, fact) in ASKED.items():
        splitter = SentenceSplitter(language)
        splitter.feed(text)
        sentence = splitter.flush()
        assert sentence is not None
        for count in (1, 10, 100):
            texts = [(fact if n == 0 else "") + prose(language, 2000, seed=n) for n in range(count)]
            index = SourceIndex([Source(text[:2000], language=language) for text in texts])

            judge = Judge(index, GatePolicy(), load_profile(language), RefusalToken("NO_ANSWER"), None)

            def run(judge: Judge = judge, sentence: Sentence = sentence) -> None:
                prepared = judge.prepare(sentence)
                judge.release(prepared, judge.violations(prepared))

            assert judge.violations(judge.prepare(sentence)) == ()
            cost = best(run, seconds / 3)
            rows.append({"what": "judge", "language": language, "sources": count, "us": cost * 1e6})
    return rows


def indexing(seconds: float) -> list[dict[str, Any]]:
    """Building an index per 10 kB of source text, and what it keeps."""
    rows = []
    for language in ("en", "ru", "zh"):
        source = Source(prose(language, 10_000)[:10_000], language=language)
        cost = best(lambda s=source: SourceIndex([s]), seconds / 3)
        tracemalloc.start()
        index = SourceIndex([source])
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        rows.append({"what": "index", "language": language, "ms_per_10kB": cost * 1e3, "kB_kept": kept / 1024})
        del index
    return rows


def growth(lengths: tuple[int, ...], seconds: float) -> list[dict[str, Any]]:
    """Cost per character at growing lengths, relative to the shortest."""
    rows = []
    policy = GatePolicy().shadow()
    index = SourceIndex(["nothing"])
    for name, make in GROWTH_TEXTS.items():
        for what in ("splitter", "gate"):
            costs = []
            for length in lengths:
                stream = pieces(make(length))
                run = (
                    (lambda s=stream: split(s, "en"))
                    if what == "splitter"
                    else (lambda s=stream: gate(s, index, "en", policy))
                )
                costs.append(best(run, seconds / 6) / length)
            rows.append(
                {"what": what, "text": name, "ns_per_char": costs[0] * 1e9}
                | {f"at_{n}": cost / costs[0] for n, cost in zip(lengths[1:], costs[1:], strict=True)}
            )
    return rows


def memory() -> dict[str, Any]:
    """Bytes that one open stream keeps beyond its sources, in the middle of an answer."""
    index = SourceIndex([prose("en", 2000)])
    text = prose("en", 5000, marker=" [S1]")
    open_stream(index, text)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    kept = [open_stream(index, text) for _ in range(200)]
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {"what": "memory", "kB_per_stream": (after - before) / len(kept) / 1024}


def open_stream(index: SourceIndex, text: str) -> SentenceGate:
    """A gate in the middle of an answer."""
    judge = SentenceGate(index, policy=GatePolicy().shadow())
    for piece in pieces(text[:2500]):
        judge.feed(piece)
    return judge


def peers(seconds: float) -> list[dict[str, Any]]:
    """Other splitters on the same English stream, where installed.

    `exact`: what they give out joins to the text. `any_cut`: the stream cut otherwise gives the same.
    """
    count = 300
    text = " ".join(sentences("en", count))
    stream = pieces(text)
    rows = []
    for name, make in PEERS.items():
        try:
            run = make()
        except ImportError:
            continue
        given = run(stream)
        times, cost = times_floors(stream, lambda r=run: r(stream), seconds / 2)
        rows.append(
            {
                "what": name,
                **times,
                "us_per_sentence": cost / count * 1e6,
                "exact": "".join(given) == text,
                "any_cut": run(pieces(text, 7)) == given == run([text]),
            }
        )
    return rows


def main() -> int:
    """Run everything and print it. Returns 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="short runs, 100,000 characters at most")
    parser.add_argument("--json", metavar="FILE", type=Path)
    parser.add_argument("--plots", metavar="DIR", type=Path, help="write plots as SVG files")
    args = parser.parse_args()
    seconds = 0.3 if args.quick else 2.0
    lengths = (10_000, 100_000) if args.quick else (10_000, 100_000, 1_000_000)
    where = machine()
    print(", ".join(f"{k} {v}" for k, v in where.items()))
    found: dict[str, list[dict[str, Any]]] = {}
    found["streams"] = streams(seconds)
    table("A stream in pieces of 4 characters, against the floor", found["streams"])
    found["peers"] = peers(seconds)
    table("Peers, same English stream", found["peers"])
    found["judging"] = judging(seconds)
    table("One sentence with two values, sources of 2,000 characters", found["judging"])
    found["indexing"] = indexing(seconds)
    table("Building a SourceIndex", found["indexing"])
    found["memory"] = [memory()]
    table("An open stream beyond its sources", found["memory"])
    per_core = [
        {
            "what": "streams per core at 100 pieces a second",
            "count": int(1e4 / row["us_per_piece"]),
            "language": row["language"],
        }
        for row in found["streams"]
        if row["what"] == "gate"
    ]
    table("Capacity, from the gate's cost per piece", per_core)
    found["growth"] = growth(lengths, seconds)
    table("Cost per character, relative to 10,000 characters", found["growth"])
    if args.json:
        args.json.write_text(json.dumps({"machine": where, **found}, indent=1), encoding="utf-8")
    if args.plots:
        args.plots.mkdir(parents=True, exist_ok=True)
        plot([*found["streams"], *found["peers"]], args.plots / "speed.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
