"""SQL that comes line by line, or several statements at once, cut where a statement ends."""

from __future__ import annotations

import re
from collections.abc import Iterator

# What is skipped as a whole: strings, names in quotes, comments, and texts between dollars.
_PIECE = re.compile(
    r"""\b[eE]'(?:\\.|''|[^'\\])*' | '(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]*(?:\n|\Z) | /\*.*?\*/
    | \$(?P<tag>[A-Za-z_]*)\$.*?\$(?P=tag)\$ | .""",
    re.VERBOSE | re.DOTALL,
)
_BLANK = re.compile(r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*", re.DOTALL)
_OPEN = re.compile(r"""['"]|/\*|\$[A-Za-z_]*\$""")


def cut(text: str) -> tuple[list[str], str]:
    """The statements that are ended by a semicolon, without it, and what stands behind the last of them."""
    found: list[str] = []
    begin = place = 0
    while place < len(text):
        piece = _PIECE.match(text, place)
        assert piece is not None, "any character is a piece"
        if len(piece[0]) == 1 and _OPEN.match(text, place):  # opened, and not closed: the rest belongs to it
            break
        place = piece.end()
        if piece[0] == ";":
            found.append(text[begin : place - 1].strip())
            begin = place
    return [one for one in found if not is_blank(one)], text[begin:]


def is_blank(text: str) -> bool:
    """Whether it says nothing: spaces and comments."""
    return _BLANK.fullmatch(text) is not None


def statements(text: str) -> Iterator[str]:
    """All statements of a text, the last one with or without a semicolon."""
    found, rest = cut(text)
    yield from found
    if not is_blank(rest):
        yield rest.strip()
