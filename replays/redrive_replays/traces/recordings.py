"""Redrive's own recordings into a log: runs under their own ids, as far as the file goes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from redrive_events import (
    NOTES,
    BadInput,
    Batch,
    BrokenChain,
    EventLog,
    Portable,
    StaleAppend,
    UnknownEvent,
)
from redrive_replays.traces.material import Diagnostic
from redrive_replays.traces.report import FileReport, Progress

NAME = "redrive"
READS = "Redrive recordings"


def import_recording(path: Path, log: EventLog, progress: Progress | None = None) -> FileReport:
    """All runs of a recording in one transaction; what the log has of them already is left as it is.

    Raises:
        BadInput: the file is not what was written, or the log has another run of the same id.
    """
    report = FileReport(str(path), NAME)
    try:
        portable = Portable(path)
        report.runs = [head.run_id for head in portable.runs if not head.run_id.endswith(NOTES)]
        before = {head.run_id: log.head(head.run_id).position for head in portable.runs}
        log.append_all(_counted(portable, report, progress))
    except StaleAppend as error:
        raise BadInput(f"the log has another run {error.run_id!r}", place=str(path)) from error
    except (BrokenChain, UnknownEvent) as error:
        raise BadInput(str(error), place=str(path)) from error
    # Of a file that is cut off, the last runs may not be there.
    report.runs = [run_id for run_id in report.runs if log.head(run_id).position]
    report.added = sum(log.head(run_id).position > before[run_id] for run_id in report.runs)
    if portable.torn:
        report.diagnostics.append(Diagnostic(portable.torn))
    return report


def _counted(portable: Portable, report: FileReport, progress: Progress | None) -> Iterator[Batch]:
    done: set[str] = set()
    for batch in portable.batches():
        for record in batch.records:
            report.count(record.event)
        done.add(batch.run_id.removesuffix(NOTES))
        if progress is not None:
            progress(report.path, len(done))
        yield batch
