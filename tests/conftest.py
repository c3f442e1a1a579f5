"""What every test shares: no network but loopback, no telemetry, the marks, and programs that must be there."""

from __future__ import annotations

import os
import shutil
import socket
from typing import Any

import pytest

OFFLINE = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OTEL_SDK_DISABLED": "true",
    "GUARDRAILS_DISABLE_TELEMETRY": "true",
    "GUARDRAILS_RUN_SYNC": "false",
    "NEMO_GUARDRAILS_NO_USAGE_STATS": "1",
    "ANONYMIZED_TELEMETRY": "false",
    "DO_NOT_TRACK": "1",
    "LANGCHAIN_TRACING_V2": "false",
    "HF_HUB_OFFLINE": "1",
}
"""Set before any framework is imported: they read these once."""

os.environ.update(OFFLINE)

MARKS = {
    "framework": "needs NeMo Guardrails or Guardrails AI installed",
    "browser": "drives a real browser",
    "proxy": "runs nginx or Caddy",
    "slow": "takes more than ten seconds",
}

REQUIRE_ALL = "SENTENCE_GATE_REQUIRE_ALL"

_connect = socket.socket.connect
_connect_ex = socket.socket.connect_ex
_getaddrinfo = socket.getaddrinfo
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0", ""})


class NetworkBlockedError(RuntimeError):
    """A test tried to leave the machine."""


def _is_local(address: Any) -> bool:
    """Whether an address is a Unix socket or loopback."""
    if not isinstance(address, tuple):
        return True
    host = address[0]
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    return host in _LOCAL_NAMES or str(host).startswith("127.")


def _refuse(address: Any) -> None:
    if not _is_local(address):
        raise NetworkBlockedError(f"tests may only connect to loopback, not to {address!r}")


def _guarded_connect(self: socket.socket, address: Any) -> None:
    _refuse(address)
    _connect(self, address)


def _guarded_connect_ex(self: socket.socket, address: Any) -> int:
    _refuse(address)
    return _connect_ex(self, address)


def _guarded_getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
    _refuse((host if host is not None else "",))
    return _getaddrinfo(host, *args, **kwargs)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks and close the network for the whole run."""
    for name, what in MARKS.items():
        config.addinivalue_line("markers", f"{name}: {what}")
    socket.socket.connect = _guarded_connect  # type: ignore[method-assign]
    socket.socket.connect_ex = _guarded_connect_ex  # type: ignore[method-assign]
    socket.getaddrinfo = _guarded_getaddrinfo


def pytest_unconfigure(config: pytest.Config) -> None:
    """Give the network functions back."""
    socket.socket.connect = _connect  # type: ignore[method-assign]
    socket.socket.connect_ex = _connect_ex  # type: ignore[method-assign]
    socket.getaddrinfo = _getaddrinfo


def missing(what: str) -> None:
    """Skip the test because `what` is not installed, or fail it when everything is required."""
    message = f"{what} is not installed"
    if os.environ.get(REQUIRE_ALL) == "1":
        pytest.fail(f"{message}, and {REQUIRE_ALL}=1 forbids skipping", pytrace=False)
    pytest.skip(message)


def require_program(name: str) -> str:
    """The full path of a program on PATH; skips without it, or fails under SENTENCE_GATE_REQUIRE_ALL=1."""
    path = shutil.which(name)
    if path is None:
        missing(f"the program {name!r}")
    assert path is not None
    return path


def require_module(name: str) -> Any:
    """An importable module; skips without it, or fails under SENTENCE_GATE_REQUIRE_ALL=1."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        missing(f"the module {name!r}")
