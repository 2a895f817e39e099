"""The lines of a stream as records, each with its event as it is stored: the fast way, for all that is in order."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Annotated, TypeAlias

import msgspec

from redrive_events import START, Event, Record, StoredLine, examined
from redrive_projections.history.values import UNREADABLE, payload_of

# Begins to read the stream, from its beginning.
Lines: TypeAlias = Callable[[], Iterable[StoredLine]]

_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class _Envelope(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A record whose event is left as the bytes that it is."""

    run_id: str
    position: Annotated[int, msgspec.Meta(ge=1)]
    at: Annotated[datetime, msgspec.Meta(tz=True)]
    cause: _Count
    left: _Count
    event: msgspec.Raw


_envelope = msgspec.json.Decoder(_Envelope).decode
_event: Callable[[msgspec.Raw], Event] = msgspec.json.Decoder(Event).decode


def records_of(run_id: str, lines: Lines) -> Iterator[tuple[bytes | None, Record]]:
    """What `examined` says of a stream, and the event of each line as its own bytes; None where that is no JSON."""
    position, digest = 0, START
    for stored in lines():
        digest = hashlib.sha256(digest + stored.line).digest()
        if stored.digest != digest or stored.position != position + 1:
            break
        try:
            told = _envelope(stored.line)
            event = _event(told.event)
            payload = bytes(told.event)
        except UNREADABLE:
            break
        if told.position != stored.position or told.run_id != run_id:
            break
        position = stored.position
        yield (
            payload,
            Record(run_id=run_id, position=position, at=told.at, cause=told.cause, left=told.left, event=event),
        )
    else:
        return
    for number, (stored, record) in enumerate(examined(run_id, lines())):
        if number >= position:
            yield payload_of(stored.line), record
