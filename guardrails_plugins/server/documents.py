"""Documents of a folder, as plain text cut into passages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import regex

from guardrails_plugins.core.errors import GateError

ENDINGS = (".md", ".markdown", ".txt", ".html", ".htm", ".pdf")
PASSAGE_CHARS = 900
"""A passage is a few paragraphs: enough for an answer, little enough to cite."""
MAX_FILE_BYTES = 20_000_000

_PARAGRAPH = regex.compile(r"\n[^\S\n]*\n\s*")
_HEADING = regex.compile(r"#{1,6}\s+(.+)")
_BLOCKS = frozenset(
    {"p", "div", "li", "h1", "h2", "h3", "h4", "h5", "h6", "tr", "br", "section", "article", "blockquote"}
)
_HIDDEN = frozenset({"script", "style", "template", "noscript", "svg", "head"})


class DocumentError(GateError):
    """A document cannot be read; the message says why and what would help."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document. `title` is its nearest heading, else the document's name."""

    document: str
    number: int
    title: str
    text: str


def files(folder: Path) -> list[Path]:
    """The documents below a folder, by name. Raises `DocumentError` when there is no such folder."""
    if not folder.is_dir():
        raise DocumentError(f"{folder} is not a folder of documents")
    return sorted(p for p in folder.rglob("*") if p.suffix.lower() in ENDINGS and p.is_file())


def read(path: Path) -> str:
    """A document's text. Raises `DocumentError`, whatever is wrong with it."""
    ending = path.suffix.lower()
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise DocumentError(f"{path} is larger than {MAX_FILE_BYTES // 1_000_000} MB; split it")
        if ending == ".pdf":
            return _pdf(path)
        text = path.read_text(encoding="utf-8-sig")
        return _html(text) if ending in (".html", ".htm") else text
    except DocumentError:
        raise
    except UnicodeDecodeError:
        raise DocumentError(f"{path} is not UTF-8 text; convert it") from None
    except Exception as error:  # what a parser raises on a broken document is not foreseeable
        kind = ending[1:].upper()
        raise DocumentError(f"{path} cannot be read as {kind} ({type(error).__name__})") from None


def passages(name: str, text: str) -> Iterator[Passage]:
    """A document's passages: whole paragraphs, up to about `PASSAGE_CHARS` code points."""
    title, held, number = name, "", 0
    for part in _PARAGRAPH.split(text.replace("\r\n", "\n").replace("\r", "\n")):
        paragraph = part.strip()
        heading = _HEADING.match(paragraph)
        if held and (heading is not None or len(held) + len(paragraph) > PASSAGE_CHARS):
            number += 1
            yield Passage(name, number, title, held)
            held = ""
        if heading is not None:  # the title says it; the passage need not say it again
            title = heading.group(1).strip(" #*")
            paragraph = paragraph.partition("\n")[2].strip()
        for piece in _pieces(paragraph):
            if held and len(held) + len(piece) > PASSAGE_CHARS:
                number += 1
                yield Passage(name, number, title, held)
                held = ""
            held = f"{held}\n\n{piece}" if held else piece
    if held:
        yield Passage(name, number + 1, title, held)


def _pieces(paragraph: str) -> Iterator[str]:
    """A paragraph, cut at blanks where it is longer than a passage."""
    while len(paragraph) > PASSAGE_CHARS:
        cut = paragraph.rfind(" ", PASSAGE_CHARS // 2, PASSAGE_CHARS)
        cut = cut if cut > 0 else PASSAGE_CHARS
        yield paragraph[:cut].strip()
        paragraph = paragraph[cut:].strip()
    if paragraph:
        yield paragraph


def _html(text: str) -> str:
    reader = _TextOf()
    reader.feed(text)
    reader.close()
    return "".join(reader.parts)


class _TextOf(HTMLParser):
    """The visible text of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self._hidden += 1
        elif tag in _BLOCKS:
            level = int(tag[1]) if tag[0] == "h" and tag[1:].isdigit() else 0
            self.parts.append("\n\n" + "#" * level + (" " if level else ""))

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        elif tag in _BLOCKS:
            self.parts.append("\n\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(regex.sub(r"\s+", " ", data))


def _pdf(path: Path) -> str:
    try:
        from pypdf import PdfReader
    except ModuleNotFoundError:
        raise DocumentError(f"{path}: PDF needs the extra: pip install 'guardrails-plugins[pdf]'") from None
    return "\n\n".join(page.extract_text() or "" for page in PdfReader(path).pages)
