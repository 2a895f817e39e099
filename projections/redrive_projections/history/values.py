"""Values as the database takes them."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from redrive_events import Json, canonical
from redrive_projections.history.tables import JsonText

_WHOLE_MAX = 2**63 - 1
_MILLISECOND = timedelta(milliseconds=1)


class _Stored(msgspec.Struct, gc=False):
    """A stored record whose event is left as the bytes that it is."""

    event: msgspec.Raw


_stored = msgspec.json.Decoder(_Stored)


def payload_of(line: bytes) -> JsonText | None:
    """The event of a stored line, as its own bytes; None if there is none to be read."""
    try:
        return JsonText(bytes(_stored.decode(line).event).decode())
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


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


def between(started: datetime, ended: datetime) -> int:
    """Whole milliseconds from one moment to the other."""
    return (ended - started) // _MILLISECOND
