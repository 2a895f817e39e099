"""The input by which a good run becomes a bad one: found by halving, and driven both ways to be sure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from redrive_engine import Program
from redrive_events import BadInput, LeaseGranted, Record, kind_of
from redrive_replays.beginning import beginning
from redrive_replays.redriving import Given, Place, inputs_of, redriven
from redrive_replays.shrinking import Shows


@dataclass(frozen=True, slots=True)
class Turned:
    """The first input whose replacement turns the outcome; None where the other run has none in its place.

    ``records`` are those of the run in which it alone, on top of what is good before it, is the bad run's.
    """

    good: Record | None
    bad: Record | None
    place: Place
    records: tuple[Record, ...]
    tried: int


def bisected(good: Sequence[Record], bad: Sequence[Record], program: Program, is_bad: Shows) -> Turned:
    """The first input that turns ``good`` into a run that ``is_bad``.

    Inputs are exchanged one after the other, from the first on, each for what stands in the same place of the other
    run: the reply of the same turn, the answer to the call in the same place of it. Whichever run it is of, an input
    comes as long after the one before it as it did there. Two forks must go on from the same event of the same run.

    Raises:
        BadInput: the one inherits what the other does not, or they do not differ in any input; or the one run is bad,
            or the other is not, as they are driven again here.
        CannotReplay: one of them does not begin with the start of a run.
    """
    start, other = beginning(good), beginning(bad)
    if start.inherited != other.inherited:
        why = f"run {start.run_id} and run {other.run_id} do not go on from the same event of the same run"
        raise BadInput(f"{why}, so that they have no inputs in the same places")
    places = _places(good, bad)
    if all(one.is_same for one in places):
        raise BadInput("the two runs have the same inputs, so none of them turns it")
    tried = 0

    def driven(exchanged: int) -> list[Record]:
        nonlocal tried
        tried += 1
        given = [one.bad if index < exchanged else one.good for index, one in enumerate(places)]
        return redriven(program, start, _timed(start.first.at, (one for one in given if one is not None)))

    if is_bad(driven(0)):
        raise BadInput("the good run is bad, driven again", place=f"run {start.run_id}")
    if not is_bad(driven(len(places))):
        why = f"the bad run is not bad, driven again with its inputs from the start of run {start.run_id}"
        raise BadInput(why, place=f"run {other.run_id}")
    low, high = 0, len(places)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_bad(driven(middle)) else (middle, high)
    found, records = places[high - 1], driven(high)
    return Turned(_record(found.good), _record(found.bad), found.place, tuple(records), tried)


@dataclass(frozen=True, slots=True)
class _Pair:
    place: Place
    good: _Input | None
    bad: _Input | None

    @property
    def is_same(self) -> bool:
        """Whether the same happens here in both."""
        if self.good is None or self.bad is None:
            return False
        return self.good.given.record.event == self.bad.given.record.event


class _Input(NamedTuple):
    """An input, and how long after the one before it."""

    given: Given
    after: timedelta


def _timed(start: datetime, inputs: Iterable[_Input]) -> Iterator[Given]:
    """The inputs, each at its distance from the one before it."""
    at = start
    for one in inputs:
        at += one.after
        yield replace(one.given, record=msgspec.structs.replace(one.given.record, at=at))


def _places(good: Sequence[Record], bad: Sequence[Record]) -> list[_Pair]:
    """The places of both runs in order, those of the good one first in each turn."""
    left, right = _placed(good), _placed(bad)
    order = {place: index for index, place in enumerate([*left, *(one for one in right if one not in left)])}
    return [
        _Pair(place, left.get(place), right.get(place))
        for place in sorted(order, key=lambda place: (place.turn, order[place]))
    ]


def _placed(records: Sequence[Record]) -> Mapping[Place, _Input]:
    found: dict[Place, _Input] = {}
    begins = beginning(records)
    proposed = next((one.proposes for one in reversed(inputs_of(begins.inherited)) if one.proposes), ())
    before = begins.first.at
    for one in inputs_of(records):
        proposed = one.proposes or proposed
        nth = proposed.index(one.call) + 1 if one.call in proposed else 0
        place = Place(kind_of(one.record.event), one.turn, nth)
        while place in found:  # the same again, such as a second word of a person
            place = place._replace(nth=place.nth + 1_000)
        if not isinstance(one.record.event, LeaseGranted) or not found:
            found[place] = _Input(one, one.record.at - before)
            before = one.record.at
    return found


def _record(one: _Input | None) -> Record | None:
    return None if one is None else one.given.record
