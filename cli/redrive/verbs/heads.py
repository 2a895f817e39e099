"""List the heads of all runs, sealed as a whole, to check the log against later."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from redrive.chosen import Choice
from redrive.files import replacing
from redrive.options import LOG, LogOption
from redrive.signatures import signer
from redrive_events import heads_of


def heads(
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to.")] = None,
    sign: Annotated[
        Path | None, typer.Option("--sign", metavar="KEY", help="A private key for Ed25519 in PEM, to sign it with.")
    ] = None,
    log: LogOption = LOG,
) -> None:
    """List the heads of all runs, sealed as a whole, on stdout or into a file.

    Kept where nobody can change both, it shows with `verify --against` what was cut off, removed or replaced since.
    """
    with Choice(log) as choice:
        lines = heads_of(choice.log, sign=signer(sign) if sign is not None else None)
        if output is None:
            sys.stdout.buffer.writelines(lines)
            return
        with replacing(output) as file:
            file.writelines(lines)
