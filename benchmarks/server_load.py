"""Many streams at once through the server, the gate on against the gate off, in one run.

    python benchmarks/server_load.py [--streams 300] [--seconds 60] [--quick]

The server runs in a process of its own with a provider inside it that writes a fixed answer, a
piece of 12 characters every 0.1 seconds. *Gate off* is the same server that splits sentences but
checks nothing. On and off take turns. Prints the time to the first sentence and between sentences
as ratios (median and 99th percentile), how many streams were mixed up or showed the withheld
sentence, and the server's memory after the first and the last turn. Exit code 1 when a stream was
mixed up or leaked.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PIECE_CHARS = 12
PIECE_SECONDS = 0.1
ROOMS = 50
FACTS = "Room {n} of the old harbour library holds {a} chairs. Room {n} was opened in {y} for the readers of the town. "
ANSWER = (
    "Room {n} of the old harbour library holds {a} chairs [S1]. It was opened in {y} for the readers of the town [S1]. "
    "The library of the harbour is old, and its readers come from the town [S1]. "
)
INVENTED = "The room cost 987654 euros [S1]. And this is never reached [S1]."
GATE_OFF = {"citations": "off", "values": False, "person": False}


def room(n: int) -> dict[str, int]:
    """The facts of one room."""
    return {"n": n, "a": 100 + 7 * n, "y": 1800 + n}


class Written:
    """A provider that writes the answer of the room that is asked for; every fourth answer invents a value."""

    async def stream(self, request: Any) -> AsyncIterator[str]:
        """The answer in pieces, at a model's pace."""
        n = int(request.question.split()[-1].rstrip("?"))
        text = ANSWER.format(**room(n)) + (INVENTED if n % 4 == 0 else "")
        for at in range(0, len(text), PIECE_CHARS):
            yield text[at : at + PIECE_CHARS]
            await asyncio.sleep(PIECE_SECONDS)


def serve(mode: str, port: int) -> None:
    """The server process."""
    import logging

    import uvicorn

    from guardrails_plugins import GatePolicy
    from guardrails_plugins.server.answers import Service
    from guardrails_plugins.server.app import create_app
    from guardrails_plugins.server.budget import Budget
    from guardrails_plugins.server.metrics import Metrics
    from guardrails_plugins.server.retrieval import Library
    from guardrails_plugins.server.settings import Settings

    logging.getLogger("guardrails_plugins").setLevel(logging.ERROR)  # a line a stop is not what is measured
    with tempfile.TemporaryDirectory() as folder:
        for n in range(ROOMS):
            (Path(folder) / f"{n}.md").write_text(f"# Room {n}\n\n{FACTS.format(**room(n))}", encoding="utf-8")
        library = Library(Path(folder))
        library.index()
        policy = GatePolicy.from_mapping(GATE_OFF if mode == "off" else {})
        settings = Settings(policy=policy, max_streams=100_000, max_passages=1)
        app = create_app(Service(library, Written(), settings, Budget(), Metrics()))
        uvicorn.run(app, host="127.0.0.1", port=port, log_level="error", access_log=False)


@dataclass
class Seen:
    """What the clients of one mode saw."""

    first: list[float] = field(default_factory=list)
    between: list[float] = field(default_factory=list)
    answers: int = 0
    mixed: int = 0
    leaked: int = 0


async def client(port: int, end: float, seen: Seen, chance: random.Random) -> None:
    """Ask one question after another until the time is over."""
    await asyncio.sleep(chance.random() * 2)
    while time.monotonic() < end:
        n = chance.randrange(ROOMS)
        body = json.dumps({"question": f"How many chairs of the harbour library are in room {n}?"}).encode()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        last = time.monotonic()
        head = (
            "POST /v1/answers HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        count, text = 0, b""
        while line := await reader.readline():
            text += line
            if line.startswith(b"event: sentence"):
                now = time.monotonic()
                (seen.first if count == 0 else seen.between).append(now - last)
                last, count = now, count + 1
        writer.close()
        seen.answers += 1
        wanted = f"holds {room(n)['a']} chairs".encode()
        seen.mixed += wanted not in text
        seen.leaked += b"987654" in text


async def turn(port: int, streams: int, seconds: float, seen: Seen, seed: int) -> None:
    """All clients for one turn."""
    end = time.monotonic() + seconds
    await asyncio.gather(*(client(port, end, seen, random.Random(seed * 1000 + n)) for n in range(streams)))


def memory_mb(pid: int) -> float:
    """Resident memory of a process (Linux)."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def start(mode: str) -> tuple[subprocess.Popen[bytes], int]:
    """A server process that answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, __file__, "--serve", mode, str(port)])
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return process, port
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("the server did not start")


def percentile(values: list[float], share: float) -> float:
    """The value below which a share lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def main() -> int:
    """Run and print. Returns 1 when a stream was mixed up or leaked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each mode, in turns")
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--quick", action="store_true", help="40 streams, 12 seconds")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve(args.serve[0], int(args.serve[1]))
        return 0
    if args.quick:
        args.streams, args.seconds, args.turns = 40, 12.0, 2
    servers = {mode: start(mode) for mode in ("on", "off")}
    seen = {mode: Seen() for mode in servers}
    sizes: list[float] = []
    try:
        for number in range(args.turns):
            for mode, (_, port) in servers.items():
                asyncio.run(turn(port, args.streams, args.seconds / args.turns, seen[mode], number))
            sizes.append(memory_mb(servers["on"][0].pid))
    finally:
        for process, _ in servers.values():
            process.terminate()
            process.wait(10)
    report(args, seen, sizes)
    return 1 if seen["on"].mixed or seen["on"].leaked else 0


def report(args: argparse.Namespace, seen: dict[str, Seen], sizes: list[float]) -> None:
    """Print the comparison."""
    on, off = seen["on"], seen["off"]
    print(f"{args.streams} streams at once, {args.seconds:.0f} s each mode; {on.answers} answers on, {off.answers} off")
    for name in ("first", "between"):
        ours, theirs = getattr(on, name), getattr(off, name)
        half = statistics.median(ours) / statistics.median(theirs)
        tail = percentile(ours, 0.99) / percentile(theirs, 0.99)
        title = "time to first sentence" if name == "first" else "time between sentences"
        print(
            f"{title}: median {statistics.median(ours) * 1e3:.0f} ms, {half:.2f} times off;"
            f" 99th percentile {percentile(ours, 0.99) * 1e3:.0f} ms, {tail:.2f} times off"
        )
    print(f"mixed up {on.mixed}, leaked {on.leaked}; with the gate off {off.leaked} answers showed the invented value")
    print(f"memory after each turn: {', '.join(f'{s:.0f}' for s in sizes)} MB")


if __name__ == "__main__":
    sys.exit(main())
