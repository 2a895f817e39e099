"""Lay two runs side by side, and say where and why they part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from redrive.chosen import Choice
from redrive.explained import only_digests_told, values
from redrive.fitting import Line, Rows
from redrive.marked_down import compared_as_markdown
from redrive.moments import line
from redrive.options import LOG, JsonOption, LogOption, MarkdownOption, RunArgument, one_form
from redrive.terminal import Cell, counted, say, say_json
from redrive_events import Record
from redrive_projections import timeline
from redrive_replays import Comparison, Parting, compared

PARTINGS_MAX = 12


def diff(
    first: RunArgument,
    second: RunArgument,
    markdown: MarkdownOption = False,
    log: LogOption = LOG,
    as_json: JsonOption = False,
) -> int:
    """Lay two runs side by side, and say where and why they part.

    They are aligned by what happened in them; times, positions and what workers note for themselves do not count.

    Exit codes: 0 the same happened in both, 1 they part.
    """
    one_form(as_json=as_json, markdown=markdown)
    with Choice(log) as choice:
        ours, theirs = (choice.one(name).recording().records for name in (first, second))
    comparison = compared(ours, theirs)
    if as_json:
        say_json(comparison.data())
    elif markdown:
        say(*compared_as_markdown(comparison, _told(comparison, ours, theirs)), whole=True)
    else:
        say(*_told(comparison, ours, theirs), fold=True)
    return 0 if comparison.same else 1


def _told(comparison: Comparison, ours: Sequence[Record], theirs: Sequence[Record]) -> Iterator[Line]:
    if comparison.changed_parts:
        yield Text.assemble(("changed parts  ", "bold"), ", ".join(comparison.changed_parts))
    if comparison.same:
        yield Text.assemble(f"{comparison.ours}  {comparison.theirs}  ", ("same", "green"))
        return
    follow = sum(not one.independent for one in comparison.partings)
    places = f" · in {counted(len(comparison.partings) - follow, 'place')}"
    more = f" · {follow:,} more may follow" if follow else ""
    yield Text.assemble(f"{comparison.ours}  {comparison.theirs}  ", ("part", "red"), (f"{places}{more}", "dim"))
    if comparison.only_digests:
        first = comparison.partings[0].ours
        yield only_digests_told(comparison.partings, first.position if first else 0)
        return
    for parting in comparison.partings[:PARTINGS_MAX]:
        yield ""
        begins = ": here the fork begins" if parting.forks else ""
        follows = "" if parting.independent else " (may follow)"
        yield Text.assemble((parting.cause, "bold"), begins, (follows, "dim"))
        rows = [(Text("first", style="dim"), _line(parting.ours, ours))]
        rows.append((Text("second", style="dim"), _line(parting.theirs, theirs)))
        side = theirs if parting.ours is None else ours
        rows += [(Text("behind", style="dim"), _line(one, side)) for one in _behind(parting, side)]
        yield Rows(rows)
        yield from values(parting.differences, ("first", "second"))
    if len(comparison.partings) > PARTINGS_MAX:
        yield f"… and {len(comparison.partings) - PARTINGS_MAX} more"


def _behind(parting: Parting, side: Sequence[Record]) -> Sequence[Record]:
    """What came in last before a place that stands for itself, in the run that has it."""
    inputs = [side[one.position - 1] for one in parting.chain if one.input]
    return inputs[:1] if parting.independent else ()


def _line(record: Record | None, records: Sequence[Record]) -> Cell:
    if record is None:
        return "nothing"
    *_, last = timeline(records[: record.position])
    return line(last)
