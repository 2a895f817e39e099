"""What a replay found, explained: which parts changed, where recording and replay part, and in what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from rich.text import Text

from redrive.moments import line
from redrive.terminal import Cell, columns, counted
from redrive_events import Event, Json, Record, canonical, kind_of
from redrive_projections import Moment, one_line, timeline
from redrive_replays import ABSENT, Difference, Divergence, Outcome, Report

COLOURS: dict[Outcome, str] = {
    "same": "green",
    "same, unfinished": "green",
    "diverged": "red",
    "left over": "red",
    "cannot replay": "yellow",
}
DIFFERENCES_MAX = 8
VALUE_CHARS_MAX = 200
PAIR_CHARS_MAX = 80
LATER_MAX = 8


def headline(report: Report) -> Text:
    """The run and its outcome in one line, with what there is to say of it."""
    text = Text.assemble(report.run_id, "  ", (report.outcome, COLOURS[report.outcome]))
    text.append("".join(f" · {note}" for note in _notes(report)), style="dim")
    return text


def explained(report: Report, records: Sequence[Record]) -> Iterator[Cell]:
    """A whole report: first the parts of the program whose digests differ, then the first place where it parts."""
    if report.changed_parts:
        yield Text.assemble(("changed parts  ", "bold"), ", ".join(report.changed_parts))
    yield headline(report)
    if report.divergences:
        yield ""
        yield from _place(report.divergences[0], records)
        later = report.divergences[1:]
        if later:
            yield ""
            yield f"and {counted(len(later), 'later place')}, each seen from the recorded state before it"
            yield from columns([_later(one) for one in later[:LATER_MAX]])
        if len(later) > LATER_MAX:
            yield f"… and {len(later) - LATER_MAX} more"


def _later(found: Divergence) -> tuple[Cell, Cell]:
    """One place in one line: the first value that differs, or the event on each side."""
    if found.differences:
        first = found.differences[0]
        return str(found.position), f"{first.pointer} {_value(first.recorded)} → {_value(first.replayed)}"
    sides = (kind_of(side) if side else "nothing" for side in (found.recorded, found.replayed))
    return str(found.position), " → ".join(sides)


def _notes(report: Report) -> Iterator[str]:
    if report.reason:
        yield one_line(report.reason)
        return
    yield counted(report.records, "event")
    if report.divergences:
        yield f"{counted(len(report.divergences), 'place')}, first at {report.divergences[0].position}"
    if report.explained_otherwise:
        yield f"{counted(report.explained_otherwise, 'verdict')} explained otherwise"
    if report.open:
        yield "open: " + ", ".join(f"{name} at {position}" for position, name in report.open)


def _place(found: Divergence, records: Sequence[Record]) -> Iterator[Cell]:
    """Input, recorded and replayed event one below the other, then each value that differs."""
    rows: list[tuple[Cell, Cell]] = []
    if found.input != found.position and found.input <= len(records):
        rows.append((Text("input", style="dim"), line(_moment(records[: found.input]))))
    for side, event in (("recorded", found.recorded), ("replayed", found.replayed)):
        told = "nothing" if event is None else line(_moment(_with(records, found.position, event)))
        rows.append((Text(side, style="dim"), told))
    yield Text.assemble((f"first at {found.position}", "bold"), f": {found.why}")
    yield from columns(rows)
    differences = found.differences[:DIFFERENCES_MAX]
    if differences:
        yield ""
        yield from columns([row for one in differences for row in _values(one)])
    if len(found.differences) > DIFFERENCES_MAX:
        yield f"… and {len(found.differences) - DIFFERENCES_MAX} more values"


def _with(records: Sequence[Record], position: int, event: Event) -> list[Record]:
    """The records before a position, then ``event`` in its place."""
    before = list(records[: position - 1])
    last = records[min(position, len(records)) - 1]
    return [*before, msgspec.structs.replace(last, position=position, event=event)]


def _moment(records: Sequence[Record]) -> Moment:
    *_, last = timeline(records)
    return last


def _values(one: Difference) -> Iterator[tuple[Cell, Cell]]:
    """A value that differs: on one line if there is room, else one side below the other."""
    recorded, replayed = _value(one.recorded), _value(one.replayed)
    if len(recorded) + len(replayed) < PAIR_CHARS_MAX:
        yield one.pointer, f"{recorded} → {replayed}"
    else:
        yield one.pointer, f"recorded {recorded}"
        yield "", f"replayed {replayed}"


def _value(value: Json) -> str:
    return "(absent)" if value is ABSENT else one_line(canonical(value).decode(), VALUE_CHARS_MAX)
