"""Durations and sizes as people write them, as whole numbers."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

_MILLISECONDS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_BYTES: Final = {"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
_QUANTITY: Final = re.compile(r"(\d+(?:\.\d+)?) ?([A-Za-z]+)", re.ASCII)


def milliseconds(duration: str) -> int:
    """``"500ms"``, ``"2.5s"``, ``"2m"``, ``"1h"`` or ``"1d"`` in milliseconds.

    Raises:
        ValueError: not a duration, or not a whole number of milliseconds above 0.
    """
    return _whole(duration, _MILLISECONDS, "duration")


def size_bytes(size: str) -> int:
    """``"800B"``, ``"64kB"``, ``"2MB"`` or ``"1GB"`` in bytes; a kB has 1024.

    Raises:
        ValueError: not a size, or not a whole number of bytes above 0.
    """
    return _whole(size, _BYTES, "size")


def _whole(text: str, units: dict[str, int], what: str) -> int:
    found = _QUANTITY.fullmatch(text)
    if found is None or found[2] not in units:
        raise ValueError(f"{text!r} is no {what}: a number and a unit are expected, one of {', '.join(units)}")
    value = Decimal(found[1]) * units[found[2]]
    if not value or value % 1:
        raise ValueError(f"{text!r} is no {what}: it must be a whole number of {next(iter(units))} above 0")
    return int(value)
