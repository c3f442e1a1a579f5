"""Characters that end, close and break (SPEC section 1)."""

from __future__ import annotations

import re

TERMINATORS = ".!?…؟۔。！？।॥"
"""All scripts are always on. Semicolons and colons (``؛ ; :``) end nothing."""
CLOSERS = "\"'”’»«“›‹)\\]}）］*_~`"
"""Closing quotes, brackets and emphasis, as a character class body."""
LINE_BREAK = re.compile(r"\r\n|[\n\r]")
