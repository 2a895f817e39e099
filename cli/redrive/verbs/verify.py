"""Check that every stored event is the one that was written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from redrive.chosen import Choice
from redrive.options import LOG, JsonOption, LogOption, RunsArgument
from redrive.signatures import checker
from redrive.terminal import columns, counted, say, say_json, watched
from redrive_events import BadInput, Damage, EventLog, Head, Heads, against, damage_of
from redrive_projections import one_line


def verify(
    runs: RunsArgument = None,
    heads: Annotated[
        Path | None, typer.Option("--against", metavar="HEADS", help="A list that `redrive heads` wrote earlier.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option("--key", metavar="KEY", help="The public key in PEM that must have signed the list.")
    ] = None,
    log: LogOption = LOG,
    as_json: JsonOption = False,
) -> int:
    """Check that every stored event is the one that was written, in all runs or in those that are named.

    What was remarked on a run is checked with it. What is not there at all any more is found against a list of heads
    that is kept elsewhere. Exit codes: 0 all is sound, 1 something is not.
    """
    if key is not None and heads is None:
        raise BadInput("--key is for the list that --against names")
    known = Heads(heads, check=checker(key) if key is not None else None) if heads is not None else None
    names, records, found = set[str](), 0, list[Damage]()
    with Choice(log) as choice:
        for stream_log, head in watched(_streams(runs or (), choice), "verifying"):
            damage = damage_of(stream_log, head)
            names.add(head.run_id)
            records += head.position
            found += [damage] if damage else []
            if runs and known is not None:
                found += against(stream_log, known, only={head.run_id})
        if not runs:
            found += choice.log.flaws()
            found += against(choice.log, known) if known is not None else ()
    if as_json:
        damaged = [damage._asdict() for damage in found]
        say_json({"streams": len(names), "records": records, "damaged": damaged})
        return 1 if found else 0
    say(*columns([one.run_id or "the log", _place(one), one.kind, one_line(one.problem)] for one in found))
    sound = f"{counted(records, 'event')} of {counted(len(names), 'stream')}"
    say(f"{sound}: {len(found)} damaged" if found else f"{sound}: each is as it was written")
    return 1 if found else 0


def _place(damage: Damage) -> str:
    return f"position {damage.position}" if damage.position else ""


def _streams(names: Sequence[str], choice: Choice) -> Iterator[tuple[EventLog, Head]]:
    """The streams to be checked: those of the named runs and the remarks on them, else all."""
    if not names:
        yield from ((choice.log, head) for head in choice.log.runs())
    for name in names:
        for one in choice.named(name):
            yield from ((one.log, head) for head in one.streams())
