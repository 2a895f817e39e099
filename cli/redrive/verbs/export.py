"""Write a run as a portable recording."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from redrive.chosen import Choice
from redrive.files import replacing
from redrive.options import LOG, LogOption, RunArgument
from redrive_events import write_portable


def export(
    run: RunArgument,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to; a name in .zst is packed.")
    ] = None,
    log: LogOption = LOG,
) -> None:
    """Write a run, and what was remarked on it, as a portable recording: on stdout, or into a file.

    A recording stands wherever a run is asked for. An existing file is replaced as a whole, or not at all.
    """
    with Choice(log) as choice:
        one = choice.one(run)
        if output is None:
            write_portable(one.log, [one.run_id], sys.stdout.buffer)
            return
        with replacing(output) as file:
            write_portable(one.log, [one.run_id], file, compressed=output.suffix == ".zst")
