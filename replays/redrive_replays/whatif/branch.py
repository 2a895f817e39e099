"""What a branch is: its records, each with where it comes from, and the edge where the recording ends for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from redrive_engine import Program
from redrive_events import Record, Request
from redrive_projections import RunState
from redrive_replays.whatif.recorded import Recorded

Label: TypeAlias = Literal["recorded", "recorded, moved", "given", "live", "assumed", "recomputed"]


class Labelled(NamedTuple):
    """A record of a branch, where it comes from, and on which assumptions it rests; on none, it is certain."""

    record: Record
    label: Label
    assumptions: tuple[int, ...] = ()


class Edge(NamedTuple):
    """The request that the recording cannot surely answer: where it stands in the branch, in which turn.

    ``nearby`` is whether the recording has an answer that could be assumed.
    """

    position: int
    request: Request
    turn: int
    nearby: bool = False


@dataclass(slots=True)
class Branch:
    """A branch as far as it goes; without an ``edge`` it came to its end, or to that of a recording that has none.

    It is ``unheard`` there: nobody took note of what was said to the run last.
    ``records`` are its own, and ``inherited`` those in front of them, where the run was forked from another.
    ``unused`` is what was given, by its option and number, and answered nothing.
    """

    program: Program
    recorded: Recorded
    state: RunState = field(default_factory=RunState)
    records: list[Labelled] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    edge: Edge | None = None
    unheard: bool = False
    unused: tuple[str, ...] = ()
    inherited: tuple[Record, ...] = ()

    @property
    def whole(self) -> list[Record]:
        """What it inherits, and its own records."""
        return [*self.inherited, *(one.record for one in self.records)]
