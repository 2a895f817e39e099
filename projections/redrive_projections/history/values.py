"""Values as the database takes them."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from redrive_events import Json, canonical
from redrive_projections.history.tables import JsonText, Moment

_WHOLE_MAX = 2**63 - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


# What msgspec raises on bytes that are not what they should be.
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class _Stored(msgspec.Struct, gc=False):
    """A stored record whose event is left as the bytes that it is."""

    event: msgspec.Raw


_stored = msgspec.json.Decoder(_Stored)


def payload_of(line: bytes) -> bytes | None:
    """The event of a stored line, as its own bytes; None if there is none to be read."""
    try:
        payload = bytes(_stored.decode(line).event)
        payload.decode()
    except UNREADABLE:
        return None
    return payload


def whole(number: int) -> int:
    """A number that the database has a place for."""
    return number if -_WHOLE_MAX <= number <= _WHOLE_MAX else _WHOLE_MAX if number > 0 else -_WHOLE_MAX


def number_of(value: Json) -> float | None:
    """The number that a value is; None if it is none, or too large for one."""
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:
        return None


def json_text(value: Json) -> JsonText:
    """Plain data in its one spelling."""
    return JsonText(canonical(value).decode())


def moment(at: datetime) -> Moment:
    """A time as the database keeps it."""
    since = at - _EPOCH
    return Moment((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds)


def between(started: Moment | None, ended: Moment | None) -> int | None:
    """Whole milliseconds from one moment to the other; None if one of them is not known."""
    return None if started is None or ended is None else (ended - started) // 1_000
