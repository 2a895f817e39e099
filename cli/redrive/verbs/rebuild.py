"""Make what is computed from the log anew, or check that it comes to what was recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from redrive.chosen import Choice, Chosen
from redrive.options import LOG, JsonOption, LogOption, RunsArgument
from redrive.terminal import columns, counted, say, say_json, watched
from redrive_events import BadInput, Json, examined
from redrive_projections import Parting, one_line, partings


def rebuild(
    runs: RunsArgument = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; fold every event again and compare the digests.")
    ] = False,
    log: LogOption = LOG,
    as_json: JsonOption = False,
) -> int:
    """Make the tables for SQL anew, or with --check fold runs again and name the first event where they part.

    Events hold digests: of the state they were derived from, of a request as the model was given it, of a call. With
    --check each is computed again from the events before it, in all runs or in those that are named. Exit codes: 0
    each is the one that was recorded, 1 one is not.
    """
    if runs and not check:
        raise BadInput("the tables are made anew as a whole; runs are named with --check")
    with Choice(log) as choice:
        if check:
            return _checked(list(choice.all()) if not runs else _named(choice, runs), as_json=as_json)
        return _made_anew(choice, as_json=as_json)


def _checked(chosen: Sequence[Chosen], *, as_json: bool) -> int:
    found: list[tuple[str, Parting]] = []
    for one in watched(chosen, "rebuilding", total=len(chosen)):
        run = (record for _, record in examined(one.run_id, one.log.lines(one.run_id), head=one.head))
        if (parting := next(partings(run), None)) is not None:
            found.append((one.run_id, parting))
    records = sum(one.head.position for one in chosen)
    if as_json:
        parted = [{"run_id": run_id, **parting._asdict()} for run_id, parting in found]
        say_json({"runs": len(chosen), "records": records, "parted": parted})
        return 1 if found else 0
    say(*columns([run_id, f"position {one.position}", one.kind, one_line(one.problem)] for run_id, one in found))
    rebuilt = f"{counted(records, 'event')} of {counted(len(chosen), 'run')}"
    say(
        f"{rebuilt}: {len(found)} parted from what was recorded"
        if found
        else f"{rebuilt}: each digest is the recorded one"
    )
    return 1 if found else 0


def _made_anew(choice: Choice, *, as_json: bool) -> int:
    from redrive_projections.history import rebuild as make_anew

    file = make_anew(choice.log, choice.path)
    heads = list(choice.all())
    told: dict[str, Json] = {"runs": len(heads), "file": str(file)}
    if as_json:
        say_json(told)
    else:
        say(f"{counted(len(heads), 'run')}: {one_line(str(file))} is made anew")
    return 0


def _named(choice: Choice, names: Sequence[str]) -> list[Chosen]:
    return [one for name in names for one in choice.named(name)]
