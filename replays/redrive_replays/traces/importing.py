"""Files into a log: each whole or not at all, and nothing twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from os import PathLike
from pathlib import Path

from redrive_events import NOTES, BadInput, Batch, EventLog, is_portable
from redrive_replays.traces.building import TOLD_BY, Run, built, content
from redrive_replays.traces.finding import Found, files_of
from redrive_replays.traces.joining import joined
from redrive_replays.traces.lineage import Families
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
    writing = _Writing(log, progress)
    files = list(files_of(names)) if importer else joined(list(files_of(names)))
    ahead = built_ahead(files, processes, importer)
    reports = [_reported(file, made, writing, importer) for file, made in zip(files, ahead, strict=True)]
    writing.late()
    firsts = {report.path: report for report in reports if not report.read_with}
    for report in reports:
        if report.read_with:
            report.follow(firsts[report.read_with])
    return reports


def _reported(file: Found, made: Built | None, writing: _Writing, importer: str) -> FileReport:
    try:
        if file.problem:
            raise BadInput(file.problem, place=str(file.path))
        if file.read_with is not None:
            return FileReport(str(file.path), read_with=str(file.read_with))
        if made is None:
            return _read(file, writing, importer, LARGE_BYTES, patient=True)
        if not made.report.refused and not made.report.skipped:
            writing.add((packed.unpacked() for packed in made.runs), made.report, patient=True)
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
    return _read(Found(Path(path)), _Writing(log, progress), importer, large_bytes)


def import_bytes(
    data: bytes, name: str, log: EventLog, *, importer: str = "", progress: Progress | None = None
) -> FileReport:
    """Import a file's content; ``name`` is what it is called in messages. Raises as `import_file` does."""
    report = FileReport(name)
    with built(data, name, report, importer=importer) as runs:
        _Writing(log, progress).add(runs, report)
    return report


def _read(file: Found, writing: _Writing, importer: str, large_bytes: int, *, patient: bool = False) -> FileReport:
    report = FileReport(str(file.path))
    with content(file.path, large_bytes=large_bytes) as data:
        if importer == NAME or (not importer and is_portable(data[:TOLD_BY])):
            return import_recording(file.path, writing.log, writing.progress)
        with built(data, report.path, report, importer=importer, large_bytes=large_bytes, beside=file.beside) as runs:
            writing.add(runs, report, patient=patient)
    return report


class _Writing:
    """Runs on their way into the log, each file in one transaction."""

    def __init__(self, log: EventLog, progress: Progress | None) -> None:
        self.log, self.progress = log, progress
        self._families = Families(log)
        self._waiting: list[tuple[list[Run], FileReport]] = []

    def add(self, runs: Iterable[Run], report: FileReport, *, patient: bool = False) -> None:
        """Write the runs of a file; if this is ``patient``, what is begun by a run of another file waits for that."""
        first = next(runs := iter(runs))
        if patient and not self._has(first) and self._families.waits(first, report.path):
            self._waiting.append(([first, *runs], report))
        else:
            self._write(chain([first], runs), report)

    def late(self) -> None:
        """Write what waits: the first whose turn it is, and if it is the turn of none, the first."""
        while self._waiting:
            ready = (at for at, (runs, one) in enumerate(self._waiting) if not self._families.waits(runs[0], one.path))
            runs, report = self._waiting.pop(next(ready, 0))
            try:
                self._write(runs, report)
            except BadInput as error:
                report.refuse(str(error))

    def _write(self, runs: Iterable[Run], report: FileReport) -> None:
        self._families.begin()
        self.log.append_all(self._batches(runs, report))
        self._families.settle()

    def _has(self, run: Run) -> bool:
        return self.log.head(run.run_id).position > 0

    def _batches(self, runs: Iterable[Run], report: FileReport) -> Iterator[Batch]:
        for done, one in enumerate(runs, start=1):
            if not self._has(one):
                run = self._families.placed(one, report)
                report.added += 1
                yield Batch(run.run_id, run.records, 0)
                if run.notes:
                    yield Batch(run.run_id + NOTES, run.notes, 0)
                yield from self._families.adopted(run)
            if self.progress is not None:
                self.progress(report.path, done)
