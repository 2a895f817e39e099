"""A file's content as the runs that it holds, built one after the other."""

from __future__ import annotations

import gc
import mmap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from redrive_events import BadInput, Lineage, Record
from redrive_replays.traces.lines import Bytes
from redrive_replays.traces.material import Material, NoTrace
from redrive_replays.traces.opened import opened
from redrive_replays.traces.reading import LARGE_BYTES, read
from redrive_replays.traces.records import records_of, run_id_of
from redrive_replays.traces.report import FileReport
from redrive_replays.traces.table import Importer, importer_named, importer_of

# A recording is told by so many bytes of its beginning.
TOLD_BY = 131_072


class Run(NamedTuple):
    """The records of a run, and those of its notes."""

    run_id: str
    records: list[Record]
    notes: list[Record]


@contextmanager
def content(path: Path, *, large_bytes: int = LARGE_BYTES) -> Iterator[Bytes]:
    """What is in the file, all of it read or, where it is large, as it is looked at.

    Raises:
        BadInput: it cannot be read. `NoTrace` if it is no file.
    """
    try:
        if path.is_dir():
            raise NoTrace("is a directory, reached by a link that is not followed", place=str(path))
        if path.exists() and not path.is_file():
            raise NoTrace("is no file, but a device or a pipe", place=str(path))
        with path.open("rb") as file:
            yield from _read(file, path.stat().st_size > large_bytes)
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror or type(error).__name__}", place=str(path)) from error


def _read(file: BufferedReader, large: bool) -> Iterator[Bytes]:
    if not large:
        yield file.read()
        return
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        yield data


@contextmanager
def built(
    data: Bytes,
    name: str,
    report: FileReport,
    *,
    importer: str = "",
    large_bytes: int = LARGE_BYTES,
    beside: Sequence[Path] = (),
) -> Iterator[Iterator[Run]]:
    """The runs that a file holds, to be taken while this is open; ``report`` is filled as they are.

    The files ``beside`` it are read as one with it.

    Raises:
        BadInput: the file cannot be read, holds no trace that is known, or no run.
    """
    try:
        with _uncollected():
            material = read(data, name, large_bytes=large_bytes)
            material.join([read(path.read_bytes(), str(path)) for path in beside])
            chosen, material = _chosen(importer, material)
            report.format = chosen.name
            told = not importer or chosen.detect(material)
            yield _runs(material, chosen, report) if told else _forced(material, chosen, report)
    except RecursionError as error:
        raise BadInput("nested too deeply", place=name) from error
    except BadInput as error:
        if error.place.startswith(name):
            raise
        raise (NoTrace if isinstance(error, NoTrace) else BadInput)(str(error), place=name) from error
    report.diagnostics = material.diagnostics


def _chosen(importer: str, material: Material) -> tuple[Importer, Material]:
    """The importer, and what it reads: as it is, or taken out of what it is wrapped in."""
    if not importer:
        return importer_of(material)
    chosen = importer_named(importer)
    return chosen, next(filter(chosen.detect, chain([material], opened(material))), material)


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


def _forced(material: Material, importer: Importer, report: FileReport) -> Iterator[Run]:
    """What the importer makes of content that it does not recognise, and so need not be able to read."""
    try:
        yield from _runs(material, importer, report)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, AssertionError) as error:
        raise BadInput(f"cannot be read as {importer.name}", place=material.name) from error


def _runs(material: Material, importer: Importer, report: FileReport) -> Iterator[Run]:
    traces = importer.read(material)
    begun = list(islice(traces, 2))
    if not begun:
        problem = f"no run in this {importer.name} file"
        if material.diagnostics:
            raise BadInput(f"{problem}: {material.diagnostics[0]}", place=material.name)
        raise NoTrace(problem, place=material.name)
    several = len(begun) > 1 or begun[0].entry > 0 or material.lined
    ids: dict[int, str] = {}
    for trace in chain(begun, traces):
        run_id = run_id_of(importer.name, material.sha256, trace.entry if several else None)
        parent = Lineage(run_id=ids[trace.parent[0]], call=trace.parent[1]) if trace.parent else None
        if parent and parent.call:
            run_id = f"{parent.run_id}/{parent.call}"
        ids[trace.entry] = run_id
        records, notes = records_of(trace, run_id, format=importer.name, sha256=material.sha256, parent=parent)
        report.runs.append(run_id)
        report.count_trace(trace, len(records))
        yield Run(run_id, records, notes)
