"""Files into a log: each whole or not at all, and nothing twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path

from redrive_events import NOTES, BadInput, Batch, EventLog, Lineage, is_portable
from redrive_replays.traces.reading import Material, read_bytes
from redrive_replays.traces.recordings import import_recording
from redrive_replays.traces.records import records_of, run_id_of
from redrive_replays.traces.report import FileReport, Progress
from redrive_replays.traces.table import Importer, importer_of

# A recording is told by so many bytes of its beginning.
TOLD_BY = 131_072


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
    path = Path(path)
    data = _bytes(path)
    if is_portable(data[:TOLD_BY]):
        return import_recording(path, log, progress)
    return import_bytes(data, str(path), log, progress=progress)


def import_bytes(data: bytes, name: str, log: EventLog, *, progress: Progress | None = None) -> FileReport:
    """Import a file's content; ``name`` is what it is called in messages. Raises as `import_file` does."""
    try:
        material = read_bytes(data, name)
        importer = importer_of(material)
        report = FileReport(name, importer.name)
        log.append_all(_batches(material, importer, report, log, progress))
    except RecursionError as error:
        raise BadInput("nested too deeply", place=name) from error
    except BadInput as error:
        raise error if error.place.startswith(name) else BadInput(str(error), place=name) from error
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
    ids: dict[int, str] = {}
    for done, trace in enumerate(traces, start=1):
        run_id = run_id_of(importer.name, material.sha256, trace.entry if several else None)
        parent = Lineage(run_id=ids[trace.parent[0]], call=trace.parent[1]) if trace.parent else None
        if parent and parent.call:
            run_id = f"{parent.run_id}/{parent.call}"
        ids[trace.entry] = run_id
        records, notes = records_of(trace, run_id, format=importer.name, sha256=material.sha256, parent=parent)
        report.runs.append(run_id)
        report.count_trace(trace, len(records))
        if not log.head(run_id).position:
            report.added += 1
            yield Batch(run_id, records, 0)
            if notes:
                yield Batch(run_id + NOTES, notes, 0)
        if progress is not None:
            progress(material.name, done)


def _bytes(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise BadInput("is a directory; give the files in it", place=str(path))
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror or type(error).__name__}", place=str(path)) from error
