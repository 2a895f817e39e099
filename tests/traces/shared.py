"""The recorded traces, where they are at hand: what their index says of them, and each file imported once."""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from redrive_events import BadInput, MemoryLog
from redrive_projections import fold
from redrive_replays import recording_of, replay
from redrive_replays.traces import FileReport, import_file

SHARED = Path(__file__).parents[3] / "shared" / "traces"
AT_HAND = pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded traces are not at hand")


class Row(NamedTuple):
    """A line of the index; None where it counted nothing."""

    path: str
    runs: int | None
    calls: int | None
    results: int | None
    unanswered: int | None


class Imported(NamedTuple):
    """A file in a log of its own, or why it was refused."""

    log: MemoryLog
    report: FileReport
    refused: str = ""


@cache
def rows(*formats: str) -> list[Row]:
    """The files of some formats, as their index has them."""
    if not SHARED.is_dir():
        return []
    with (SHARED / "INDEX.tsv").open(encoding="utf-8", newline="") as file:
        kept = [row for row in csv.DictReader(file, delimiter="\t") if row["format"] in formats]
    columns = ("runs", "calls", "results", "calls_without_result")
    return [Row(row["path"], *(int(row[key]) if row[key] else None for key in columns)) for row in kept]


@cache
def imported(path: str) -> Imported:
    """A file, once."""
    log = MemoryLog()
    try:
        return Imported(log, import_file(SHARED / path, log))
    except BadInput as error:
        assert list(log.runs()) == []
        return Imported(log, FileReport(path), error.problem)


def content(path: str) -> Any:
    """A file's own JSON."""
    return json.loads((SHARED / path).read_bytes())


def replays(found: Imported) -> None:
    """Every run of a file is driven again with the program that is found from the log alone."""
    for run in found.report.runs:
        again = replay(recording_of(found.log, run))
        ended = fold(found.log.read(run)).end is not None
        assert (again.outcome, again.changed_parts) == ("same" if ended else "same, unfinished", ())
