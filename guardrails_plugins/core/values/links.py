"""URLs, bare domains and e-mail addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import regex

_LINKISH = regex.compile(r"@|://|//[\p{L}\p{N}]|\]\(|www\.|(?:https?|ftp):|[\w-]\.\p{L}{2}")
# What an address is written with. East Asian text sets no blank before one (``邮箱是info@example.org``).
_ADDRESS = r"\p{Latin}\p{Greek}\p{Cyrillic}\p{Nd}_"
# Letters of a domain: no ideographs, which stand beside it without a blank (``请访问example.com了解``).
_LETTER = r"[[\p{L}\p{M}\p{N}_]--[\p{Han}\p{Hiragana}\p{Katakana}]]"
# What an address goes on with; an ideograph only where a part of the path begins, as text goes on without a blank.
_END = r"(?:(?!\p{Han})[^\s<>\"“”«»{}|\\^`\[\]，。；！？、（）「」『』।॥۔؟،؛]|(?<=[/=_#?&-])\p{Han}++)"
_LINK = regex.compile(
    rf"(?P<url>(?<![\p{{Latin}}\p{{Greek}}\p{{Cyrillic}}\p{{N}}])(?:(?:https?|ftp):/{{0,2}}(?=[\p{{L}}\p{{N}}\[])|[a-z][a-z0-9+.-]{{1,15}}+://){_END}++)"
    rf"|(?P<relative>(?<![\w:/])//(?=[\p{{L}}\p{{N}}-]++\.[\p{{L}}\p{{N}}]){_END}++)"
    rf"|(?P<email>(?<![{_ADDRESS}.+-])[{_ADDRESS}.+%-]{{1,64}}+@(?:[\w-]{{1,63}}+\.(?=[\w-]+\.[\w-])){{0,8}}[\w-]{{1,63}}+\.(?:\p{{Latin}}{{2,24}}+|\p{{L}}{{2,24}}+)(?![{_ADDRESS}@-]))"
    rf"|(?P<target>(?<=\]\()(?!#|mailto:|tel:)(?=[^\s()<>]*[.:/])[^\s()<>]{{1,500}}+)"
    rf"|(?P<domain>(?<![{_LETTER}.])(?<!//|[:/]/)(?<![\w.:/+%-][/@])(?:[{_LETTER}][{_LETTER}-]{{0,63}}+\.(?=[{_LETTER}])){{1,8}}+(?P<ending>[{_LETTER}--[\d_]]{{2,24}}+)(?![{_LETTER}@-]|\.[{_LETTER}])(?::\d{{1,5}}+)?(?:/{_END}*+)?)",
    regex.IGNORECASE | regex.V1,
)
_WIDE = re.compile("[．｡＠／\u2024\ufe52\ufe6b]")
_MARKUP = re.compile(r"[*_~`<]")
_WEB_SCHEME = re.compile(r"(https?|ftp):/{0,2}", re.IGNORECASE)
_SPLIT = regex.compile(
    r"(?:([a-z]++)://)?+([^/?#@\s]*+@)?([^/?#:]*+)(?::(\d*+))?+(.*+)", regex.IGNORECASE | regex.DOTALL
)
_TRAILING = ".,;:!?'\"*_)]}>…؟،؛۔।॥。"
_TITLE_ENDINGS = frozenset({"com", "org", "net", "edu", "gov"})
# Endings that are everyday words: a path behind them shows that they are one.
_PATH_ENDINGS = frozenset(
    {"at", "be", "gd", "gg", "gl", "id", "in", "is", "it", "ly", "me", "my", "no", "so", "to", "us"}
)
_PERCENT = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_DEFAULT_PORTS = {"http": "80", "https": "443", "ftp": "21"}
_FILE_ENDINGS = frozenset({"md", "js", "py", "ts", "rs", "sh", "pl", "so", "zip", "mov", "cc", "ml", "vue", "net_"})


class Link(NamedTuple):
    """A link: its kind (url or email), span, canonical key and scheme ("" where none is written)."""

    kind: str
    start: int
    end: int
    key: str
    scheme: str


def may_hold_link(text: str) -> bool:
    """Whether a text can hold a link once it is folded. Most sentences have no dot but the last."""
    if _has_sign(text):
        return not text.isascii() or _MARKUP.search(text) is not None or _LINKISH.search(text) is not None
    return not text.isascii() and _WIDE.search(text) is not None


def looks_like_link(folded: str) -> bool:
    """The same for a folded text: quicker than to search it for links."""
    return _has_sign(folded) and _LINKISH.search(folded) is not None


def _has_sign(text: str) -> bool:
    return text.find(".", 0, -1) >= 0 or "@" in text or "//" in text or "](" in text


def find_links(text: str, endings: frozenset[str]) -> Iterator[Link]:
    """All links of a text in order; `endings` are the domain endings that make a bare domain one.

    Ask `looks_like_link` first: most texts hold none, and this searches at every character.
    """
    for match in _LINK.finditer(text):
        start, raw = match.start(), match.group()
        if match.group("email"):
            local, _, domain = raw.rpartition("@")
            yield Link("email", start, match.end(), f"e:{local}@{domain.lower()}", "")
            continue
        if match.group("domain") and not _is_domain(match, endings):
            continue
        raw = _trim(raw)
        key, scheme = canonical_url(_WEB_SCHEME.sub(r"\1://", raw.removeprefix("//"), count=1))
        if raw and (key or match.group("target")):
            yield Link("url", start, start + len(raw), key or f"u:{raw}", scheme)


def _is_domain(match: regex.Match[str], endings: frozenset[str]) -> bool:
    """A common ending in one case: ``Node.js`` and ``README.md`` are names of files and programs."""
    ending = match.group("ending")
    if match.group("domain").lower().startswith("www."):
        return True
    known = endings
    if "/" in match.group("domain"):
        known = endings | _PATH_ENDINGS
    if ending.lower() not in known or ending.lower() in _FILE_ENDINGS:
        return False
    return ending.islower() or match.group("domain").isupper() or ending.lower() in _TITLE_ENDINGS


def _trim(url: str) -> str:
    """Without what punctuates the sentence; a closing bracket stays when its opener is inside."""
    while url and url[-1] in _TRAILING:
        if url[-1] == ")" and url.count("(") >= url.count(")"):
            break
        url = url[:-1]
    return url


def canonical_url(url: str) -> tuple[str, str]:
    """A key for host, port and path (RFC 3986 section 6.2.2 normalisation), and the scheme in lower case."""
    match = _SPLIT.fullmatch(url)
    if match is None or not match.group(3):
        return "", ""
    scheme, user, host, port, rest = (g or "" for g in match.groups())
    scheme = scheme.lower()
    host = host.lower().rstrip(".")
    if port and port != _DEFAULT_PORTS.get(scheme or "https"):
        host = f"{host}:{port}"
    rest = _PERCENT.sub(_unescape, rest)
    if rest.endswith("/") and "?" not in rest and "#" not in rest:
        rest = rest.rstrip("/")
    return f"u:{user}{host}{rest}", scheme


def _unescape(match: re.Match[str]) -> str:
    char = chr(int(match.group(1), 16))
    return char if char in _UNRESERVED else match.group().upper()
