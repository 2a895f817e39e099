"""Bring traces of other tools into the log, each as runs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from redrive.chosen import log_to_write
from redrive.options import LOG, JsonOption, LogOption
from redrive.terminal import columns, counting, say, say_json, warn
from redrive_projections import one_line
from redrive_replays.traces import FileReport, import_files

HEAD = ("FORMAT", "RUNS", "NEW", "EVENTS", "CALLS", "RESULTS", "GRADE", "FILE")


def bring(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Traces, whatever they are called; directories, and patterns."),
    ],
    log: LogOption = LOG,
    read_as: Annotated[
        str, typer.Option("--as", metavar="FORMAT", help="Read every file as this format, whatever is in it.")
    ] = "",
    as_json: JsonOption = False,
) -> int:
    """Bring traces of other tools into the log, each as runs; the format is told by the content.

    A file goes in whole or not at all, and the same file again adds nothing. Of a directory or a pattern ("runs/**")
    all files are tried but hidden ones, and those that are no trace are skipped.

    Exit codes: 0 all is in, 1 some files were refused or had lines that are lost, 2 nothing could be imported.
    """
    with log_to_write(log) as target, counting("importing") as progress:
        reports = import_files(files, target, importer=read_as, processes=_cores(), progress=progress)
    taken = [report for report in reports if not (report.refused or report.skipped or report.read_with)]
    if as_json:
        say_json([msgspec.to_builtins(report) for report in reports])
    elif taken:
        say(*columns([HEAD, *map(_row, taken)], right={1, 2, 3, 4, 5}), *_below(taken))
    if not as_json:
        say(*(f"{one_line(one.path)}: read as one with {one_line(one.read_with)}" for one in reports if one.read_with))
        say(*(f"skipped {one_line(report.path)}: {one_line(report.skipped)}" for report in reports if report.skipped))
    refused = [report.refused for report in reports if report.refused]
    for problem in refused or ["nothing to import: no trace among the files"] * (not taken):
        warn(problem)
    if not taken:
        return 2
    return 1 if refused or any(report.diagnostics for report in taken) else 0


def _cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _row(report: FileReport) -> list[str]:
    counts = (len(report.runs), report.added, report.events, report.calls, report.results)
    grades = ", ".join(
        grade if len(report.grades) == 1 else f"{count} {grade}" for grade, count in report.grades.items()
    )
    return [report.format, *(f"{count:,}" for count in counts), grades, one_line(report.path)]


def _below(reports: Sequence[FileReport]) -> Iterator[str]:
    """What was lost of the files, and what none of their runs says."""
    for report in reports:
        yield from (f"{one_line(report.path)}: {one_line(str(diagnostic))}" for diagnostic in report.diagnostics)
    missing: Counter[str] = Counter()
    for report in reports:
        missing.update(report.missing)
    for what, times in missing.items():
        yield f"not recorded: {what}" + (f" (in {times:,} runs)" if times > 1 else "")
