"""The lines of a stream as records, each with its event as it is stored: the fast way, for all that is in order."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Annotated, TypeAlias

import msgspec

from redrive_events import START, Event, Record, StoredLine, examined
from redrive_projections.history.values import UNREADABLE, payload_of

# Begins to read a stream behind a position.
Lines: TypeAlias = Callable[[int], Iterable[StoredLine]]

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


class OutOfOrder(Exception):
    """What stands there does not follow: the stream is to be read from its beginning."""


class Reader:
    """Reads a stream as far as it goes, and later what was appended behind; it knows where it stands.

    ``plain`` says that all was in order so far: else what follows can only be read together with all before.
    """

    def __init__(self, run_id: str) -> None:
        self.run_id, self.position, self.plain = run_id, 0, True
        self._digest = START

    def records(self, lines: Lines) -> Iterator[tuple[bytes | None, Record]]:
        """What `examined` says of the lines behind, each with its event as its own bytes; None where that is no JSON.

        Raises:
            OutOfOrder: they do not follow what was read before.
        """
        begun = self.position
        for stored in lines(begun):
            digest = hashlib.sha256(self._digest + stored.line).digest()
            if stored.digest != digest or stored.position != self.position + 1:
                break
            try:
                told = _envelope(stored.line)
                event = _event(told.event)
            except UNREADABLE:
                break
            if told.position != stored.position or told.run_id != (stored.owner or self.run_id):
                break
            self.position, self._digest = stored.position, digest
            yield (
                bytes(told.event),
                Record(
                    run_id=told.run_id,
                    position=told.position,
                    at=told.at,
                    cause=told.cause,
                    left=told.left,
                    event=event,
                ),
            )
        else:
            return
        if begun:
            raise OutOfOrder
        self.plain = False
        for number, (stored, record) in enumerate(examined(self.run_id, lines(0))):
            if number >= self.position:
                yield payload_of(stored.line), record
