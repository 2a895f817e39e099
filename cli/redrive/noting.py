"""What a replay found, kept beside the run as remarks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import islice

from redrive_engine import annotate
from redrive_events import NOTES, AnnotationMade, BadInput, EventLog, Json, canonical
from redrive_replays import Recording, Report

DIVERGENCE = "divergence"


def remarkable(recording: Recording, log: EventLog) -> None:
    """Whether the log has the run, so that remarks beside it are about it.

    Raises:
        BadInput: it has not, or another one under this id; a recording file has no log to remark in.
    """
    held = islice(log.read(recording.run_id), len(recording.records))
    if not recording.records or list(held) != list(recording.records):
        raise BadInput("the log has no such run to remark on", place=f"--keep: run {recording.run_id!r}")


def kept(report: Report, log: EventLog) -> int:
    """Remark on each place where the replay parts; how many are new. What was kept before is not kept again."""
    return noted(log, report.run_id, DIVERGENCE, report.data()["divergences"], place=lambda data: int(data["position"]))


def noted(log: EventLog, run_id: str, name: str, values: Sequence[Json], *, place: Callable[[Json], int | None]) -> int:
    """Remark on a run under this name, each value at its place; how many are new."""
    known = {
        canonical(record.event.value)
        for record in log.read(run_id + NOTES)
        if isinstance(record.event, AnnotationMade) and record.event.name == name
    }
    new = [value for value in values if canonical(value) not in known]
    for value in new:
        remark = AnnotationMade(name=name, value=value, source="redrive", position=place(value))
        annotate(log, run_id, remark, at=datetime.now(UTC))
    return len(new)
