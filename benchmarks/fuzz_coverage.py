"""Fuzzing that looks for new branches (atheris, libFuzzer), one target at a time.

    pip install atheris
    python benchmarks/fuzz_coverage.py TARGET [--seconds 300] [--cases tests/cases] [--corpus DIR]

Targets: cuts (splitter and gate: the same for every cutting, exact text, nothing blocked shown), forms
(the matching form and values), frames (provider frames and bytes). `--cases` seeds the run with the
texts of the case files; `--corpus` keeps what was found for the next run. A failure ends the run, and
its message is what is wrong; nothing is printed of a run that finds nothing but libFuzzer's own figures.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

try:
    import atheris
except ImportError:
    print("atheris is not installed; it is not needed but for this: pip install atheris", file=sys.stderr)
    raise SystemExit(2) from None

with atheris.instrument_imports(include=["guardrails_plugins"]):
    import fuzz

    from guardrails_plugins import SourceIndex, normalize
    from guardrails_plugins.core.errors import GateError
    from guardrails_plugins.core.languages.profile import load_profile
    from guardrails_plugins.core.normalize import fold
    from guardrails_plugins.core.values import EQUIVALENCES, extract
    from guardrails_plugins.streaming.frames import FrameReader

INDEXES = {code: SourceIndex([" ".join(words), "Hall 412 1998"], language=code) for code, words in fuzz.WORDS.items()}
MAX_PIECE = 24


def text_of(data: Any) -> str:
    """The rest of the data as text; what is no UTF-8 becomes lone surrogates."""
    rest: bytes = data.ConsumeBytes(data.remaining_bytes())
    return rest.decode("utf-8", "surrogateescape")


def cuts(data: Any) -> None:
    """One text, whole and cut: see `fuzz.difference`."""
    language = data.PickValueInList(list(fuzz.LANGUAGES))
    bound, style = data.PickValueInList(list(fuzz.BOUNDS)), data.PickValueInList(list(fuzz.STYLES))
    sizes = [data.ConsumeIntInRange(1, MAX_PIECE) for _ in range(8)]
    whole = text_of(data)
    pieces, at, turn = [], 0, 0
    while at < len(whole):
        pieces.append(whole[at : at + sizes[turn % 8]])
        at += sizes[turn % 8]
        turn += 1
    wrong = fuzz.difference(whole, pieces, INDEXES[language], language, bound, style)
    if wrong is not None:
        raise AssertionError(wrong)


def forms(data: Any) -> None:
    """The matching form is idempotent, and values lie in their text, in order."""
    language = data.PickValueInList(list(fuzz.LANGUAGES))
    text = text_of(data)
    assert normalize(normalize(text)) == normalize(text), repr(text)
    folded, offsets = fold(text)
    assert offsets is None or len(offsets) == len(folded) + 1, repr(text)
    last = 0
    for value in extract(text, load_profile(language), equivalences=EQUIVALENCES, source_count=2):
        assert 0 <= value.span.start < value.span.end <= len(text), repr(text)
        assert value.span.start >= last - 1, repr(text)
        last = value.span.start


def frames(data: Any) -> None:
    """A frame is read, or refused with a named error; bytes read the same in any cutting."""
    raw: bytes = data.ConsumeBytes(data.remaining_bytes())
    whole, cut = FrameReader(), FrameReader()
    once = whole.read(raw).text + whole.finish().text
    again = "".join(cut.read(raw[at : at + 3]).text for at in range(0, len(raw), 3)) + cut.finish().text
    assert once == again, raw
    try:
        frame = json.loads(raw)
    except (ValueError, RecursionError):
        return
    if isinstance(frame, dict):
        with contextlib.suppress(GateError):
            assert isinstance(FrameReader().read(frame).text, str)


TARGETS: dict[str, Callable[[Any], None]] = {"cuts": cuts, "forms": forms, "frames": frames}
FRAMES = (
    {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1}},
    {"type": "response.output_text.delta", "delta": "a"},
    {"type": "response.completed", "response": {"status": "completed", "usage": {"input_tokens": 1}}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
    {"type": "AIMessageChunk", "content": [{"type": "text", "text": "a"}], "response_metadata": {}},
)


def main() -> int:
    """Run one target. Returns what libFuzzer says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--cases", type=Path, metavar="DIR")
    parser.add_argument("--corpus", type=Path, metavar="DIR")
    args = parser.parse_args()
    folder = args.corpus or Path(tempfile.mkdtemp(prefix="fuzz-"))
    folder.mkdir(parents=True, exist_ok=True)
    if args.target == "frames":
        seeds = [json.dumps(frame).encode() for frame in FRAMES]
    else:
        # The data of a text stands before the numbers that choose language and cutting (as libFuzzer reads it).
        texts = fuzz.corpus(args.cases) if args.cases else []
        seeds = [text.encode("utf-8", "surrogatepass") + bytes(24) for text in texts]
    for number, seed in enumerate(seeds):
        (folder / f"seed-{number}").write_bytes(seed)
    options = [sys.argv[0], str(folder), f"-max_total_time={args.seconds}", "-max_len=600", "-timeout=20"]
    atheris.Setup(options, lambda raw: TARGETS[args.target](atheris.FuzzedDataProvider(raw)))
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
