"""Times as sources write them: ISO with and without a zone, and counts of seconds down to nanoseconds since 1970."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, NamedTuple

from redrive_events import Json

# ISO 8601; digits behind the sixth are cut, since nothing here counts finer than microseconds.
_ISO: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d{1,6})\d*)?\s*(Z|[+-]\d\d:?\d\d)?", re.ASCII | re.IGNORECASE
)
_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
# A count up to here is seconds, then milliseconds, microseconds, nanoseconds: all of them years from 1970 to 5138.
_SECONDS_MAX: Final = 10**11
_UNITS: Final = (1, 10**3, 10**6, 10**9)


class Moment(NamedTuple):
    """A time, and whether its zone is known; where it is not, the time stands as if it were UTC."""

    at: datetime
    zoned: bool = True


def moment(value: Json) -> Moment | None:
    """The time that ``value`` says, None if it says none."""
    if isinstance(value, str):
        return _iso(value.strip())
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _counted(value)
    return None


def clock_of(moments: Iterable[Moment | None]) -> Literal["utc", "naive", "none"]:
    """What the times of a run are worth: naive as soon as the zone of one is not known."""
    zoned = [one.zoned for one in moments if one is not None]
    if not zoned:
        return "none"
    return "utc" if all(zoned) else "naive"


def _iso(text: str) -> Moment | None:
    found = _ISO.fullmatch(text)
    if found is None:
        return None
    day, hour, fraction, zone = found.groups()
    try:
        at = datetime.fromisoformat(f"{day}T{hour}{'Z' if zone in {None, 'z'} else zone}").astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return Moment(at.replace(microsecond=int((fraction or "0").ljust(6, "0"))), zone is not None)


def _counted(count: float) -> Moment | None:
    """A count of seconds, or of a finer unit, told by its size."""
    if not 0 < count <= _SECONDS_MAX * _UNITS[-1]:
        return None
    unit = next(unit for unit in _UNITS if count <= _SECONDS_MAX * unit)
    micros = round(count * 1_000_000) if unit == 1 else round(count) * 1_000_000 // unit
    return Moment(_START + timedelta(microseconds=micros))
