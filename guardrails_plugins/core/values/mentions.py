"""A source named by its number (``passage 2``) is no value."""

from __future__ import annotations

import re

from guardrails_plugins.core.values.numbers import Quantity
from guardrails_plugins.core.values.scan import Scan

_MENTION_LIST = re.compile(r"(?:\d{1,3}(?: ?(?:,|-|&|and|und|et|y|e|и|و|और|和|或|or|bis|to) ?))*+$")
_CLOSED = re.compile(r" ?(?:[),;&-]|and |und |et |y |e |и |و |और |和)|$")
_MENTION_PUNCTUATION = " #№n.°("


def is_mention(scan: Scan, start: int, quantity: Quantity, count: int) -> bool:
    """``passage 2`` (also ``passages 1 and 2``) of sources that exist."""
    canonical = quantity.plain[0].canonical
    if quantity.exponent or quantity.percent or quantity.currency:
        return False
    if not count or not canonical.isdigit() or len(canonical) > 3 or not 1 <= int(canonical) <= count:
        return False
    text = scan.text
    listed = _MENTION_LIST.search(text[max(0, start - 40) : start])
    at = start - len(listed.group()) if listed is not None else start
    head = text[:at].rstrip(_MENTION_PUNCTUATION)
    if "(" in text[len(head) : at] and _CLOSED.match(text, quantity.end) is None:
        return False  # documents (3 GB)
    if scan.before(len(head), scan.lexicon.mentions) is not None:
        return True
    return (
        text[max(0, at - 3) : at].rstrip(" ").endswith("第")
        and scan.after(
            quantity.end + (text[quantity.end : quantity.end + 1] in "个個条條篇段份"), scan.lexicon.mentions
        )
        is not None
    )
