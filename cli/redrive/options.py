"""Options that several verbs share, spelled once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from redrive_events import BadInput, Durability

LOG = Path("redrive.db")


def text(parameter: typer.CallbackParam, given: str | list[str] | None) -> str | list[str] | None:
    """What an option was given as text, which a log can hold: a file may have a name that is none.

    Raises:
        BadInput: it is not UTF-8.
    """
    try:
        "".join(given or ()).encode()
    except UnicodeEncodeError as error:
        raise BadInput("not UTF-8", place=parameter.opts[0]) from error
    return given


PrincipalOption: TypeAlias = Annotated[
    str, typer.Option("--principal", metavar="ID", help="On whose behalf it acts.", callback=text)
]
TenantOption: TypeAlias = Annotated[
    str, typer.Option("--tenant", metavar="ID", help="Whose data it may see.", callback=text)
]

LogOption: TypeAlias = Annotated[Path, typer.Option("--log", envvar="REDRIVE_LOG", metavar="PATH", help="The log.")]
DurabilityOption: TypeAlias = Annotated[
    Durability,
    typer.Option("--durability", help="Until when a loss of power can take an event that was written."),
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, for a program to read.")]
MarkdownOption: TypeAlias = Annotated[bool, typer.Option("--markdown", help="Print Markdown, for a pull request.")]
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


def one_form(*, as_json: bool, markdown: bool) -> None:
    """What is printed is for a program or for a pull request.

    Raises:
        BadInput: it is to be both.
    """
    if as_json and markdown:
        raise BadInput("give --json or --markdown, not both")
