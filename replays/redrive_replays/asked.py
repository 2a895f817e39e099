"""What the model of a recorded run was asked with, turn by turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from redrive_events import ModelAsked, Record
from redrive_projections import Message, RunState, evolve


def asked_at(records: Iterable[Record]) -> Iterator[tuple[int, list[Message]]]:
    """For each `ModelAsked` its position, and all messages of that request, rebuilt from the log."""
    state = RunState()
    for record in records:
        evolve(state, record)
        if type(record.event) is ModelAsked:
            yield record.position, list(state.asked)
