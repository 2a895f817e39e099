"""A recorded run to be driven again: its records, wherever they are kept, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from msgspec.structs import replace

from redrive_events import (
    NOTES,
    BadInput,
    EventLog,
    Head,
    Quarantined,
    Record,
    RunForked,
    examined,
    load_portable,
)


@dataclass(frozen=True, slots=True)
class Recording:
    """The records of one run; ``problem`` says where the first of them is that cannot be read, if there is one."""

    run_id: str
    records: Sequence[Record]
    problem: str = ""


def recording_of(log: EventLog, run_id: str, *, head: Head | None = None) -> Recording:
    """What ``log`` holds of a run, what is not as it was written quarantined; ``head`` says how far that was."""
    head = head or log.head(run_id)
    records = [record for _, record in examined(run_id, log.lines(run_id), head=head)]
    for record in records:
        if type(record.event) is Quarantined:
            return Recording(run_id, records, f"run {run_id}: position {record.position}: {record.event.reason}")
    return Recording(run_id, records)


def recording_in(path: Path | str) -> Recording:
    """The one run of a portable recording.

    Raises:
        BadInput: the file cannot be read, is no recording, or holds another number of runs.
    """
    log, portable = load_portable(path)
    heads = [one for one in portable.runs if not one.run_id.endswith(NOTES) and one.run_id not in portable.inherited]
    if len(heads) != 1:
        raise BadInput(f"one run is wanted, and it holds {len(heads)}", place=str(path))
    return recording_of(log, heads[0].run_id, head=heads[0])


def keep(log: EventLog, records: Iterable[Record]) -> None:
    """Append records of one run; what it inherits stands in front of them, and is kept under the runs it is of.

    A fork goes on from what is kept here, whatever the bytes of that were before they were read.
    """
    for run_id, own in groupby(records, key=lambda record: record.run_id):
        first, *rest = own
        if isinstance(first.event, RunForked):
            digest = log.head(first.event.parent).digest.hex()
            first = replace(first, event=replace(first.event, digest=digest))
        log.append(run_id, [first, *rest], expected=first.position - 1)
