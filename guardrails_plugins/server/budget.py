"""A monthly budget of tokens in SQLite. Every stream counts, also one that was broken off."""

from __future__ import annotations

import datetime
import sqlite3
import threading
from dataclasses import dataclass
from pathlib import Path

from guardrails_plugins.core.usage import Usage


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
    """Counts tokens by calendar month (UTC). `limit` is the tokens of a month, None for no limit."""

    def __init__(self, database: str | Path = ":memory:", limit: int | None = None) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._db = sqlite3.connect(database, check_same_thread=False)
        with self._db:
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS spent (month TEXT PRIMARY KEY, reported INTEGER, estimated INTEGER,"
                " streams INTEGER)"
            )

    def add(self, usage: Usage) -> None:
        """Count one stream."""
        reported = usage.input_reported + usage.output_reported
        estimated = usage.input_estimated + usage.output_estimated
        with self._lock, self._db:
            self._db.execute(
                "INSERT INTO spent VALUES (?, ?, ?, 1) ON CONFLICT (month) DO UPDATE SET"
                " reported = reported + excluded.reported, estimated = estimated + excluded.estimated,"
                " streams = streams + 1",
                (_month(), reported, estimated),
            )

    def spent(self) -> Spent:
        """What this month has used."""
        month = _month()
        with self._lock:
            row = self._db.execute(
                "SELECT reported, estimated, streams FROM spent WHERE month = ?", (month,)
            ).fetchone()
        return Spent(month, *(row or (0, 0, 0)))

    def is_used_up(self) -> bool:
        """Whether further answers are refused."""
        return self.limit is not None and self.spent().tokens >= self.limit

    def close(self) -> None:
        """Close the database."""
        self._db.close()


def _month() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m")
