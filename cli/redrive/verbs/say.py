"""Say something to a run, as the person it waits for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal

import typer

from redrive.chosen import Choice
from redrive.options import LOG, JsonOption, LogOption
from redrive.speaking import spoken, target
from redrive_engine import say as speak
from redrive_events import BadInput


def say(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run id, or the beginning of one.")],
    words: Annotated[str, typer.Argument(metavar="[WORDS]", show_default=False, help="What is said.")] = "",
    last: Annotated[bool, typer.Option("--last", help="It is the last word: the run may end.")] = False,
    as_whom: Annotated[
        Literal["user", "operator"] | None,
        typer.Option("--as", help="Who says it; whom the run waits for, else the user."),
    ] = None,
    log: LogOption = LOG,
    as_json: JsonOption = False,
) -> int:
    """Say something to a run that has not ended; whoever drives it, now or later, goes on with these words.

    Exit codes: 0 said, 2 the run has ended.
    """
    if not words and not last:
        raise BadInput("give the words, or --last", place="WORDS")
    with Choice(log) as choice:
        to = target(choice, run)
        actor = as_whom or to.awaited or "user"
        position = speak(to.log, to.run_id, words, at=datetime.now(UTC), last=last, actor=actor, mask=to.mask)
        return spoken(to, position, f"said as the {actor}", as_json=as_json)
