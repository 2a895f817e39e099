"""Events of earlier shapes: read as they were stored, then brought into today's shape, one step a version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from redrive_events.content import Json

# From the plain data of an event to those of its next version; the tag, in the member ``event``, is part of them.
Upcaster: TypeAlias = Callable[[dict[str, Json]], dict[str, Json]]

# Tags that are in the vocabulary no more, each with the step to the shape that took its place.
UPCASTERS: dict[str, Upcaster] = {}


def upcast(event: dict[str, Json], upcasters: Mapping[str, Upcaster] = UPCASTERS) -> dict[str, Json]:
    """``event`` in today's shape; one that no step leads on from stays what it is."""
    while (step := upcasters.get(event["event"])) is not None:
        event = step(event)
    return event
