"""What stands in place of a masked value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from redrive_events import Json

# ``masked-email-3f9a2c7d1e5b60a1@example.com``: nothing in it has to be escaped or could be split, wherever text goes,
# and behind the sign stands what a policy may judge. A model that writes it otherwise writes another value.
PLACEHOLDER: Final = re.compile(r"masked-([a-z][a-z0-9_]{0,30})-[0-9a-f]{16}(?:@\w(?:[\w.-]*\w)?)?", re.IGNORECASE)


def placeholders(text: str) -> Iterator[tuple[int, int]]:
    """Where placeholders stand in ``text``, whoever wrote them."""
    for found in PLACEHOLDER.finditer(text):
        yield found.span()


def is_masked(value: Json) -> bool:
    """Whether a placeholder stands anywhere in plain data."""
    if isinstance(value, dict):
        return any(is_masked(one) for pair in value.items() for one in pair)
    if isinstance(value, list | tuple):
        return any(map(is_masked, value))
    return isinstance(value, str) and PLACEHOLDER.search(value) is not None
