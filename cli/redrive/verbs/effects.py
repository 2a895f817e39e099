"""List what runs did to the world, as far as it is known; let a person say what nobody else knows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.text import Text

from redrive.chosen import Choice, Chosen
from redrive.options import LOG, JsonOption, LogOption
from redrive.resolving import RESOLVE, Stated, resolved, stated
from redrive.terminal import Cell, columns, say, say_json, warn
from redrive_events import BadInput
from redrive_projections import Effect, called_as, one_line
from redrive_projections import effects as ledger
from redrive_projections.history import ask

# Only runs that did something to the world are folded.
_QUERY = "SELECT DISTINCT run_id, run FROM effects ORDER BY run"
_OUTCOMES = {"landed": "landed", "not_landed": "did not land"}


def effects(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN...]", help="Runs, or with --resolve: RUN CALL landed|not-landed."),
    ] = None,
    in_doubt: Annotated[bool, typer.Option("--in-doubt", help="Only those of which nobody knows.")] = False,
    resolve: Annotated[
        bool, typer.Option("--resolve", help="Say what became of one: RUN CALL landed|not-landed.")
    ] = False,
    content: Annotated[
        str | None, typer.Option("--content", metavar="TEXT|@FILE", help="What would have been observed.")
    ] = None,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="How that is known, for the record.")] = "",
    by: Annotated[str, typer.Option("--by", metavar="ID", help="Who says so.")] = "operator",
    log: LogOption = LOG,
    as_json: JsonOption = False,
) -> int:
    """List the writes of all runs, or of some, and what is known of each.

    An effect is planned, then confirmed, or in doubt; a doubt is reconciled by the authority or by a person; what was
    done may be compensated. What is open in a run that nobody drives is in doubt. The list reads the run, and what was
    learnt when it was over.

    With --resolve a person says that an effect in doubt landed, or did not. A run that waits for that goes on with it,
    with the content as the tool's result; of a run that is over it is a remark.

    Exit codes: 0 listed or said, 2 nobody is asked about that effect.
    """
    with Choice(log) as choice:
        if resolve:
            return resolved(choice, stated(runs or [], Stated(by, reason, content)), as_json=as_json)
        if content is not None or reason:
            raise BadInput(f"they go with {RESOLVE}", place="--content and --reason")
        found, problems = [], []
        for chosen in _chosen(choice, log, runs):
            recording = chosen.recording()
            problems += [recording.problem] if recording.problem else []
            held = chosen.log.holder(chosen.run_id.partition("/")[0]) is not None
            found += ledger(recording.records, chosen.remarks(), held=held)
        found = [one for one in found if not in_doubt or one.stage == "in doubt"]
        say_json([msgspec.to_builtins(one) for one in found]) if as_json else _tell(found, in_doubt=in_doubt)
    for problem in problems:
        warn(problem)
    return 1 if problems else 0


def _chosen(choice: Choice, log: Path, runs: list[str] | None) -> Iterator[Chosen]:
    if runs:
        for name in runs:
            yield from choice.named(name)
        return
    for run_id, _ in ask(choice.log, _QUERY, path=log).rows:
        yield choice.one(run_id)


def _tell(found: list[Effect], *, in_doubt: bool) -> None:
    if not found:
        say("no effect is in doubt" if in_doubt else "no effects")
        return
    say(*columns(_row(one) for one in found))
    if any(one.stage == "in doubt" for one in found):
        say("", f"redrive effects {RESOLVE} says what became of one")


def _row(effect: Effect) -> tuple[Cell, ...]:
    style = {"in doubt": "bold red", "confirmed": "green", "reconciled": "green"}.get(effect.stage, "")
    call = f"call {effect.call}" + (f", undoes {effect.compensates}" if effect.compensates else "")
    known = ", ".join(_known(effect))
    return (
        effect.run_id,
        call,
        Text(effect.stage, style=style),
        one_line(known),
        called_as(effect.tool, effect.arguments),
    )


def _known(effect: Effect) -> Iterator[str]:
    if effect.stage == "in doubt":
        yield effect.why
    if effect.stage == "reconciled":
        yield _OUTCOMES.get(effect.outcome, effect.outcome)
        yield f"says {effect.by}" + (f": {effect.reason}" if effect.reason else "")
    if effect.compensated_by:
        yield f"by call {effect.compensated_by}"
    if effect.attempts > 1:
        yield f"attempt {effect.attempts}"
