"""What tests ask of whole runs: their events, how they read, and the log as it was after each append."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from redrive_engine import Run
from redrive_events import Batch, MemoryLog, Record
from redrive_projections import timeline

Kind = TypeVar("Kind")


def found(run: Run, kind: type[Kind]) -> list[Kind]:
    """The run's events of one kind."""
    return [record.event for record in run.records() if isinstance(record.event, kind)]


def told(log: MemoryLog) -> str:
    """All runs of a log as people read them, one event a line."""
    lines: list[str] = []
    for head in log.runs():
        lines.append(f"# {head.run_id}")
        lines += [f"{'  ' * one.level}{one.word}: {one.text}" for one in timeline(log.read(head.run_id))]
    return "\n".join(lines)


def cuts(log: MemoryLog) -> Iterator[MemoryLog]:
    """The log as it was after each of its appends but the last, in the order over all runs."""
    appends: list[list[Record]] = []
    for _, record in log.read_all():
        if not appends or appends[-1][-1].left == 0:
            appends.append([])
        appends[-1].append(record)
    for count in range(1, len(appends)):
        cut = MemoryLog()
        cut.append_all(Batch(one[0].run_id, one, one[0].position - 1) for one in appends[:count])
        yield cut
