"""Why a trajectory is not the one of its snapshot: where it parts first, in what, why, and what that follows from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from redrive_events import INPUTS, LeaseGranted, Record, canonical
from redrive_replays.causes import INPUTS as CAUSED_BY
from redrive_replays.causes import chain_of
from redrive_replays.difference import ABSENT, Difference, differences, is_digest
from redrive_replays.report import Divergence
from redrive_replays.testing.matching import COMPARES, unfit
from redrive_replays.testing.references import References
from redrive_replays.testing.shortening import short
from redrive_replays.testing.snapshots import calls_of_snapshot, lines_of_snapshot
from redrive_replays.testing.telling import lines_of
from redrive_replays.testing.trajectory import Told, Trajectory

VALUE_CHARS_MAX: Final = 100
DIFFERENCES_MAX: Final = 6
CHANGES_MAX: Final = 3
BEHIND_MAX: Final = 3
# What came from outside and may be why; that somebody drove the run is always so.
BEHIND: Final = frozenset(INPUTS) - {LeaseGranted}
FINDINGS_MAX: Final = 8


def explained(trajectory: Trajectory, snapshot: str, *, held: str = "snapshot") -> list[str]:
    """The failure in a few lines, the most telling first.

    ``snapshot`` is what was kept, in whichever form, or another trajectory; ``held`` says which.
    """
    if trajectory.match.mode != "strict":
        return list(_unfit(trajectory, snapshot, held))
    received, kept = list(trajectory.told()), lines_of_snapshot(snapshot)
    first = _first_difference([one.text for one in received], kept)
    told = received[first] if first < len(received) else Told(trajectory, None, "nothing")
    was = kept[first] if first < len(kept) else "nothing"
    return list(_of_replay(told) if _parts_there(told) else _of_line(told, was, held))


def _first_difference(left: Sequence[str], right: Sequence[str]) -> int:
    pairs = enumerate(zip_longest(left, right))
    return next((index for index, (one, other) in pairs if one != other), max(len(left), len(right)))


def _parts_there(told: Told) -> bool:
    """Whether it is here that what is told of the replay first parts from what is told of the recording."""
    run = told.trajectory
    if run.report is None or run.report.same:
        return False
    recorded = [one.text for one in lines_of(run.recorded, run.level, run.match)]
    replayed = [one.text for one in run.lines()]
    first = _first_difference(replayed, recorded)
    return first == len(replayed) if told.line is None else replayed[first : first + 1] == [told.line.text]


def _unfit(trajectory: Trajectory, snapshot: str, held: str) -> Iterator[str]:
    """What a mode misses, and what it did not look at."""
    mode, received = trajectory.match.mode, calls_of_snapshot(trajectory.text)
    yield f"{trajectory!r} does not have the calls of the {held}"
    wanted = calls_of_snapshot(snapshot)
    findings = unfit(mode, received, wanted) or [
        f"{place}. call is {one or 'none'}, wanted is {other or 'none'}"
        for place, (one, other) in enumerate(zip_longest(received, wanted), start=1)
        if one != other
    ]
    yield from (one.replace("not in the snapshot", f"not in the {held}") for one in findings[:FINDINGS_MAX])
    yield f"compared ({mode}): {COMPARES[mode].replace('snapshot', held)}"
    yield f"ignored: {trajectory.match.ignored()}"


def _of_replay(told: Told) -> Iterator[str]:
    """The place where the replay parts from its recording, as far as that is told: what is earlier is told no more."""
    run, report = told.trajectory, told.trajectory.report
    assert report is not None
    assert report.divergences
    places = {one.position: one for one in report.divergences}
    earliest = report.divergences[0]
    found = places.get(told.line.position, earliest) if told.line else earliest
    names = References(run.recorded)
    parts = f" (changed parts: {', '.join(report.changed_parts)})" if report.changed_parts else ""
    yield f"first difference at {names.at(found.position)}, cause: {found.cause}{parts}"
    yield from _changes(run)
    yield from _sides(run, found)
    yield from _values([one for one in found.differences if not is_digest(one.pointer)] or found.differences)
    yield from _behind(run.recorded, found.input, names)
    if found is not earliest:
        place = names.at(earliest.position)
        yield f"before that, and not told at level {run.level}: {place}, cause: {earliest.cause}"
    if len(report.divergences) > 1:
        yield "what comes later rests on recorded answers to what was asked otherwise"


def _changes(run: Trajectory) -> Iterator[str]:
    """What is another in the contract, and in the parts of the program that are data: rules, prompts, tools."""
    if not run.recorded or not run.records:
        return
    found = [(_of_program(one.pointer), one) for one in differences(run.recorded[0].event, run.records[0].event)]
    changes = [f"{place}  {_value(one.recorded)} → {_value(one.replayed)}" for place, one in found if place]
    yield from (f"changed  {one}" for one in changes[:CHANGES_MAX])
    if len(changes) > CHANGES_MAX:
        yield f"changed  … and {len(changes) - CHANGES_MAX} more"


def _of_program(pointer: str) -> str:
    """Where in the program it stands; empty if it is no content of it."""
    steps = pointer.split("/")[1:]
    if steps[0] == "contract":
        return "/".join(steps)
    is_data = steps[0] == "parts" and steps[2:3] == ["data"] and steps[-1] != "wording"
    return "/".join([steps[1], *steps[3:]]) if is_data else ""


def _sides(trajectory: Trajectory, found: Divergence) -> Iterator[str]:
    """The recorded event and the one in its place, each as a line of a snapshot."""
    for side, records, event in (
        ("recorded", trajectory.recorded, found.recorded),
        ("replayed", trajectory.records, found.replayed),
    ):
        lines = {one.position: one for one in lines_of(records, "steps", trajectory.match)}
        line = lines.get(found.position) if event is not None else None
        told = line.text if line else "nothing" if event is None else References(records).at(found.position)
        yield f"  {side}  {told}"


def _values(found: Sequence[Difference]) -> Iterator[str]:
    for one in found[:DIFFERENCES_MAX]:
        yield f"  {one.pointer}  {_value(one.recorded)} → {_value(one.replayed)}"
    if len(found) > DIFFERENCES_MAX:
        yield f"  … and {len(found) - DIFFERENCES_MAX} more values"


def _value(value: object) -> str:
    return "(absent)" if value is ABSENT else short(canonical(value).decode(), VALUE_CHARS_MAX)


def _behind(records: Sequence[Record], position: int, names: References) -> Iterator[str]:
    """What it follows from, back to what began it."""
    chain = [one for one in chain_of(records, position) if type(records[one - 1].event) in BEHIND]
    lines = {one.position: one for one in lines_of(records, "steps")}
    for word, place in zip(("follows from", *["and that from"] * BEHIND_MAX), chain[:BEHIND_MAX], strict=False):
        yield f"{word}  {lines[place].text if place in lines else names.at(place)}"


def _of_line(told: Told, kept: str, held: str) -> Iterator[str]:
    """The first line that is another one, where no replay tells why."""
    run, line, records = told.trajectory, told.line, told.trajectory.records
    cause = CAUSED_BY.get(type(records[line.position - 1].event)) if line else None
    yield f"first difference at {line.reference if line else 'the end'}, cause: " + (
        f"{cause}, it is another recording" if cause else "the program, or another recording"
    )
    yield f"  {held}  {kept.strip()}"
    yield f"  received  {told.text.strip()}"
    if line:
        yield from _behind(records, records[line.position - 1].cause, References(records))
    if run.report and not run.report.same:
        earlier = run.report.divergences[0]
        place = References(run.recorded).at(earlier.position)
        yield f"before that it parts from its recording at {place}, cause: {earlier.cause}, as the snapshot has it"
