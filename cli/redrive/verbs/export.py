"""Write runs as a portable recording."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from redrive.chosen import Choice
from redrive.files import replacing
from redrive.options import LOG, LogOption, RunsArgument
from redrive_events import BadInput, write_runs


def export(
    runs: RunsArgument = None,
    everything: Annotated[bool, typer.Option("--all", help="All runs of the log.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to; a name in .zst is packed.")
    ] = None,
    log: LogOption = LOG,
) -> None:
    """Write runs, and what was remarked on them, as one portable recording: on stdout, or into a file.

    A recording stands wherever a run is asked for. An existing file is replaced as a whole, or not at all.
    """
    if bool(runs) == everything:
        raise BadInput("give the runs that are to be written, or --all", place="export")
    with Choice(log) as choice:
        chosen = choice.all() if everything else [one for name in runs or () for one in choice.named(name)]
        named = ((one.log, one.run_id) for one in chosen)
        if output is None:
            write_runs(named, sys.stdout.buffer)
            return
        with replacing(output) as file:
            write_runs(named, file, compressed=output.suffix == ".zst")
