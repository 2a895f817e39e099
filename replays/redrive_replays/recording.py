"""A recorded run to be driven again: its records, wherever they are kept, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from redrive_events import (
    NOTES,
    BadInput,
    BrokenChain,
    EventLog,
    Head,
    Record,
    UnknownEvent,
    checked,
    decode,
    load_portable,
)


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
