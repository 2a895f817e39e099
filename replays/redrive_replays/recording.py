"""A recorded run to be driven again: its records, wherever they are kept, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace as dataclass_replace
from pathlib import Path

from redrive_engine import Agent, Run
from redrive_engine.policy import Policy
from redrive_events import (
    NOTES,
    BadInput,
    BrokenChain,
    CannotReplay,
    EventLog,
    Head,
    Record,
    RunStarted,
    UnknownEvent,
    checked,
    decode,
    load_portable,
)
from redrive_replays.programs import program_for
from redrive_replays.replayer import replay_records
from redrive_replays.report import Report


@dataclass(frozen=True, slots=True)
class Recording:
    """The records of one run; ``problem`` says why they are not all there, if they are not."""

    run_id: str
    records: Sequence[Record]
    problem: str = ""


def recording_of(log: EventLog, run_id: str, *, head: Head | None = None) -> Recording:
    """What ``log`` holds of a run, as far as it is what was written and can be read; ``head`` says how far that was."""
    lines = checked(run_id, log.lines(run_id), head=head or log.head(run_id))
    records: list[Record] = []
    try:
        for stored in lines:
            record = decode(stored.line, run_id=run_id, position=stored.position)
            records.append(record)
    except (BrokenChain, UnknownEvent) as error:
        return Recording(run_id, records, str(error))
    return Recording(run_id, records)


def recording_in(path: Path | str) -> Recording:
    """The one run of a portable recording.

    Raises:
        BadInput: the file cannot be read, is no recording, or holds another number of runs.
    """
    log, portable = load_portable(path)
    heads = [head for head in portable.runs if not head.run_id.endswith(NOTES)]
    if len(heads) != 1:
        raise BadInput(f"one run is wanted, and it holds {len(heads)}", place=str(path))
    return recording_of(log, heads[0].run_id, head=heads[0])


def replay(
    run: Run | Recording | Path | str, *, agent: Agent | None = None, policy: Policy | Path | None = None
) -> Report:
    """Drive a recorded run again, strictly, and say whether it is the same, or where and how it parts.

    ``run`` is a run, or the path of a recording that `redrive export` wrote.

    The program is that of ``agent``, else the registered one, else, for an import, the permissive one; ``policy``
    takes the place of its policy. Nothing acts: no tool, model or person is asked.

    Raises:
        BadInput: the file, the policy or the registry cannot be read.
    """
    if isinstance(run, Path | str):
        recording = recording_in(run)
    else:
        recording = run if isinstance(run, Recording) else recording_of(run.log, run.run_id)
    try:
        program = program_for(_started(recording), agent=agent, policy=policy)
    except CannotReplay as error:
        return Report(recording.run_id, "cannot replay", len(recording.records), reason=str(error))
    report = replay_records(recording.run_id, recording.records, program)
    if recording.problem:
        return dataclass_replace(report, outcome="cannot replay", reason=recording.problem)
    return report


def _started(recording: Recording) -> RunStarted:
    first = recording.records[0].event if recording.records else None
    if not isinstance(first, RunStarted):
        raise CannotReplay(recording.problem or "the recording does not begin with the start of a run")
    return first
