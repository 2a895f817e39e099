"""Text in one width and without what nobody sees, and where each character of it comes from."""

from __future__ import annotations

import re
import unicodedata
from typing import Final, NamedTuple

# A character that is written by its number, as JSON lets anybody write it; one that means something to JSON stays.
_ESCAPED: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\u([0-9a-fA-F]{4})(?:\\u([dD][c-fC-F][0-9a-fA-F]{2}))?")
_SEEN_MIN: Final = 0x20


class Plain(NamedTuple):
    """Text as it is looked at: for each character, and for the end, its place in the text as it was written."""

    text: str
    places: tuple[int, ...] | None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where something that was found here stands in the text as it was written."""
        if self.places is None:
            return start, end
        return self.places[start], self.places[end - 1] + 1 if end > start else self.places[start]


def plain_of(text: str) -> Plain:
    """``text`` in NFKC, character by character, without those that are not seen (zero width, direction)."""
    if text.isascii():
        return Plain(text, None)
    characters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        if character.isascii():
            characters.append(character)
            places.append(place)
        elif unicodedata.category(character) != "Cf":
            wide = unicodedata.normalize("NFKC", character)
            characters.append(wide)
            places += [place] * len(wide)
    return Plain("".join(characters), (*places, len(text)))


def unescaped(text: str) -> str:
    """``text`` with characters as they are that were written by their number, in JSON's way."""
    return _ESCAPED.sub(_meant, text) if "\\u" in text else text


def _meant(found: re.Match[str]) -> str:
    before, high, low = found[1], int(found[2], 16), found[3]
    if 0xD800 <= high < 0xDC00 and low:
        return before + chr(0x10000 + ((high - 0xD800) << 10) + int(low, 16) - 0xDC00)
    behind = f"\\u{low}" if low else ""
    if high < _SEEN_MIN or chr(high) in '"\\' or 0xD800 <= high < 0xE000:
        return found[0]
    return before + chr(high) + behind
