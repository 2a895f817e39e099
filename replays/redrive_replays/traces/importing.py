"""Files into a log: each whole or not at all, and nothing twice."""

from __future__ import annotations

import gc
import hashlib
import mmap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from itertools import chain, islice
from os import PathLike
from pathlib import Path

from redrive_events import NOTES, BadInput, Batch, EventLog, Lineage, is_portable
from redrive_replays.traces.material import Material
from redrive_replays.traces.reading import LARGE_BYTES, read_bytes, read_mapped
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
    with _opened(path) as file:
        if is_portable(file.read(TOLD_BY)):
            return import_recording(path, log, progress)
        if file.tell() < TOLD_BY or path.stat().st_size <= LARGE_BYTES:
            file.seek(0)
            return import_bytes(file.read(), str(path), log, progress=progress)
        file.seek(0)
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _imported(lambda: read_mapped(data, str(path), sha256), str(path), log, progress)


def import_bytes(data: bytes, name: str, log: EventLog, *, progress: Progress | None = None) -> FileReport:
    """Import a file's content; ``name`` is what it is called in messages. Raises as `import_file` does."""
    return _imported(lambda: read_bytes(data, name), name, log, progress)


def _imported(read: Callable[[], Material], name: str, log: EventLog, progress: Progress | None) -> FileReport:
    try:
        with _uncollected():
            material = read()
            importer = importer_of(material)
            report = FileReport(name, importer.name)
            log.append_all(_batches(material, importer, report, log, progress))
    except RecursionError as error:
        raise BadInput("nested too deeply", place=name) from error
    except BadInput as error:
        raise error if error.place.startswith(name) else BadInput(str(error), place=name) from error
    report.diagnostics = material.diagnostics
    return report


@contextmanager
def _uncollected() -> Iterator[None]:
    """What is read and written here refers to nothing in a circle, so looking for circles would only cost time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _batches(
    material: Material, importer: Importer, report: FileReport, log: EventLog, progress: Progress | None
) -> Iterator[Batch]:
    traces = importer.read(material)
    begun = list(islice(traces, 2))
    if not begun:
        lost = f": {material.diagnostics[0]}" if material.diagnostics else ""
        raise BadInput(f"no run in this {importer.name} file{lost}", place=material.name)
    several = len(begun) > 1 or begun[0].entry > 0 or material.lined
    ids: dict[int, str] = {}
    for done, trace in enumerate(chain(begun, traces), start=1):
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


@contextmanager
def _opened(path: Path) -> Iterator[BufferedReader]:
    try:
        if path.is_dir():
            raise BadInput("is a directory; give the files in it", place=str(path))
        if path.exists() and not path.is_file():
            raise BadInput("is no file, but a device or a pipe", place=str(path))
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror or type(error).__name__}", place=str(path)) from error
