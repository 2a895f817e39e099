"""Files into a log: each whole or not at all, and nothing twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from redrive_events import NOTES, BadInput, Batch, EventLog, Record
from redrive_replays.traces.reading import Diagnostic, Material, read_bytes
from redrive_replays.traces.records import records_of, run_id_of
from redrive_replays.traces.table import Importer, importer_of
from redrive_replays.traces.trace import Trace

# The file, and how many of its runs are done.
Progress: TypeAlias = Callable[[str, int], None]


@dataclass(slots=True)
class FileReport:
    """What became of one file; ``refused`` says why nothing of it was taken, in one line.

    ``added`` of its runs are new, the others were there. ``grades`` counts the runs of each grade.
    """

    path: str
    format: str = ""
    runs: list[str] = field(default_factory=list)
    added: int = 0
    events: int = 0
    calls: int = 0
    results: int = 0
    unpaired: int = 0
    grades: dict[str, int] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    refused: str = ""


def import_files(
    paths: Iterable[str | PathLike[str]], log: EventLog, *, progress: Progress | None = None
) -> list[FileReport]:
    """Import each file; one that cannot be read is reported as refused, and the others go in all the same."""
    reports = []
    for path in paths:
        try:
            reports.append(import_file(path, log, progress=progress))
        except BadInput as error:
            reports.append(FileReport(str(path), refused=str(error)))
    return reports


def import_file(path: str | PathLike[str], log: EventLog, *, progress: Progress | None = None) -> FileReport:
    """Import one file, all of its runs in one transaction; a run that the log has is left as it is.

    Raises:
        BadInput: the file cannot be read, holds no trace that is known, or no run.
    """
    return import_bytes(_bytes(Path(path)), str(path), log, progress=progress)


def import_bytes(data: bytes, name: str, log: EventLog, *, progress: Progress | None = None) -> FileReport:
    """Import a file's content; ``name`` is what it is called in messages. Raises as `import_file` does."""
    material = read_bytes(data, name)
    importer = importer_of(material)
    report = FileReport(name, importer.name)
    log.append_all(_batches(material, importer, report, log, progress))
    report.diagnostics = material.diagnostics
    return report


def _batches(
    material: Material, importer: Importer, report: FileReport, log: EventLog, progress: Progress | None
) -> Iterator[Batch]:
    traces = list(importer.read(material))
    if not traces:
        lost = f": {material.diagnostics[0]}" if material.diagnostics else ""
        raise BadInput(f"no run in this {importer.name} file{lost}", place=material.name)
    several = len(traces) > 1 or traces[0].entry > 0 or material.lined
    for done, trace in enumerate(traces, start=1):
        run_id = run_id_of(importer.name, material.sha256, trace.entry if several else None)
        records, notes = records_of(trace, run_id, format=importer.name, sha256=material.sha256)
        _count(report, run_id, trace, records)
        if not log.head(run_id).position:
            report.added += 1
            yield Batch(run_id, records, 0)
            if notes:
                yield Batch(run_id + NOTES, notes, 0)
        if progress is not None:
            progress(material.name, done)


def _count(report: FileReport, run_id: str, trace: Trace, records: list[Record]) -> None:
    report.runs.append(run_id)
    report.events += len(records)
    report.calls += trace.calls
    report.results += trace.results
    report.unpaired += trace.unpaired
    report.grades[trace.grade] = report.grades.get(trace.grade, 0) + 1
    for what, times in trace.missing.items():
        report.missing[what] = report.missing.get(what, 0) + times


def _bytes(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise BadInput("is a directory; give the files in it", place=str(path))
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror or type(error).__name__}", place=str(path)) from error
