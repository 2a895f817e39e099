"""Find the input by which a good run becomes a bad one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.text import Text

from redrive.chosen import Choice
from redrive.driving import program_of
from redrive.fitting import Rows
from redrive.moments import line
from redrive.options import LOG, AgentOption, JsonOption, LogOption, RunArgument
from redrive.showing import showing
from redrive.terminal import Cell, counted, say, say_json
from redrive_events import BadInput, Record, canonical
from redrive_projections import fold, status, timeline
from redrive_replays import Turned, bisected


def bisect(
    good: RunArgument,
    bad: RunArgument,
    bad_if: Annotated[
        str | None,
        typer.Option(
            "--bad-if",
            metavar="EXPR|FILE::TEST",
            help="When a run is bad; else when it ends as the bad one did.",
        ),
    ] = None,
    agent: AgentOption = None,
    log: LogOption = LOG,
    as_json: JsonOption = False,
) -> int:
    """Find the first input whose replacement turns a good run into a bad one, driven both ways to be sure.

    One after the other, from the first on, the inputs of GOOD are exchanged for those of BAD in the same place: the
    reply of the same turn, the answer to the same call of it.

    Exit codes: 0 found, 2 nothing to be found, 3 one of them cannot be driven again.
    """
    with Choice(log) as choice:
        ours, theirs = (choice.one(name).recording() for name in (good, bad))
    program = program_of(ours, agent)
    end = _end(theirs.records)
    if bad_if is None and _end(ours.records) == end:
        raise BadInput("both runs end alike, with the same facts; --bad-if says when one is bad")
    is_bad = showing(bad_if, "--bad-if") if bad_if else lambda records: _end(records) == end
    found = bisected(ours.records, theirs.records, program, is_bad)
    if as_json:
        say_json({"turn": found.place.turn, "kind": found.place.kind, "tried": found.tried, **_positions(found)})
        return 0
    say(f"turn {found.place.turn}: {found.place.kind.replace('_', ' ')}, found in {counted(found.tried, 'replay')}", "")
    rows: list[tuple[Cell, Cell]] = [
        (Text("good", style="green"), _line(found.good, ours.records)),
        (Text("bad", style="red"), _line(found.bad, theirs.records)),
    ]
    say(Rows(rows), fold=True)
    return 0


def _positions(found: Turned) -> dict[str, int | None]:
    sides = {"good": found.good, "bad": found.bad}
    return {side: None if one is None else one.position for side, one in sides.items()}


def _end(records: Sequence[Record]) -> tuple[str, bytes]:
    """How a run ended, and what was known then."""
    state = fold(records)
    return status(state), canonical({key: fact.value for key, fact in state.facts.items()})


def _line(record: Record | None, records: Sequence[Record]) -> Cell:
    if record is None:
        return "nothing"
    *_, last = timeline(records[: record.position])
    return line(last)
