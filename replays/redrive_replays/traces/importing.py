"""Files into a log: each whole or not at all, and nothing twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path

from redrive_events import NOTES, BadInput, Batch, EventLog, is_portable
from redrive_replays.traces.building import TOLD_BY, Run, built, content
from redrive_replays.traces.finding import Found, files_of
from redrive_replays.traces.lines import Bytes
from redrive_replays.traces.reading import LARGE_BYTES
from redrive_replays.traces.recordings import NAME, import_recording
from redrive_replays.traces.report import FileReport, Progress
from redrive_replays.traces.table import importer_named
from redrive_replays.traces.workers import Built, built_ahead


def import_files(
    names: Iterable[str | PathLike[str]],
    log: EventLog,
    *,
    importer: str = "",
    processes: int = 1,
    progress: Progress | None = None,
) -> list[FileReport]:
    """Import each file, the files in a directory, and those that fit a pattern.

    One that cannot be read is reported as refused, and the others go in all the same; one that nobody named, and that
    is no trace, is skipped. What they hold is built in as many ``processes`` where that pays, and written by this one.

    Raises:
        BadInput: no importer has this name.
    """
    if importer not in {"", NAME}:
        importer_named(importer)
    files = list(files_of(names))
    ahead = built_ahead(files, processes, importer)
    return [_reported(file, made, log, importer, progress) for file, made in zip(files, ahead, strict=True)]


def _reported(file: Found, made: Built | None, log: EventLog, importer: str, progress: Progress | None) -> FileReport:
    try:
        if file.problem:
            raise BadInput(file.problem, place=str(file.path))
        if made is None:
            return import_file(file.path, log, importer=importer, progress=progress)
        if made.report.refused or made.report.skipped:
            return made.report
        log.append_all(_batches((packed.unpacked() for packed in made.runs), made.report, log, progress))
    except BadInput as error:
        return file.declined(error)
    return made.report


def import_file(
    path: str | PathLike[str],
    log: EventLog,
    *,
    importer: str = "",
    progress: Progress | None = None,
    large_bytes: int = LARGE_BYTES,
) -> FileReport:
    """Import one file, all of its runs in one transaction; a run that the log has is left as it is.

    A file beyond ``large_bytes`` is read bit by bit, where it is one of lines or an archive.

    Raises:
        BadInput: the file cannot be read, holds no trace that is known (then it is a `NoTrace`), or no run.
    """
    path = Path(path)
    with content(path, large_bytes=large_bytes) as data:
        if importer == NAME or (not importer and is_portable(data[:TOLD_BY])):
            return import_recording(path, log, progress)
        return _imported(data, str(path), log, importer, progress, large_bytes)


def import_bytes(
    data: bytes, name: str, log: EventLog, *, importer: str = "", progress: Progress | None = None
) -> FileReport:
    """Import a file's content; ``name`` is what it is called in messages. Raises as `import_file` does."""
    return _imported(data, name, log, importer, progress, LARGE_BYTES)


def _imported(
    data: Bytes, name: str, log: EventLog, importer: str, progress: Progress | None, large_bytes: int
) -> FileReport:
    report = FileReport(name)
    with built(data, name, report, importer=importer, large_bytes=large_bytes) as runs:
        log.append_all(_batches(runs, report, log, progress))
    return report


def _batches(runs: Iterable[Run], report: FileReport, log: EventLog, progress: Progress | None) -> Iterator[Batch]:
    for done, run in enumerate(runs, start=1):
        if not log.head(run.run_id).position:
            report.added += 1
            yield Batch(run.run_id, run.records, 0)
            if run.notes:
                yield Batch(run.run_id + NOTES, run.notes, 0)
        if progress is not None:
            progress(report.path, done)
