"""A run that was driven with a fault in it: what it came to, and what is known of the world behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from redrive_engine import Program
from redrive_events import NOTES, EventLog, Record, RunStarted
from redrive_replays.faults.tampering import Fault, Tampering
from redrive_replays.recording import recording_of
from redrive_replays.replayer import replay_records
from redrive_replays.testing import Trajectory


@dataclass(frozen=True, slots=True)
class Course:
    """A run and those it began, each driven again strictly; ``log`` has their records.

    ``trouble`` is why it was broken off. ``edge`` says where a recording had no further answer, and ``assumptions`` on
    what it went on behind that.
    """

    run_id: str
    log: EventLog
    trajectory: Trajectory
    tampering: Tampering
    trouble: str = ""
    edge: str = ""
    assumptions: tuple[str, ...] = ()

    @property
    def fault(self) -> Fault | None:
        """What was put in."""
        return self.tampering.fault

    @property
    def ending(self) -> str:
        """How it ended, or where it stopped."""
        if self.edge:
            return self.edge
        return "broken off" if self.trouble else self.trajectory.status

    def all(self) -> Sequence[Trajectory]:
        """The run and those it began, each of them before its own."""
        return tuple(_with_children(self.trajectory))


def _with_children(trajectory: Trajectory) -> list[Trajectory]:
    return [trajectory, *(below for child in trajectory.children for below in _with_children(child))]


def trajectory_of(log: EventLog, run_id: str, program_of: Callable[[RunStarted], Program]) -> Trajectory:
    """What a log has of a run and of those it began, with a strict replay of each."""
    records: tuple[Record, ...] = tuple(recording_of(log, run_id).records)
    started = records[0].event
    assert isinstance(started, RunStarted)
    report = replay_records(run_id, records, program_of(started))
    heads = [head.run_id for head in log.runs() if not head.run_id.endswith(NOTES)]
    below = [one for one in heads if one.rpartition("/")[0] == run_id]
    return Trajectory(records, records, report, tuple(trajectory_of(log, one, program_of) for one in below))
