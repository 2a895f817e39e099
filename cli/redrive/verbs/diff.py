"""Lay two runs side by side, and say where and why they part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from redrive.chosen import Choice
from redrive.explained import values
from redrive.fitting import Line, Rows
from redrive.moments import line
from redrive.options import LOG, JsonOption, LogOption, RunArgument
from redrive.terminal import Cell, counted, say, say_json
from redrive_events import Record
from redrive_projections import timeline
from redrive_replays import Comparison, compared

PARTINGS_MAX = 12


def diff(first: RunArgument, second: RunArgument, log: LogOption = LOG, as_json: JsonOption = False) -> int:
    """Lay two runs side by side, and say where and why they part.

    They are aligned by what happened in them; times, positions and what workers note for themselves do not count.

    Exit codes: 0 the same happened in both, 1 they part.
    """
    with Choice(log) as choice:
        ours, theirs = (choice.one(name).recording().records for name in (first, second))
    comparison = compared(ours, theirs)
    if as_json:
        say_json(comparison.data())
    else:
        say(*_told(comparison, ours, theirs), fold=True)
    return 0 if comparison.same else 1


def _told(comparison: Comparison, ours: Sequence[Record], theirs: Sequence[Record]) -> Iterator[Line]:
    if comparison.changed_parts:
        yield Text.assemble(("changed parts  ", "bold"), ", ".join(comparison.changed_parts))
    if comparison.same:
        yield Text.assemble(f"{comparison.ours}  {comparison.theirs}  ", ("same", "green"))
        return
    places = counted(len(comparison.partings), "place")
    yield Text.assemble(f"{comparison.ours}  {comparison.theirs}  ", ("part", "red"), (f" · in {places}", "dim"))
    for parting in comparison.partings[:PARTINGS_MAX]:
        yield ""
        begins = ": here the fork begins" if parting.forks else ""
        follows = "" if parting.independent else " (may follow)"
        yield Text.assemble((parting.cause, "bold"), begins, (follows, "dim"))
        rows = [(Text("first", style="dim"), _line(parting.ours, ours))]
        rows.append((Text("second", style="dim"), _line(parting.theirs, theirs)))
        yield Rows(rows)
        yield from values(parting.differences, ("first", "second"))
    if len(comparison.partings) > PARTINGS_MAX:
        yield f"… and {len(comparison.partings) - PARTINGS_MAX} more"


def _line(record: Record | None, records: Sequence[Record]) -> Cell:
    if record is None:
        return "nothing"
    *_, last = timeline(records[: record.position])
    return line(last)
