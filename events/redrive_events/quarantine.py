"""An event that this program cannot read: its bytes as they are stored, and the reason."""

from __future__ import annotations

from redrive_events.content import Data


class Quarantined(Data, frozen=True, tag_field="event", tag="quarantined"):
    """Stands where an event would, so that the records around it are read, and is folded like one.

    It is no part of the vocabulary: nothing decodes to it by its tag, and no store takes it.
    """

    line: bytes
    reason: str
