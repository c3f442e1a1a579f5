"""What a sentence costs through a Guard: ours against the stock sentence chunker with a validator that does nothing.

    python benchmarks/guardrails_cost.py [--sentences 100 200 400]

Prints microseconds a sentence for both and for the gate without a Guard, the ratio of the first two,
and how each grows. The same answer in the same pieces goes through all, in one process, telemetry and
tracing off. Exit code 1 when ours costs more than a fifth of the stock one at the largest length, or
grows by more than half. A Guard reads its whole log of a call at every outcome (`Call.status`): in
answers of a thousand sentences that is what grows.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PIECE = 4
"""Code points a piece: about one token of English."""

LIMIT = 0.2
GROWTH = 1.5


@dataclass(frozen=True, slots=True)
class Row:
    """Microseconds a sentence at one length."""

    sentences: int
    ours: float
    stock: float
    gate: float

    @property
    def ratio(self) -> float:
        """Ours in parts of the stock one."""
        return self.ours / self.stock


def quiet() -> None:
    """Keep Guardrails and LiteLLM off the network, before they are imported."""
    home = Path(tempfile.mkdtemp(prefix="guardrails-"))
    (home / ".guardrailsrc").write_text("enable_metrics=false\n", encoding="utf-8")
    os.environ.update(HOME=str(home), OTEL_SDK_DISABLED="true", LITELLM_LOCAL_MODEL_COST_MAP="True")
    warnings.simplefilter("ignore")


def answer(sentences: int) -> tuple[str, str]:
    """A source and an answer over it; each sentence has a value to look up and a marker."""
    facts = [f"Room number {n} of the old library holds {n + 3} wooden chairs" for n in range(1, sentences + 1)]
    return ". ".join(facts) + ".", " ".join(f"{fact} [S1]." for fact in facts)


def provider(text: str) -> Callable[..., Iterator[str]]:
    """A model that streams the text in small pieces."""

    def call(*, messages: Any = None, **kwargs: Any) -> Iterator[str]:
        return (text[i : i + PIECE] for i in range(0, len(text), PIECE))

    return call


def seconds(guard: Any, llm: Callable[..., Any], source: Any) -> float:
    """How long one reading takes."""
    begun = time.perf_counter()
    for _ in guard(llm, messages=[{"role": "user", "content": "q"}], metadata={"sources": source}, stream=True):
        pass
    return time.perf_counter() - begun


def gate_seconds(text: str, source: Any) -> float:
    """How long the gate by itself takes."""
    from guardrails_plugins.core.gate import SentenceGate

    begun = time.perf_counter()
    gate = SentenceGate(source)
    for piece in provider(text)():
        gate.feed(piece)
    gate.finish()
    return time.perf_counter() - begun


def measure(lengths: list[int], *, repeat: int = 3) -> list[Row]:
    """The best of `repeat` runs for each length."""
    from guardrails import Guard
    from guardrails.settings import settings
    from guardrails.validator_base import PassResult, Validator, register_validator

    from guardrails_plugins.adapters.guardrails_ai import SentenceGateValidator, sentence_stream
    from guardrails_plugins.core.sources import SourceIndex

    settings.disable_tracing = True

    @register_validator(name="benchmark/nothing", data_type="string")
    class Nothing(Validator):  # type: ignore[misc]
        def _validate(self, value: Any, metadata: dict[str, Any]) -> Any:
            return PassResult()

    rows = []
    seconds(Guard().use(SentenceGateValidator()), sentence_stream(provider("Warm.")), ["Warm."])  # imports, caches
    for length in lengths:
        source, text = answer(length)
        index = SourceIndex.of([source])
        ours = min(
            seconds(Guard().use(SentenceGateValidator()), sentence_stream(provider(text)), index) for _ in range(repeat)
        )
        stock = min(seconds(Guard().use(Nothing()), provider(text), index) for _ in range(repeat))
        # Milliseconds a run: a pause of the machine counts for more than in the others.
        gate = min(gate_seconds(text, index) for _ in range(5 * repeat))
        rows.append(Row(length, *(part / length * 1e6 for part in (ours, stock, gate))))
    return rows


def main() -> int:
    """Measure, print, and judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sentences", type=int, nargs="+", default=[100, 200, 400])
    parser.add_argument("--repeat", type=int, default=2)
    options = parser.parse_args()
    quiet()
    rows = measure(options.sentences, repeat=options.repeat)
    print(f"{'sentences':>9} {'ours, µs':>10} {'stock, µs':>10} {'ratio':>7} {'gate, µs':>10}")
    for row in rows:
        print(f"{row.sentences:>9} {row.ours:>10.0f} {row.stock:>10.0f} {row.ratio:>7.3f} {row.gate:>10.0f}")
    first, last = rows[0], rows[-1]
    ours, stock, gate = last.ours / first.ours, last.stock / first.stock, last.gate / first.gate
    print(f"growth of the cost a sentence, {first.sentences} to {last.sentences} sentences:")
    print(f"ours {ours:.2f}, stock {stock:.2f}, gate {gate:.2f}")
    return 0 if last.ratio <= LIMIT and ours <= GROWTH else 1


if __name__ == "__main__":
    sys.exit(main())
