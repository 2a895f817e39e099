"""A run to be looked at in a test: how it went, how it ended, and whether it is the one of a snapshot."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, get_args

from redrive_events import BadInput, Json, ObservationReceived, Record, ToolCalled, canonical
from redrive_projections import fold, status
from redrive_replays.report import Report
from redrive_replays.testing.matching import STRICT, Fit, Matching, Mode, fit, matcher_of
from redrive_replays.testing.telling import Level, Line, calls_in, lines_of

if TYPE_CHECKING:
    from redrive_replays.testing.promises import Promise


class Made(NamedTuple):
    """A call that was made, and how that ended; empty while nobody knows."""

    position: int
    call: int
    tool: str
    arguments: Json
    status: str = ""


class Told(NamedTuple):
    """A line of a trajectory, and which run it tells of; none where it only says that another begins."""

    trajectory: Trajectory
    line: Line | None
    text: str


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The records of a run and, in `children`, of those that it began.

    Where it was driven again, ``report`` is what that found, and ``recorded`` what had been recorded. ``level`` is how
    much a snapshot tells, ``matching`` what of it counts.
    """

    records: tuple[Record, ...]
    recorded: tuple[Record, ...] = ()
    report: Report | None = None
    children: tuple[Trajectory, ...] = ()
    level: Level = "steps"
    match: Matching = STRICT

    def at(self, level: Level) -> Trajectory:
        """The same, told as ``decisions``, ``steps`` or ``full``.

        Raises:
            BadInput: there is no such level.
        """
        if level not in get_args(Level):
            raise BadInput(f"no level {level!r}; there are {', '.join(get_args(Level))}", place="trajectory")
        return self._with(replace(self, level=level))

    def matching(self, mode: Mode = "strict", fits: Mapping[str, Fit] | None = None) -> Trajectory:
        """The same, compared by this mode; the values that ``fits`` names need only fit.

        Raises:
            BadInput: there is no such mode, or a name stands for nothing that could fit.
        """
        match = Matching(mode, {name: matcher_of(one) for name, one in (fits or {}).items()})
        return self._with(replace(self, match=match))

    def _with(self, changed: Trajectory) -> Trajectory:
        children = tuple(replace(one, level=changed.level, match=changed.match) for one in changed.children)
        return replace(changed, children=children)

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self.records[-1].run_id if self.records else ""

    @property
    def status(self) -> str:
        """How the run reads."""
        return status(fold(self.records))

    @property
    def answer(self) -> str | None:
        """The answer, where the run came to its own end."""
        end = fold(self.records).end
        return end.answer if end else None

    @property
    def facts(self) -> dict[str, Json]:
        """What is known in the end."""
        return {key: fact.value for key, fact in fold(self.records).facts.items()}

    @property
    def steps(self) -> int:
        """How many steps it took."""
        return fold(self.records).steps

    @property
    def cost_micros(self) -> int:
        """What it cost, in millionths of its currency."""
        return fold(self.records).cost_micros

    @property
    def calls(self) -> list[Made]:
        """The calls that were made, each attempt, in order."""
        ended: dict[int, str] = {}
        for record in self.records:
            if isinstance(record.event, ObservationReceived):
                ended[record.cause] = record.event.status
        return [
            Made(one.position, one.event.call, one.event.tool, one.event.arguments, ended.get(one.position, ""))
            for one in self.records
            if isinstance(one.event, ToolCalled)
        ]

    def lines(self) -> Iterator[Line]:
        """What is told of it, without its children."""
        return lines_of(self.records, self.level, self.match)

    def told(self) -> Iterator[Told]:
        """Each line, with the run that it tells of; those of a child stand further in, below the rest."""
        for line in self.lines():
            yield Told(self, line, line.text)
        for child in self.children:
            yield Told(child, None, "")
            yield Told(child, None, f"run of {self._begun(child)}")
            for one in child.told():
                yield one._replace(text=f"  {one.text}" if one.text else "")

    @property
    def text(self) -> str:
        """All that is told of it, an event a line."""
        return "".join(f"{one.text}\n" for one in self.told())

    def _begun(self, child: Trajectory) -> str:
        return f"call#{child.run_id.rpartition('/')[2]}"

    def data(self) -> Json:
        """The same as plain data."""
        told = [{"event": one.kind, "is": one.reference, "told": one.told, **one.data} for one in self.lines()]
        children = {self._begun(one): one.data() for one in self.children}
        return {"trajectory": told, **({"children": children} if children else {})}

    def fits(self, other: Trajectory) -> bool:
        """Whether it is like another, as far as its own level and matching look."""
        wanted = self._with(replace(other, level=self.level, match=self.match)).text
        if self.match.mode == "strict":
            return self.text == wanted
        return fit(self.match.mode, calls_in(self.text), calls_in(wanted))

    def check(self, *promises: Promise) -> None:
        """Hold it to promises.

        Raises:
            AssertionError: one is broken; each is told, with the places.
            BadInput: something is no promise.
        """
        for given in promises:
            if not hasattr(given, "broken_by"):
                raise BadInput(f"{given!r} is no promise, as called(…) or *EVERY are", place="check")
        broken = [f"{one.told}: {finding}" for one in promises for finding in one.broken_by(self)]
        if broken:
            raise AssertionError("\n".join([f"run {self.run_id} breaks what it was held to", *broken]))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Trajectory):
            return self.fits(other)
        loaded = sys.modules.get("syrupy.assertion")
        if loaded is None or not isinstance(other, loaded.SnapshotAssertion):
            return NotImplemented
        from redrive_replays.testing.snapshots import is_as_in

        return is_as_in(self, other)

    def __hash__(self) -> int:
        return hash(canonical([self.run_id, len(self.records)]))

    def __repr__(self) -> str:
        return f"<trajectory of run {self.run_id}: {self.status}, {len(self.records)} events>"


def run_and_children(runs: Mapping[str, Sequence[Record]], run_id: str) -> Trajectory:
    """A run of several, with those that it began."""
    below = [one for one in runs if one.rpartition("/")[0] == run_id]
    children = tuple(run_and_children(runs, one) for one in below)
    return Trajectory(tuple(runs[run_id]), children=children)
