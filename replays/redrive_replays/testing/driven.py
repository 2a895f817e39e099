"""A recording as the trajectory that its program takes today: the recorded inputs, and what follows from them now."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from redrive_engine import Agent, Program
from redrive_engine.policy import Given
from redrive_events import CannotReplay, RunStarted
from redrive_projections import fork_of
from redrive_replays.beginning import beginning
from redrive_replays.programs import program_for
from redrive_replays.recording import Recording
from redrive_replays.redriving import inputs_of, redriven
from redrive_replays.replayer import replay_records
from redrive_replays.strict import started_of
from redrive_replays.testing.trajectory import Trajectory


def driven(
    runs: Mapping[str, Recording],
    run_id: str,
    *,
    agent: Agent | None = None,
    policy: Given | None = None,
    program_of: Callable[[RunStarted], Program] | None = None,
) -> Trajectory:
    """A run and those it began, driven again. Where that parts, the recorded answers go to whatever asks for them now.

    Raises:
        CannotReplay: there is no program for a run, or its recording cannot be read to the end.
        BadInput: the policy or the registry cannot be read.
    """
    recording = runs[run_id]
    if recording.problem:
        raise CannotReplay(recording.problem)
    started, fork = started_of(recording), fork_of(recording.records)
    program = program_of(started) if program_of else program_for(started, agent=agent, policy=policy, fork=fork)
    report = replay_records(run_id, recording.records, program)
    if report.outcome == "cannot replay":
        raise CannotReplay(f"run {run_id}: {report.reason}")
    records = recording.records
    if not report.same:
        records = redriven(program, beginning(recording.records), inputs_of(recording.records))
    below = [one for one in runs if one.rpartition("/")[0] == run_id]
    children = tuple(driven(runs, one, agent=agent, policy=policy, program_of=program_of) for one in below)
    return Trajectory(tuple(records), tuple(recording.records), report, children)
