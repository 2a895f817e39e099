"""The mask of a command line: its key is in a file that the environment names, its vault beside the log."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from redrive_engine import FileVault, Mask
from redrive_events import BadInput

KEY_FILE: Final = "REDRIVE_MASK_KEY_FILE"
SECRETS: Final = "secret"

MaskOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--mask",
        metavar="CLASSES",
        help=f"Mask credentials (secret) and these: email, phone, card, iban, cn_id; the key's file is in {KEY_FILE}.",
    ),
]


def mask_asked(log: Path, classes: str) -> Mask | None:
    """The mask that ``--mask`` asks for; None if it does not.

    Raises:
        BadInput: there is no key, or no such class.
    """
    if not classes:
        return None
    if (mask := mask_here(log, [name.strip() for name in classes.split(",") if name.strip() != SECRETS])) is None:
        raise BadInput(f"needs a key: name its file in {KEY_FILE}", place="--mask")
    return mask


def mask_here(log: Path, classes: list[str] | None = None) -> Mask | None:
    """The mask with the key that the environment names, if it names one."""
    path = os.environ.get(KEY_FILE)
    return Mask.from_file(path, classes=classes or (), vault=FileVault(f"{log}.vault")) if path else None
