"""Write runs as a portable recording, or as tables for other engines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from redrive.chosen import Choice
from redrive.files import making, replacing
from redrive.options import LOG, LogOption, RunsArgument
from redrive.terminal import counted, say
from redrive_events import BadInput, write_runs
from redrive_projections import one_line


def export(
    runs: RunsArgument = None,
    everything: Annotated[bool, typer.Option("--all", help="All runs of the log.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to; a name in .zst is packed.")
    ] = None,
    parquet: Annotated[
        Path | None, typer.Option("--parquet", metavar="DIR", help="Write the tables instead, as Parquet, into DIR.")
    ] = None,
    log: LogOption = LOG,
) -> None:
    """Write runs, and what was remarked on them, as one portable recording: on stdout, or into a file.

    A recording stands wherever a run is asked for. An existing file is replaced as a whole, or not at all. With
    --parquet the tables for SQL are written, in folders by the day on which runs began, for any engine to read; DIR is
    made as a whole, or not at all.
    """
    if bool(runs) == everything:
        raise BadInput("give the runs that are to be written, or --all", place="export")
    if parquet is not None and output is not None:
        raise BadInput("give -o FILE or --parquet DIR, not both", place="export")
    with Choice(log) as choice:
        if parquet is not None:
            _write_tables(choice, parquet, runs)
            return
        chosen = choice.all() if everything else [one for name in runs or () for one in choice.named(name)]
        named = ((one.log, one.run_id) for one in chosen)
        if output is None:
            write_runs(named, sys.stdout.buffer)
            return
        with replacing(output) as file:
            write_runs(named, file, compressed=output.suffix == ".zst")


def _write_tables(choice: Choice, folder: Path, runs: RunsArgument) -> None:
    from redrive_projections.history import write_tables

    chosen = None if runs is None else [one for name in runs for one in choice.named(name)]
    if chosen is not None and any(one.log is not choice.log for one in chosen):
        raise BadInput("tables are made of runs in a log; import a recording first", place="export")
    run_ids = None if chosen is None else [one.run_id for one in chosen]
    with making(folder) as place:
        written = write_tables(choice.log, place, path=choice.path, run_ids=run_ids)
    say(f"{counted(written['runs'], 'run')} in {counted(len(written), 'table')}: {one_line(str(folder))}")
