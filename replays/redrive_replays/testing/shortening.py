"""Long content in short: its first words, how long it is, and a digest, so that two that differ still do."""

from __future__ import annotations

import hashlib
import re
from typing import Final

from redrive_projections import harmless

TEXT_CHARS_MAX: Final = 160
VALUE_CHARS_MAX: Final = 80
WORDS_CHARS: Final = 60
DIGEST_CHARS: Final = 10

_SPACE: Final = re.compile(r"\s+")


def short(text: str, chars_max: int = TEXT_CHARS_MAX) -> str:
    """``text`` on one line; what is longer than ``chars_max`` by its first words and its digest."""
    line = harmless(_SPACE.sub(" ", text)).strip()
    if len(line) <= chars_max:
        return line
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_CHARS]
    return f"{line[:WORDS_CHARS].rstrip()} … ({len(text):,} characters, sha256 {digest})"


def short_value(spelled: str) -> str:
    """One argument of a call."""
    return short(spelled, VALUE_CHARS_MAX)
