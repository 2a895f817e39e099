"""What is kept of lines to records, without putting a line together where nothing is out of the ordinary."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated

import msgspec

from redrive_events.codec import UNREADABLE, decode
from redrive_events.kinds import Event
from redrive_events.record import Record
from redrive_events.stores.packing import DAMAGED, OPEN, Find, spelled, unpacked

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class _Rest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What a line says beside its place, as a `Record` has it."""

    cause: Annotated[int, msgspec.Meta(ge=0)]
    event: Event
    left: Annotated[int, msgspec.Meta(ge=0)]


_read = msgspec.json.Decoder(_Rest).decode


def records_of(run_id: str, kept: Sequence[tuple[int, int | None, bytes]], find: Find) -> list[Record]:
    """The records of a run of which this is kept, each given with its position; what cannot be read is quarantined."""
    try:
        return _plain(run_id, kept, find)
    except (*UNREADABLE, *DAMAGED):
        lines = zip(kept, unpacked(run_id, kept, find), strict=True)
        return [decode(line, run_id=run_id, position=position) for (position, *_), line in lines]


def _plain(run_id: str, kept: Sequence[tuple[int, int | None, bytes]], find: Find) -> list[Record]:
    records, last_us, at = list[Record](), None, _EPOCH
    for position, at_us, rest in kept:
        if at_us is None:
            records.append(decode(rest, run_id=run_id, position=position))
            continue
        if at_us != last_us:
            at, last_us = _EPOCH + at_us * _MICROSECOND, at_us
        told = _read(rest if rest[0] == OPEN else spelled(rest, find))
        records.append(
            Record(run_id=run_id, position=position, at=at, cause=told.cause, left=told.left, event=told.event)
        )
    return records
