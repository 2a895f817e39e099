"""What a replay found, explained: which parts changed, where recording and replay part, and in what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec
from rich.text import Text

from redrive.fitting import Line, Rows
from redrive.moments import line
from redrive.terminal import Cell, counted
from redrive.worded import pieces
from redrive_events import Event, Json, Record, canonical, kind_of
from redrive_projections import Moment, one_line, timeline
from redrive_replays import ABSENT, Difference, Divergence, Outcome, Parting, Reach, Report, only_digests, word_diff

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
BEHIND_MAX = 3


def headline(report: Report) -> Text:
    """The run and its outcome in one line, with what there is to say of it."""
    text = Text.assemble(report.run_id, "  ", (report.outcome, COLOURS[report.outcome]))
    text.append("".join(f" · {note}" for note in _notes(report)), style="dim")
    return text


def explained(report: Report, records: Sequence[Record]) -> Iterator[Line]:
    """A whole report: first the parts of the program whose digests differ, then the first place where it parts."""
    if report.changed_parts:
        yield Text.assemble(("changed parts  ", "bold"), ", ".join(report.changed_parts))
    yield headline(report)
    if report.reaches:
        yield ""
        yield from reached(report.reaches)
    if report.divergences and all(map(_sealed, report.divergences)):
        yield only_digests_told(report.divergences, report.divergences[0].position)
    elif report.divergences:
        yield ""
        yield from _place(report.divergences[0], records)
        yield from _later(report.divergences[1:])


def reached(reaches: Sequence[Reach]) -> Iterator[Line]:
    """What the parts of a program asked of the outside: at which input, which part, about a call of which tool."""
    if reaches:
        yield Rows([("at", "part", "asked about", "asks for", "by"), *map(_reach, reaches)], headed=True)


def _reach(one: Reach) -> tuple[str, str, str, str, str]:
    return str(one.position), one.part, one.tool, one.outside, one_line(one.function)


def only_digests_told(found: Sequence[Divergence] | Sequence[Parting], first: int) -> Text:
    """That nothing differs but digests and versions, in how many places, the ``first`` at which, and why."""
    pointers = dict.fromkeys(each.pointer for one in found for each in one.differences)
    causes = dict.fromkeys(one.cause for one in found)
    where = f", in {counted(len(found), 'place')}, first at {first}: {', '.join(pointers)}; cause: "
    return Text.assemble(("only digests differ", "bold"), where, (", ".join(causes), "bold"))


def _later(later: Sequence[Divergence]) -> Iterator[Line]:
    """The other places, each with its own cause; those where nothing but a digest differs are one line of each kind."""
    if not later:
        return
    sealed = Counter((one.cause, one.differences[0].pointer, one.independent) for one in later if _sealed(one))
    others = [one for one in later if not _sealed(one)]
    yield ""
    yield f"and {counted(len(later), 'later place')}, each seen from the recorded state before it"
    rows = [
        (cause, f"{pointer} alone, in {counted(n, 'place')}", _follows(independent))
        for (cause, pointer, independent), n in sealed.items()
    ]
    yield Rows(rows)
    yield Rows(
        [(str(one.position), one.cause, _in_short(one), _follows(one.independent)) for one in others[:LATER_MAX]]
    )
    if len(others) > LATER_MAX:
        yield f"… and {len(others) - LATER_MAX} more"


def _sealed(found: Divergence) -> bool:
    return only_digests(found.differences)


def _follows(independent: bool) -> Text:
    return Text("" if independent else "(may follow)", style="dim")


def _in_short(found: Divergence) -> str:
    """One place in one line: the first value that differs, or the event on each side."""
    if found.differences:
        first = found.differences[0]
        return f"{first.pointer} {_value(first.recorded)} → {_value(first.replayed)}"
    sides = (kind_of(side) if side else "nothing" for side in (found.recorded, found.replayed))
    return " → ".join(sides)


def _notes(report: Report) -> Iterator[str]:
    if report.reason:
        yield one_line(report.reason)
        return
    yield counted(report.records, "event")
    if report.divergences:
        follow = sum(not one.independent for one in report.divergences)
        yield f"{counted(len(report.divergences) - follow, 'place')}, first at {report.divergences[0].position}"
        if follow:
            yield f"{follow:,} more may follow"
    if report.explained_otherwise:
        yield f"{counted(report.explained_otherwise, 'verdict')} explained otherwise"
    if report.open:
        yield "open: " + ", ".join(f"{name} at {position}" for position, name in report.open)


def _place(found: Divergence, records: Sequence[Record]) -> Iterator[Line]:
    """The inputs behind it, recorded and replayed event one below the other, then each value that differs."""
    rows: list[tuple[Cell, Cell]] = [
        (Text("behind" if index else "input", style="dim"), line(_moment(records[:position])))
        for index, position in enumerate(_inputs(found))
    ]
    for side, event in (("recorded", found.recorded), ("replayed", found.replayed)):
        told = "nothing" if event is None else line(_moment(_with(records, found.position, event)))
        rows.append((Text(side, style="dim"), told))
    yield Text.assemble((f"first at {found.position}", "bold"), f": {found.why}; cause: ", (found.cause, "bold"))
    yield Rows(rows)
    if found.differences:
        yield ""
        yield from values(found.differences)


def values(found: Sequence[Difference], sides: tuple[str, str] = ("recorded", "replayed")) -> Iterator[Line]:
    """Each value that differs, under its pointer; of many, the first ones. ``sides`` are what the two are called."""
    yield Rows([row for one in found[:DIFFERENCES_MAX] for row in _values(one, sides)])
    if len(found) > DIFFERENCES_MAX:
        yield f"… and {len(found) - DIFFERENCES_MAX} more values"


def _inputs(found: Divergence) -> Sequence[int]:
    """The inputs in the chain that leads to a place, the nearest first."""
    return [one.position for one in found.chain if one.input][:BEHIND_MAX]


def _with(records: Sequence[Record], position: int, event: Event) -> list[Record]:
    """The records before a position, then ``event`` in its place."""
    before = list(records[: position - 1])
    last = records[min(position, len(records)) - 1]
    return [*before, msgspec.structs.replace(last, position=position, event=event)]


def _moment(records: Sequence[Record]) -> Moment:
    *_, last = timeline(records)
    return last


def _values(one: Difference, sides: tuple[str, str]) -> Iterator[tuple[Cell, Cell]]:
    """A value that differs: on one line if there is room, else one side below the other."""
    if isinstance(one.recorded, str) and isinstance(one.replayed, str) and len(one.recorded) > PAIR_CHARS_MAX:
        yield one.pointer, pieces(word_diff(one.recorded, one.replayed))
        return
    recorded, replayed = _value(one.recorded), _value(one.replayed)
    if len(recorded) + len(replayed) < PAIR_CHARS_MAX:
        yield one.pointer, f"{recorded} → {replayed}"
    else:
        width = max(map(len, sides))
        yield one.pointer, f"{sides[0]:{width}} {recorded}"
        yield "", f"{sides[1]:{width}} {replayed}"


def _value(value: Json) -> str:
    return "(absent)" if value is ABSENT else one_line(canonical(value).decode(), VALUE_CHARS_MAX)
