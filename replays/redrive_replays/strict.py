"""Strict replay of a run wherever it is recorded, under the program that fits it."""

from __future__ import annotations

from dataclasses import replace as replaced
from pathlib import Path

from redrive_engine import Agent, Run
from redrive_engine.policy import Given
from redrive_events import CannotReplay, RunStarted
from redrive_projections import fork_of, start_of
from redrive_replays.guarded import Guard, guarding
from redrive_replays.programs import program_for
from redrive_replays.recording import Recording, recording_in, recording_of
from redrive_replays.replayer import replay_records
from redrive_replays.report import Report


def replay(
    run: Run | Recording | Path | str,
    *,
    agent: Agent | None = None,
    policy: Given | None = None,
    guarded: bool = False,
) -> Report:
    """Drive a recorded run again, strictly, and say whether it is the same, or where and how it parts.

    ``run`` is a run, or the path of a recording that `redrive export` wrote.

    The program is that of ``agent``, else the registered one, else, for an import, the permissive one; ``policy``
    takes the place of its policy. Nothing acts: no tool, model or person is asked. If it is ``guarded``, what the pure
    parts of the program ask of clock, chance, environment, files, network or processes is found as well.

    Raises:
        BadInput: the file, the policy or the registry cannot be read.
    """
    if isinstance(run, Path | str):
        recording = recording_in(run)
    else:
        recording = run if isinstance(run, Recording) else recording_of(run.log, run.run_id)
    return replay_under(guarding() if guarded else None, recording, agent=agent, policy=policy)


def replay_under(
    guard: Guard | None, recording: Recording, *, agent: Agent | None = None, policy: Given | None = None
) -> Report:
    """The same of a recording that is at hand; a ``guard`` keeps what the parts of the program answered."""
    try:
        fork = fork_of(recording.records)
        program = program_for(started_of(recording), agent=agent, policy=policy, fork=fork)
    except CannotReplay as error:
        return Report(recording.run_id, "cannot replay", len(recording.records), reason=str(error))
    report = replay_records(recording.run_id, recording.records, program, guard=guard)
    if recording.problem:
        return replaced(report, outcome="cannot replay", reason=recording.problem)
    return report


def started_of(recording: Recording) -> RunStarted:
    """How a recorded run was begun; that of a fork, with what is given for it.

    Raises:
        CannotReplay: the recording does not tell.
    """
    started = start_of(recording.records)
    if started is None:
        raise CannotReplay(recording.problem or "the recording does not begin with the start of a run")
    return started
