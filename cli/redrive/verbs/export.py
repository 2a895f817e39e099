"""Write a run as a portable recording."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated

import typer

from redrive.chosen import Choice
from redrive.options import LOG, LogOption, RunArgument
from redrive_events import BadInput, write_portable


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
        with _replacing(output) as file:
            write_portable(one.log, [one.run_id], file, compressed=output.suffix == ".zst")


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file that takes the place of ``path`` once all of it is written; for its owner alone, as a log is.

    What a link leads to is replaced, not the link; into a pipe or a device is written, since none may take its place.
    """
    part = None
    try:
        path = Path(os.path.realpath(path)) if path.is_symlink() else path
        if path.exists() and not (path.is_file() or path.is_dir()):
            with path.open("wb") as device:
                yield device
            return
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            part = Path(file.name)
            yield file
        part.replace(path)
        part = None
    except OSError as error:
        raise BadInput((error.strerror or "cannot be written").lower(), place=str(path)) from error
    finally:
        if part is not None:
            part.unlink(missing_ok=True)
