"""The server's side of Server-Sent Events: a pure encoder (WHATWG HTML, section 9.2)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

PING = b": ping\n\n"
"""A comment: keeps proxies from dropping a quiet connection."""

HEADERS = {
    "Cache-Control": "no-cache, no-store, no-transform",
    "X-Accel-Buffering": "no",
}
"""`no-transform`, since a proxy that packs the body may join events; nginx buffers unless told not to."""


def encode(event: str, data: Mapping[str, Any]) -> bytes:
    """One event. The data is JSON in ASCII: no line break, no lone surrogate, nothing that could
    pose as a field of the protocol."""
    return f"event: {event}\ndata: {json.dumps(data, ensure_ascii=True, separators=(',', ':'))}\n\n".encode("ascii")
