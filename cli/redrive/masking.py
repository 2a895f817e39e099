"""The mask of a command line: its key is in a file that the environment names, its vault beside the log."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import msgspec
import typer

from redrive_engine import FileVault, Mask
from redrive_engine.masking import Concealer
from redrive_events import AnnotationMade, BadInput, Content, Json, Record
from redrive_projections import Asked, Message

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


UnmaskedOption: TypeAlias = Annotated[bool, typer.Option("--unmasked", help="Show credentials as they are recorded.")]


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


class Shown:
    """What may be shown of a run: all of it, or all but its credentials."""

    def __init__(self, records: Sequence[Record], *, unmasked: bool) -> None:
        self._concealer = None if unmasked else Concealer(msgspec.to_builtins(one.event) for one in records)

    def data(self, value: Json) -> Json:
        """Plain data of it."""
        return value if self._concealer is None else self._concealer.data(value)

    def records(self, records: Sequence[Record]) -> Sequence[Record]:
        """Its records."""
        if (concealer := self._concealer) is None:
            return records
        return [msgspec.structs.replace(one, event=concealer.event(one.event)) for one in records]

    def remarks(self, remarks: list[AnnotationMade]) -> list[AnnotationMade]:
        """What was remarked on it."""
        return remarks if self._concealer is None else list(map(self._concealer.event, remarks))

    def request(self, asked: Asked) -> Asked:
        """What its model was asked."""
        if (concealer := self._concealer) is None:
            return asked
        return dataclasses.replace(
            asked, messages=self.messages(asked.messages), parameters=concealer.data(asked.parameters)
        )

    def messages(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Some of its messages."""
        if (concealer := self._concealer) is None:
            return tuple(messages)
        contents = (msgspec.convert(concealer.data(msgspec.to_builtins(one.content)), Content) for one in messages)
        pairs = zip(messages, contents, strict=True)
        return tuple(msgspec.structs.replace(one, content=content) for one, content in pairs)
