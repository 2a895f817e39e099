"""What a person is handed who takes a run over, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec
from rich.text import Text

from redrive.terminal import Cell, columns
from redrive_events import BadInput, DecisionMade, Handover, Json, PersonAsked, Record, StopDecided, canonical
from redrive_projections import RunState, called_as, evolve, one_line


@dataclass(frozen=True, slots=True)
class Handed:
    """A handover: at which event of which run, why, until when an answer was waited for, with all arguments."""

    run_id: str
    position: int
    reason: str
    expires: datetime | None
    handover: Handover
    arguments: dict[int, Json]

    def data(self) -> dict[str, Json]:
        """As plain data."""
        tried = [{**msgspec.to_builtins(one), "arguments": self.arguments.get(one.call)} for one in self.handover.tried]
        return {
            "run_id": self.run_id,
            "position": self.position,
            "reason": self.reason,
            "expires": None if self.expires is None else self.expires.isoformat(),
            "asked": self.handover.asked,
            "known": self.handover.known,
            "tried": tried,
            "open": list(self.handover.open),
        }

    def told(self) -> Iterator[Cell]:
        """In lines."""
        rows = [
            ("run", f"{self.run_id}, handed over at event {self.position}"),
            ("why", one_line(self.reason)),
            ("until", "" if self.expires is None else f"{self.expires:%Y-%m-%d %H:%M:%S} UTC"),
            ("asked", one_line(self.handover.asked)),
            ("open", one_line(", ".join(self.handover.open))),
        ]
        yield from columns((Text(name, style="dim"), value) for name, value in rows if value)
        known = [(one_line(key), one_line(canonical(value).decode())) for key, value in self.handover.known.items()]
        yield from _section("known", known)
        tried = [
            (f"{one.call}", called_as(one.tool, self.arguments.get(one.call)), f"→ {one.outcome}")
            for one in self.handover.tried
        ]
        yield from _section("tried", tried)


def handed_over(run_id: str, records: Sequence[Record]) -> Handed:
    """The last handover of a run.

    Raises:
        BadInput: nobody was asked to take it over.
    """
    state, arguments, found = RunState(), dict[int, Json](), None
    for record in records:
        evolve(state, record)
        event = record.event
        if isinstance(event, DecisionMade):
            arguments |= {one.call: state.calls[one.call].arguments for one in event.calls}
        if isinstance(event, PersonAsked | StopDecided) and event.handover is not None:
            found = record.position, event
    if found is None:
        raise BadInput("nobody was asked to take it over", place=f"run {run_id}")
    position, event = found
    assert event.handover is not None
    expires = event.expires if isinstance(event, PersonAsked) else None
    return Handed(run_id, position, event.reason, expires, event.handover, arguments)


def _section(title: str, rows: Sequence[Sequence[str]]) -> Iterator[Cell]:
    if rows:
        yield ""
        yield Text(title, style="bold")
        yield from (Text.assemble("  ", line) for line in columns(rows))
