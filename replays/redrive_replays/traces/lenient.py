"""JSON as others write it, made plain, with a note of each liberty."""

from __future__ import annotations

import json
import math
import re

from redrive_events import Json

_HALF_PAIR = re.compile("[\ud800-\udfff]")
# A text (which stays as it is, also where it breaks off), or a comma that nothing follows.
_LAST_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+"?)|,(?=\s*+[\]}])', re.DOTALL)


def lenient(data: bytes) -> tuple[Json, list[str]] | None:
    """JSON as others write it: NaN, endless integers, half surrogate pairs, control characters, bytes, commas.

    Each liberty is noted; None if it is no JSON even so.
    """
    notes: dict[str, None] = {}
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        notes[f"not UTF-8 at byte {error.start}: replaced by U+FFFD"] = None
        text = data.decode(errors="replace")
    try:
        return whole(_read(text, notes), notes), list(notes)
    except RecursionError:
        return None
    except ValueError:
        plain = _LAST_COMMA.sub(r"\1", text)
    if plain == text:
        return None
    notes["a comma behind the last of a list or an object: left out"] = None
    try:
        return whole(_read(plain, notes), notes), list(notes)
    except (ValueError, RecursionError):
        return None


def _read(text: str, notes: dict[str, None]) -> Json:
    def number(text: str) -> Json:
        value = float(text)
        return value if math.isfinite(value) else constant(text)

    def integer(text: str) -> Json:
        try:
            return int(text)
        except ValueError:
            notes["an integer of thousands of digits: kept as text"] = None
            return text

    def constant(text: str) -> Json:
        notes["NaN, Infinity or a number out of range: kept as text"] = None
        return text

    return json.loads(text, strict=False, parse_constant=constant, parse_float=number, parse_int=integer)


def whole(value: Json, notes: dict[str, None]) -> Json:
    """``value`` without half surrogate pairs, which no UTF-8 has."""
    if isinstance(value, str):
        if not _HALF_PAIR.search(value):
            return value
        notes["half of a surrogate pair: replaced by U+FFFD"] = None
        return _HALF_PAIR.sub("\ufffd", value)
    if isinstance(value, list):
        return [whole(one, notes) for one in value]
    if isinstance(value, dict):
        return {whole(key, notes): whole(one, notes) for key, one in value.items()}
    return value
