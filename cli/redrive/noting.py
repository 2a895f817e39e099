"""What a replay found, kept beside the run as remarks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from redrive_engine import annotate
from redrive_events import NOTES, AnnotationMade, EventLog, Json, canonical
from redrive_replays import Report

DIVERGENCE = "divergence"


def kept(report: Report, log: EventLog) -> int:
    """Remark on each place where the replay parts; how many are new. What was kept before is not kept again."""
    if not log.head(report.run_id).position:  # a recording file has no log to remark in
        return 0
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
