"""What stands in place of a masked value: how it is written, and how it is found again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from redrive_events import Json

# ``masked-email-3f9a2c7d1e5b60a1@example.com``: nothing in it has to be escaped or could be split, wherever text goes,
# and behind the sign stands what a policy may judge. A model that writes it otherwise writes another value.
_BARE: Final = re.compile(r"masked-([a-z][a-z0-9_]{0,30})-[0-9a-f]{16}", re.ASCII | re.IGNORECASE)
_KEPT: Final = re.compile(r"@[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?", re.ASCII | re.IGNORECASE)


class Placeholder(NamedTuple):
    """One in a text: its class, where it stands, and where what it keeps to be seen begins."""

    name: str
    start: int
    bare: int
    end: int


def placeholders(text: str) -> Iterator[Placeholder]:
    """Those in ``text``, whoever wrote them, as far as each can go."""
    bare = list(_BARE.finditer(text))
    for index, found in enumerate(bare):
        following = bare[index + 1].start() if index + 1 < len(bare) else len(text)
        kept = _KEPT.match(text, found.end(), following)
        yield Placeholder(found[1].lower(), found.start(), found.end(), kept.end() if kept else found.end())


def is_masked(value: Json) -> bool:
    """Whether a placeholder stands anywhere in plain data."""
    if isinstance(value, dict):
        return any(is_masked(one) for pair in value.items() for one in pair)
    if isinstance(value, list | tuple):
        return any(map(is_masked, value))
    return isinstance(value, str) and _BARE.search(value) is not None
