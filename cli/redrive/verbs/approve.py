"""Allow a call that waits for an approval, as it is or with other arguments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from redrive.approving import ByOption, CallArgument, DigestOption, Given, ReasonOption, RunArgument, answered
from redrive.options import LOG, JsonOption, LogOption
from redrive_events import BadInput, Json, parse_json
from redrive_projections import one_line


def approve(
    run: RunArgument,
    call: CallArgument,
    edit: Annotated[
        str | None,
        typer.Option("--edit", metavar="JSON|@FILE", help="Allow it with these arguments, all of them, instead."),
    ] = None,
    reason: ReasonOption = "",
    by: ByOption = "operator",
    digest: DigestOption = "",
    log: LogOption = LOG,
    as_json: JsonOption = False,
) -> int:
    """Allow a call that waits for an approval; whoever drives the run, now or later, goes on with it.

    The answer is good for what `redrive approvals` shows of this call, and for nothing else; with --digest it is
    refused if that is not what you saw. Other arguments are judged by all rules, as the model's own were.

    Exit codes: 0 answered, 2 there is nothing to answer.
    """
    given = Given("grant", by, reason, digest)
    if edit is not None:
        given = given._replace(answer="edit", arguments=_arguments(edit))
    return answered(run, call, given, log=log, as_json=as_json)


def _arguments(written: str) -> Json:
    """Arguments as JSON, or those in the file behind an ``@``."""
    place = "--edit"
    if written.startswith("@"):
        place = written.removeprefix("@") or "."
        try:
            written = Path(place).read_text(encoding="utf-8")
        except OSError as error:
            raise BadInput((error.strerror or "cannot be read").lower(), place=place) from error
        except UnicodeDecodeError as error:
            raise BadInput("not UTF-8", place=place) from error
    try:
        arguments = parse_json(written)
        json.loads(written, object_pairs_hook=_named_once)
    except BadInput as error:
        raise BadInput(error.problem, place=place) from error
    return arguments


def _named_once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """An object with each name once: of two values a person sees one, and the other would be used.

    Raises:
        BadInput: a name comes twice.
    """
    found: dict[str, Json] = {}
    for name, value in pairs:
        if name in found:
            raise BadInput(f"{one_line(name)!r} comes twice")
        found[name] = value
    return found
