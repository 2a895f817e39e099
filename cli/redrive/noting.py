"""What a replay found, kept beside the run as remarks."""

from __future__ import annotations

from datetime import UTC, datetime

from redrive_engine import annotate
from redrive_events import NOTES, AnnotationMade, EventLog, canonical
from redrive_replays import Report

DIVERGENCE = "divergence"


def kept(report: Report, log: EventLog) -> int:
    """Remark on each place where the replay parts; how many are new. What was kept before is not kept again."""
    if not log.head(report.run_id).position:  # a recording file has no log to remark in
        return 0
    known = {
        canonical(record.event.value)
        for record in log.read(report.run_id + NOTES)
        if isinstance(record.event, AnnotationMade) and record.event.name == DIVERGENCE
    }
    new = [data for data in report.data()["divergences"] if canonical(data) not in known]
    for data in new:
        remark = AnnotationMade(name=DIVERGENCE, value=data, source="redrive replay", position=data["position"])
        annotate(log, report.run_id, remark, at=datetime.now(UTC))
    return len(new)
