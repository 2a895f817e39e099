"""Days and moments, written as texts: which of two is the earlier one."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Final

from redrive_events import Json

_CHARS_MAX: Final = 40
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME: Final = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
_MOMENT: Final = re.compile(rf"{_DAY.pattern}[T ]{_TIME}(?:Z|[+-][0-9]{{2}}:[0-9]{{2}})")


@lru_cache(maxsize=4096)
def moment_of(text: str) -> date | datetime | None:
    """A day, or a moment in UTC; None where a text is neither, or a moment of an unknown zone."""
    try:
        if _DAY.fullmatch(text):
            return date.fromisoformat(text)
        return datetime.fromisoformat(text).astimezone(UTC) if _MOMENT.fullmatch(text) else None
    except (ValueError, OverflowError):  # no such day, or none in UTC
        return None


def spelled_moment(at: datetime) -> str:
    """A moment as a text, in UTC."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def not_before(value: Json, limit: Json) -> bool | None:
    """Whether a day or moment is at the limit or later; with a day on either side, the days of UTC are compared."""
    pair = _pair(value, limit)
    return None if pair is None else bool(pair[0] >= pair[1])


def not_after(value: Json, limit: Json) -> bool | None:
    """Whether a day or moment is at the limit or earlier; a limit that is a day is the whole of it."""
    pair = _pair(value, limit)
    return None if pair is None else bool(pair[0] <= pair[1])


def problem_of_moment(limit: Json) -> str | None:
    """Why this is no day or moment; None if it is one."""
    return "takes a day like 2026-01-31, or a moment like 2026-01-31T08:00Z" if _moment(limit) is None else None


def _pair(value: Json, limit: Json) -> tuple[date, date] | None:
    left, right = map(_moment, (value, limit))
    if left is None or right is None:
        return None
    if isinstance(left, datetime) and isinstance(right, datetime):
        return left, right
    return _day(left), _day(right)


def _moment(value: Json) -> date | datetime | None:
    return moment_of(value) if isinstance(value, str) and len(value) <= _CHARS_MAX else None


def _day(moment: date) -> date:
    return moment.date() if isinstance(moment, datetime) else moment
