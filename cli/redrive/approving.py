"""What the verbs that answer about a call share: their options, the answer, and what is told of it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, TypeAlias

import typer

from redrive.chosen import Choice
from redrive.speaking import spoken, target
from redrive_engine import approve
from redrive_events import Json

RunArgument: TypeAlias = Annotated[str, typer.Argument(metavar="RUN", help="A run id, or the beginning of one.")]
CallArgument: TypeAlias = Annotated[int, typer.Argument(metavar="CALL", min=1, help="The number of the call.")]
ReasonOption: TypeAlias = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for the record.")]
ByOption: TypeAlias = Annotated[str, typer.Option("--by", metavar="ID", help="Who answers.")]
DigestOption: TypeAlias = Annotated[
    str, typer.Option("--digest", metavar="HEX", help="Of what you saw: at least the first 8 digits.")
]

_SAID = {"grant": "allowed", "refuse": "denied", "edit": "allowed with other arguments"}


class Given(NamedTuple):
    """What a person answers, and who they are."""

    answer: Literal["grant", "refuse", "edit"]
    by: str
    reason: str = ""
    digest: str = ""
    arguments: Json = None


def answered(run: str, call: int, given: Given, *, log: Path, as_json: bool) -> int:
    """Append the answer, and tell of it; the exit code."""
    with Choice(log) as choice:
        to = target(choice, run)
        position = approve(to.log, to.run_id, call, at=datetime.now(UTC), mask=to.mask, **given._asdict())
        return spoken(to, position, f"call {call} {_SAID[given.answer]} by {given.by}", as_json=as_json)
