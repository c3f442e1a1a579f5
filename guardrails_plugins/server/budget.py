"""A monthly budget of tokens in SQLite. Every stream counts, also one that was broken off."""

from __future__ import annotations

import datetime
import logging
import sqlite3
import threading
from dataclasses import dataclass
from pathlib import Path

from guardrails_plugins.core.usage import Usage

logger = logging.getLogger("guardrails_plugins")

MAX_STREAM_TOKENS = 10**15
"""No stream has more; a report beyond it would not fit into SQLite's whole numbers."""
LOCK_WAIT_S = 0.1
"""Seconds that a locked file is waited for."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens of a month, reported and estimated apart."""

    month: str
    reported: int
    estimated: int
    streams: int

    @property
    def tokens(self) -> int:
        """All tokens."""
        return self.reported + self.estimated


class Budget:
    """Counts tokens by calendar month (UTC). `limit` is the tokens of a month, None for no limit.

    What the database does not take (locked, a full disk) is kept in memory, counted all the same,
    and written with the next stream.
    """

    def __init__(self, database: str | Path = ":memory:", limit: int | None = None) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._unwritten: dict[str, tuple[int, int, int]] = {}
        self._seen: tuple[str, tuple[int, int, int]] | None = None
        # Asked inside the event loop: another process that holds the file must not hold the streams.
        self._db = sqlite3.connect(database, timeout=LOCK_WAIT_S, check_same_thread=False)
        with self._db:
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS spent (month TEXT PRIMARY KEY, reported INTEGER, estimated INTEGER,"
                " streams INTEGER)"
            )

    def add(self, usage: Usage) -> None:
        """Count one stream. Raises nothing: a stream that was generated has been spent."""
        reported = min(usage.input_reported + usage.output_reported, MAX_STREAM_TOKENS)
        estimated = min(usage.input_estimated + usage.output_estimated, MAX_STREAM_TOKENS)
        month = _month()
        with self._lock:
            self._unwritten[month] = _sum(self._unwritten.get(month), (reported, estimated, 1))
            try:
                self._write()
            except sqlite3.Error as error:
                logger.error("the budget could not be written (%s); it is kept in memory", type(error).__name__)

    def _write(self) -> None:
        with self._db:
            self._db.executemany(
                "INSERT INTO spent VALUES (?, ?, ?, ?) ON CONFLICT (month) DO UPDATE SET"
                " reported = reported + excluded.reported, estimated = estimated + excluded.estimated,"
                " streams = streams + excluded.streams",
                [(month, *counts) for month, counts in self._unwritten.items()],
            )
        self._unwritten.clear()

    def spent(self) -> Spent:
        """What this month has used."""
        month = _month()
        with self._lock:
            try:
                row = self._db.execute(
                    "SELECT reported, estimated, streams FROM spent WHERE month = ?", (month,)
                ).fetchone()
                self._seen = (month, row or (0, 0, 0))
            except sqlite3.Error as error:
                logger.error("the budget could not be read (%s); what was read last stands", type(error).__name__)
                row = self._seen[1] if self._seen is not None and self._seen[0] == month else None
            return Spent(month, *_sum(self._unwritten.get(month), row))

    def is_used_up(self) -> bool:
        """Whether further answers are refused."""
        return self.limit is not None and self.spent().tokens >= self.limit

    def close(self) -> None:
        """Close the database."""
        self._db.close()


def _sum(one: tuple[int, int, int] | None, other: tuple[int, int, int] | None) -> tuple[int, int, int]:
    a, b = one or (0, 0, 0), other or (0, 0, 0)
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def _month() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m")
