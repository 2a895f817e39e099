"""Options that several verbs share, spelled once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from redrive_events import Durability

LOG = Path("redrive.db")

LogOption: TypeAlias = Annotated[Path, typer.Option("--log", envvar="REDRIVE_LOG", metavar="PATH", help="The log.")]
DurabilityOption: TypeAlias = Annotated[
    Durability,
    typer.Option("--durability", help="Until when a loss of power can take an event that was written."),
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, for a program to read.")]
RunArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="RUN", help="A run id, the beginning of one, or a recording file.")
]
RunsArgument: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(metavar="RUN...", help="Run ids, beginnings of them, or recording files."),
]
AgentOption: TypeAlias = Annotated[
    str | None, typer.Option("--agent", metavar="MODULE:ATTR", help="The agent whose program is used.")
]
BeyondOption: TypeAlias = Annotated[
    Literal["sure", "recorded"],
    typer.Option("--beyond", help="How far to go on: no further than is sure, or with what was recorded nearby."),
]
