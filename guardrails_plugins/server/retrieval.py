"""Passages in SQLite: full text (FTS5, BM25) over matching forms, with a threshold of relevance.

Words are indexed in matching form, so that Persian and Arabic spellings and digits meet; runs
of Han characters as single characters and pairs, since no blanks stand between their words.
"""

from __future__ import annotations

import hashlib
import math
import sqlite3
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import regex

from guardrails_plugins.core.languages.profile import LANGUAGES, load_profile
from guardrails_plugins.core.normalize import normalize
from guardrails_plugins.server.documents import DocumentError, Passage, files, passages, read

MIN_RELEVANCE = 0.34
"""Share of the question's content words, weighted by rarity, that a passage must hold."""
MAX_PASSAGES = 6
CANDIDATES = 40
SCHEMA_VERSION = 2

_WORD = regex.compile(r"\p{Han}++|[\p{L}\p{M}\p{N}--\p{Han}]++", regex.V1)
_MIN_STEM = 4
_HAN = regex.compile(r"\p{Han}")


@dataclass(frozen=True, slots=True)
class Found:
    """A passage that supports a question, with its relevance (0 to 1)."""

    passage: Passage
    relevance: float


@dataclass(frozen=True, slots=True)
class Indexed:
    """What indexing did: documents read anew, kept, dropped, and those that could not be read."""

    read: int
    kept: int
    dropped: int
    errors: tuple[str, ...]


class Library:
    """The passages of a folder. `database` is a file, or ":memory:". Safe for many threads."""

    def __init__(self, folder: Path, database: str | Path = ":memory:") -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._db = sqlite3.connect(database, check_same_thread=False)
        self._stop_words = _stop_words()
        self._create()

    def _create(self) -> None:
        with self._lock, self._db as db:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, SCHEMA_VERSION):
                raise DocumentError(f"the index has version {version}, not {SCHEMA_VERSION}; remove it to index anew")
            db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            db.execute("CREATE TABLE IF NOT EXISTS documents (name TEXT PRIMARY KEY, digest TEXT)")
            db.execute(
                "CREATE TABLE IF NOT EXISTS passages"
                " (id INTEGER PRIMARY KEY, document TEXT, number INTEGER, title TEXT, text TEXT, words TEXT)"
            )
            db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS terms USING fts5(words)")
            db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS vocabulary USING fts5vocab(terms, row)")

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    def index(self) -> Indexed:
        """Bring the index up to the folder: only documents whose content changed are read anew."""
        known = dict(self._db.execute("SELECT name, digest FROM documents"))
        present: set[str] = set()
        counts, errors = [0, 0], []
        for path in files(self.folder):
            name = path.relative_to(self.folder).as_posix()
            try:
                name.encode()  # what cannot be written as UTF-8 can be neither kept nor sent
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                if known.get(name) != digest:
                    self._replace(name, digest, list(passages(name, read(path))))
                counts[known.get(name) == digest] += 1
                present.add(name)
            except DocumentError as error:
                errors.append(str(error))
            except UnicodeEncodeError:
                errors.append(f"{path}: the name is not UTF-8; rename it")
            except OSError as error:
                errors.append(f"{path} cannot be read ({error.strerror})")
        # What can no longer be read is dropped too: its old text is not that of the document.
        gone = [name for name in known if name not in present]
        for name in gone:
            self._replace(name, None, [])
        return Indexed(counts[0], counts[1], len(gone), tuple(errors))

    def _replace(self, name: str, digest: str | None, parts: Iterable[Passage]) -> None:
        with self._lock, self._db as db:
            for (row,) in db.execute("SELECT id FROM passages WHERE document = ?", (name,)).fetchall():
                db.execute("DELETE FROM terms WHERE rowid = ?", (row,))
            db.execute("DELETE FROM passages WHERE document = ?", (name,))
            db.execute("DELETE FROM documents WHERE name = ?", (name,))
            for part in parts:
                words = " ".join(terms(f"{part.title}\n{part.text}"))
                cursor = db.execute(
                    "INSERT INTO passages (document, number, title, text, words) VALUES (?, ?, ?, ?, ?)",
                    (part.document, part.number, part.title, part.text, words),
                )
                db.execute("INSERT INTO terms (rowid, words) VALUES (?, ?)", (cursor.lastrowid, words))
            if digest is not None:
                db.execute("INSERT INTO documents VALUES (?, ?)", (name, digest))

    def __len__(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM passages").fetchone()[0])

    def search(self, question: str, *, limit: int = MAX_PASSAGES, threshold: float = MIN_RELEVANCE) -> list[Found]:
        """The passages that support a question, best first; none when nothing reaches the threshold."""
        wanted = self.content_words(question)
        if not wanted:
            return []
        with self._lock:
            total = len(self)
            weights = {w: self._weight(w, total) for w in wanted}
            query = " OR ".join(_match(w) for w in wanted)
            rows = self._db.execute(
                "SELECT p.document, p.number, p.title, p.text, p.words FROM terms JOIN passages p ON p.id = terms.rowid"
                " WHERE terms MATCH ? ORDER BY bm25(terms) LIMIT ?",
                (query, CANDIDATES),
            ).fetchall()
        found = [Found(Passage(*row[:4]), _relevance(row[4], weights)) for row in rows]
        found = [f for f in found if f.relevance >= threshold]
        found.sort(key=lambda f: -f.relevance)
        return found[:limit]

    def content_words(self, text: str) -> list[str]:
        """The words of a question that say what it is about, each once."""
        words = [w for w in terms(text) if w not in self._stop_words and (len(w) > 2 or not w.isascii() or w.isdigit())]
        return list(dict.fromkeys(words))

    def _weight(self, word: str, total: int) -> float:
        """Inverse document frequency; a word that is nowhere weighs most."""
        stem = stem_of(word)
        row = self._db.execute(
            "SELECT coalesce(sum(doc), 0) FROM vocabulary WHERE term >= ? AND term < ?", (stem, stem + "\U0010ffff")
        ).fetchone()
        return math.log(1 + (total + 0.5) / (min(int(row[0]), total) + 0.5))


def terms(text: str) -> list[str]:
    """The terms of a text: words in matching form; Han runs as single characters and pairs."""
    out: list[str] = []
    for word in _WORD.findall(normalize(text)):
        if not _HAN.match(word):
            out.append(word)
            continue
        out.extend(word)
        out.extend(word[i : i + 2] for i in range(len(word) - 1))
    return out


def stem_of(word: str) -> str:
    """A word without its last two letters, where enough are left: most endings of the ten languages."""
    if not word.isalpha() or _HAN.match(word):
        return word
    return word[: max(_MIN_STEM, len(word) - 2)] if len(word) > _MIN_STEM else word


def _match(word: str) -> str:
    stem = stem_of(word)
    return f'"{stem}"*' if stem != word else f'"{word}"'


def _relevance(words: str, weights: dict[str, float]) -> float:
    """The share of the question's weight that a passage's terms hold."""
    held = set(words.split(" "))
    missing = [word for word in weights if word not in held]
    stems = {stem_of(word) for word in held} if missing else set()
    lost = sum(weights[word] for word in missing if stem_of(word) not in stems)
    return 1 - lost / sum(weights.values())


def _stop_words() -> frozenset[str]:
    """Words that open sentences (articles, pronouns, question words) say nothing of a subject."""
    words = {w for code in LANGUAGES for entry in load_profile(code).openers for w in terms(entry)}
    return frozenset(w for w in words if not _HAN.match(w)) | {"的", "了", "是", "在", "吗", "呢"}
