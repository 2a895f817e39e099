"""Fault after fault put into one agent, or into one recorded run, and what held: slice by promise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, TypeAlias

from redrive_engine import Program
from redrive_events import Json
from redrive_replays.faults.chance import Chance
from redrive_replays.faults.course import Course
from redrive_replays.faults.held import CHECKS, Breach, Held
from redrive_replays.faults.live import Setting, driven
from redrive_replays.faults.recorded import Recorded, driven_again
from redrive_replays.faults.slices import SLICES, Slice
from redrive_replays.faults.tampering import OFTEN, Fault, Tampering, sites_of

Drive: TypeAlias = Callable[[str, Callable[[Program], Tampering]], Course]
Cell: TypeAlias = Literal["held", "broken", "not reached", "nothing to fault"]

NO_FAULT: Final = "no fault"
# Who asks for more than this, and so many times what the run without a fault asked for, comes to no end; that one, if
# it asks for more than the last.
REQUESTS_MAX: Final = 200
TIMES_MAX: Final = 10
SOUND_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class Round:
    """One run with a fault in it, and how each promise stands after it."""

    course: Course
    held: dict[str, Held]

    @property
    def breaches(self) -> dict[str, Breach]:
        """What is broken, by the name of the promise."""
        return {name: one.breach for name, one in self.held.items() if one.breach is not None}


@dataclass(frozen=True, slots=True)
class Row:
    """All rounds of a slice: none where there was nothing to fault."""

    name: str
    rounds: tuple[Round, ...]

    def cell(self, check: str) -> Cell:
        """How a promise stands after all rounds: the worst of them."""
        states = {one.held[check].state for one in self.rounds}
        if not states:
            return "nothing to fault"
        if "broken" in states:
            return "broken"
        return "not reached" if "not reached" in states else "held"

    @property
    def spoilt(self) -> int:
        """How many answers were spoilt in all."""
        return sum(len(one.course.tampering.hits) for one in self.rounds)

    @property
    def endings(self) -> tuple[str, ...]:
        """How the runs ended, each way once."""
        return tuple(dict.fromkeys(one.course.ending for one in self.rounds))


@dataclass(frozen=True, slots=True)
class Table:
    """What held, slice by promise; the first row is the run without a fault."""

    seed: int
    rows: tuple[Row, ...]

    @property
    def broken(self) -> Iterator[tuple[Row, Round]]:
        """The rounds in which a promise was broken."""
        return ((row, one) for row in self.rows for one in row.rounds if one.breaches)

    @property
    def exit_code(self) -> int:
        """0 where all held, 1 where a promise was broken."""
        return 1 if any(True for _ in self.broken) else 0

    def data(self) -> Json:
        """The same as plain data."""
        return {"seed": self.seed, "promises": {name: one.told for name, one in CHECKS.items()}, "slices": self._rows()}

    def _rows(self) -> list[Json]:
        return [
            {
                "slice": row.name,
                "told": SLICES[row.name].told if row.name in SLICES else "as it goes when nothing is put in",
                "held": {name: row.cell(name) for name in CHECKS},
                "runs": [_run(one) for one in row.rounds],
            }
            for row in self.rows
        ]


def _run(one: Round) -> Json:
    course = one.course
    return {
        "run_id": course.run_id,
        "ended": course.ending,
        "events": len(course.trajectory.records),
        "spoilt": [{"run_id": hit.run_id, "position": hit.position, "tool": hit.tool} for hit in course.tampering.hits],
        "assumptions": list(course.assumptions),
        "broken": [
            {"promise": name, "run_id": breach.run_id, "position": breach.position, "how": breach.how}
            for name, breach in one.breaches.items()
        ],
    }


def faulted(
    what: Setting | Recorded, *, slices: Sequence[Slice] = tuple(SLICES.values()), seed: int = 0, rounds: int = 3
) -> Table:
    """Put each kind of fault in, round after round, and hold every run to its promises.

    ``what`` is an agent that is set upon a goal in throwaway logs, with its own model and tools, or a recorded run
    that is driven again, where nothing acts. Which answer is spoilt the seed says; in the first round it is one, in the
    second all like it from there on, in the third two. The same seed gives the same table. Where the run comes to no
    end without a fault, none is put in.

    Raises:
        BadInput: the agent cannot be set upon the goal, or a tool would be called that may act.
        CannotReplay: the records do not begin with the start of a run.
    """

    def drive(run_id: str, tampering: Callable[[Program], Tampering]) -> Course:
        return (
            driven(what, run_id, str(seed), tampering)
            if isinstance(what, Setting)
            else driven_again(what, run_id, tampering)
        )

    sound = drive("no-fault", partial(Tampering, requests_max=SOUND_MAX))
    rows = [Row(NO_FAULT, (_round(sound, sound),))]
    if not sound.tampering.endless:  # what never ends is measured by nothing, and each round would take as long
        rows += [Row(one.name, tuple(_rounds(one, sound, drive, seed, rounds))) for one in slices]
    return Table(seed, tuple(rows))


def _rounds(of: Slice, sound: Course, drive: Drive, seed: int, rounds: int) -> Iterator[Round]:
    most = max(REQUESTS_MAX, TIMES_MAX * len(sound.tampering.passing))
    for number in range(rounds):
        key = f"{seed}/{of.name}/{number}"
        sites = sites_of(of, sound.tampering, key)
        if sites:
            fault = Fault(of, Chance(key).below(sites), OFTEN[number % len(OFTEN)], key)
            run_id = f"{of.name.replace(' ', '-')}-{number + 1}"
            yield _round(drive(run_id, partial(Tampering, fault=fault, requests_max=most)), sound)


def _round(course: Course, sound: Course) -> Round:
    return Round(course, {name: check.of(course, sound) for name, check in CHECKS.items()})
