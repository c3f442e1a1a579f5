"""A running endpoint: what configuration cannot tell, asked over HTTP."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from guardrails_plugins.core.errors import GateError

LUMP_S = 0.005
"""Events closer than this came in one lump."""


class EndpointError(GateError):
    """The endpoint cannot be asked; the message says why."""


@dataclass(slots=True)
class Visit:
    """What one visit saw. Times in seconds since the request."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    arrivals: list[float] = field(default_factory=list)
    pings: int = 0
    usage_at: float | None = None
    ended: float = 0.0


@dataclass(frozen=True, slots=True)
class Line:
    """One answer of the endpoint's examination; `good` is None where it cannot be seen from outside."""

    good: bool | None
    text: str


def examine(url: str, *, question: str, key: str | None, model: str, listen_s: float) -> list[Line]:
    """Ask the endpoint. Raises `EndpointError` when it does not answer."""
    ours = not urlsplit(url).path.rstrip("/").endswith("chat/completions")
    visit = _visit(url, _body(ours, question, model), key, leave_after=None, limit_s=listen_s)
    if visit.status != 200:
        raise EndpointError(
            f"{url} answered with status {visit.status}; is the address, the key or the question wrong?"
        )
    return [*_arrival(visit), *_quiet(visit), *_leaving(url, ours, question, model, key, listen_s)]


def _arrival(visit: Visit) -> list[Line]:
    lines = []
    if len(visit.arrivals) < 2:
        lines.append(Line(None, f"{len(visit.arrivals)} events with text came: ask something with a longer answer"))
    else:
        gaps = [b - a for a, b in zip(visit.arrivals, visit.arrivals[1:], strict=False)]
        lumps = sum(gap < LUMP_S for gap in gaps)
        spread = visit.arrivals[-1] - visit.arrivals[0]
        good = lumps < len(gaps)
        how = "as it is written" if good else "in one lump: a proxy or a middleware holds it back"
        lines.append(Line(good, f"text arrives {how} ({len(visit.arrivals)} events over {spread:.2f} s)"))
    if visit.usage_at is None:
        lines.append(Line(False, "usage is never reported"))
    else:
        lines.append(Line(True, f"usage is reported at {visit.usage_at:.2f} s of {visit.ended:.2f} s"))
    encoding = visit.headers.get("content-encoding")
    if encoding:
        lines.append(Line(None, f"the stream is packed ({encoding}): see that each event is flushed"))
    return lines


def _quiet(visit: Visit) -> list[Line]:
    if visit.pings:
        return [Line(True, f"{visit.pings} comments kept the connection open")]
    if visit.ended < 16:
        return [Line(None, "the answer ended before a comment was due (15 s)")]
    return [Line(False, "no comment came in a stream of more than 15 s: a proxy may drop quiet connections")]


def _leaving(url: str, ours: bool, question: str, model: str, key: str | None, listen_s: float) -> list[Line]:
    before = _open_streams(url, key) if ours else None
    if before is None:
        return [Line(None, "whether leaving reaches the provider cannot be seen from outside here")]
    _visit(url, _body(ours, question, model), key, leave_after=1, limit_s=listen_s)
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        now = _open_streams(url, key)
        if now is not None and now <= before:
            return [Line(True, "a client that leaves ends its stream on the server")]
        time.sleep(0.1)
    return [Line(False, "a client left five seconds ago and its stream is still open")]


def _body(ours: bool, question: str, model: str) -> dict[str, Any]:
    if ours:
        return {"question": question}
    return {
        "model": model,
        "messages": [{"role": "user", "content": question}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def _visit(url: str, body: dict[str, Any], key: str | None, *, leave_after: int | None, limit_s: float) -> Visit:
    import httpx

    visit, start = Visit(), time.monotonic()
    headers = {"accept": "text/event-stream", **({"authorization": f"Bearer {key}"} if key else {})}
    try:
        with httpx.stream("POST", url, json=body, headers=headers, timeout=limit_s) as reply:
            visit.status, visit.headers = reply.status_code, dict(reply.headers)
            for line in reply.iter_lines():
                _take(visit, line, time.monotonic() - start)
                if leave_after is not None and len(visit.arrivals) >= leave_after:
                    break
                if time.monotonic() - start > limit_s:
                    break
    except httpx.HTTPError as error:
        raise EndpointError(f"{url} does not answer ({type(error).__name__})") from None
    visit.ended = time.monotonic() - start
    return visit


def _take(visit: Visit, line: str, now: float) -> None:
    if line.startswith(":"):
        visit.pings += 1
        return
    if not line.startswith("data:"):
        return
    try:
        data = json.loads(line[5:])
    except ValueError:
        return
    if not isinstance(data, dict):
        return
    choices = data.get("choices") or []
    delta = choices[0].get("delta") or {} if choices else {}
    if delta.get("content") or (isinstance(data.get("text"), str) and "cited" in data):
        visit.arrivals.append(now)
    if data.get("usage"):
        visit.usage_at = now


def _open_streams(url: str, key: str | None) -> float | None:
    import httpx

    parts = urlsplit(url)
    headers = {"authorization": f"Bearer {key}"} if key else {}
    try:
        text = httpx.get(f"{parts.scheme}://{parts.netloc}/metrics", headers=headers, timeout=5).text
    except httpx.HTTPError:
        return None
    for line in text.splitlines():
        if line.startswith("sentence_gate_open_streams "):
            return float(line.split()[1])
    return None
