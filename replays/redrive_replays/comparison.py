"""Two runs side by side: aligned by what happened in them, where they part, and which partings are no consequence."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Final

import msgspec

from redrive_engine import RULES
from redrive_events import (
    ANSWERS,
    DRIVERS,
    INPUTS,
    Event,
    Json,
    ModelAsked,
    Record,
    RunForked,
    RunStarted,
    StopDecided,
    ToolCalled,
    canonical,
)
from redrive_projections import RunState, start_of
from redrive_replays.causes import INPUTS as CAUSED_BY
from redrive_replays.causes import Cause, cause_of, changes_of, with_model
from redrive_replays.difference import Difference, differences
from redrive_replays.replayer import changed_parts

# What an event holds of where and when it and others stand, and of which run it is: it says nothing of what happened.
PLACES: Final = frozenset(
    {"kept", "new", "evidence", "supersedes", "window", "state", "claims", "key", "nonce", "expires", "started"}
)


@dataclass(frozen=True, slots=True)
class Parting:
    """A stretch in which two runs differ: the first event of it on each side, None where a side has none there.

    ``independent`` says that it follows from no earlier parting: what was asked is the same in both.
    """

    ours: Record | None
    theirs: Record | None
    cause: Cause
    independent: bool
    differences: tuple[Difference, ...] = ()

    @property
    def forks(self) -> bool:
        """Whether one of the two begins here, as a fork."""
        return any(one is not None and type(one.event) is RunForked for one in (self.ours, self.theirs))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, the parts of their programs that differ, and where they part."""

    ours: str
    theirs: str
    changed_parts: tuple[str, ...]
    partings: tuple[Parting, ...] = field(default=())

    @property
    def same(self) -> bool:
        """Whether the same happened in both."""
        return not self.partings

    def data(self) -> dict[str, Json]:
        """The comparison as plain data, for ``--json``."""
        return {
            "runs": [self.ours, self.theirs],
            "same": self.same,
            "changed_parts": list(self.changed_parts),
            "partings": [_data(one) for one in self.partings],
        }


def _data(one: Parting) -> dict[str, Json]:
    sides = {"first": one.ours, "second": one.theirs}
    data: dict[str, Json] = {"cause": one.cause, "independent": one.independent}
    for side, record in sides.items():
        data[side] = record and {"position": record.position, "event": msgspec.to_builtins(record.event)}
    return data | {"pointers": [difference.pointer for difference in one.differences]}


def compared(ours: Sequence[Record], theirs: Sequence[Record]) -> Comparison:
    """Two runs, aligned; what workers note for themselves is left out."""
    changed = _changed(start_of(ours), start_of(theirs))
    asked = _requests(ours), _requests(theirs)
    stretches = list(_stretches(_happened(ours), _happened(theirs)))
    moved = _inputs(one for stretch, _ in stretches for one in stretch)
    moved &= _inputs(one for _, stretch in stretches for one in stretch)
    found: list[Parting] = []
    for stretch, other in stretches:
        found += list(_partings(stretch, other, changed, asked, moved, first=not found))
    return Comparison(_id(ours), _id(theirs), changed, tuple(found))


def _stretches(left: Sequence[Record], right: Sequence[Record]) -> Iterator[tuple[Sequence[Record], Sequence[Record]]]:
    """What is not the same in both, stretch by stretch, behind all that is the same from the beginning.

    A fork asks again what was open, so that by what is told alone its request would be the one that it inherits.
    """
    ours, theirs = list(map(_told, left)), list(map(_told, right))
    shared = next((at for at, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]), None)
    from_ = min(len(ours), len(theirs)) if shared is None else shared
    matcher = SequenceMatcher(None, ours[from_:], theirs[from_:], autojunk=False)
    for change, a, b, c, d in matcher.get_opcodes():
        if change != "equal":
            yield left[from_ + a : from_ + b], right[from_ + c : from_ + d]


def _changed(ours: RunStarted | None, theirs: RunStarted | None) -> tuple[str, ...]:
    """The parts of their programs that differ, and the model that they ask."""
    changed = changed_parts(_parts(ours), _parts(theirs))
    return changed if ours is None or theirs is None else with_model(changed, ours.contract, theirs.contract)


def _parts(started: RunStarted | None) -> dict[str, str]:
    return {name: part.digest for name, part in started.parts.items()} if started is not None else {}


def _id(records: Sequence[Record]) -> str:
    return records[-1].run_id if records else ""


def _happened(records: Sequence[Record]) -> list[Record]:
    return [one for one in records if type(one.event) not in DRIVERS]


def _told(record: Record) -> bytes:
    """What an event says, but for places; equal events of two runs are told alike."""
    return canonical(_without_places(record.event))


def _without_places(event: Event) -> dict[str, Json]:
    data: dict[str, Json] = msgspec.to_builtins(event)
    if isinstance(event, RunStarted):
        data.pop("environment", None)
    return {name: value for name, value in data.items() if name not in PLACES}


def _inputs(records: Iterable[Record]) -> set[bytes]:
    """What came from outside."""
    return {_told(one) for one in records if type(one.event) in INPUTS}


def _requests(records: Sequence[Record]) -> Mapping[int, str]:
    """What was asked at each position, as far as it does not hang on places."""
    asked: dict[int, str] = {}
    for record in records:
        if isinstance(record.event, ModelAsked):
            asked[record.position] = record.event.request
        elif isinstance(record.event, ToolCalled):
            asked[record.position] = record.event.digest
    return asked


def _partings(
    left: Sequence[Record],
    right: Sequence[Record],
    changed: Collection[str],
    asked: tuple[Mapping[int, str], Mapping[int, str]],
    moved: Collection[bytes],
    *,
    first: bool,
) -> Iterator[Parting]:
    """A stretch as one parting, and each further answer in it that another one was given to the same request."""
    ours, theirs = left[0] if left else None, right[0] if right else None
    found = _differences(ours, theirs)
    both = [one for one in (ours, theirs) if one is not None]
    if any(type(one.event) is RunForked for one in both):
        cause: Cause = _asked_for(changed)
    elif any(type(one.event) in INPUTS and _told(one) in moved for one in both):
        cause = "order"
    elif ours is not None and theirs is not None:
        cause = _cause(ours, theirs, found, changed)
    else:
        cause = _one_sided(both[0], left or right, changed)
    yield Parting(ours, theirs, cause, first, found)
    answers = {asked[0][one.cause]: one for one in left[1:] if type(one.event) in ANSWERS and one.cause in asked[0]}
    for other in right[1:]:
        same = answers.get(asked[1].get(other.cause, ""))
        if type(other.event) in ANSWERS and same is not None and _told(same) != _told(other):
            found = _differences(same, other)
            yield Parting(same, other, _cause(same, other, found, ()), True, found)


def _asked_for(changed: Collection[str]) -> Cause:
    """Why a fork goes another way: what it was asked for with, or only that somebody asked."""
    return next(iter(sorted(changes_of(changed, rules=RULES))), "environment")


def _differences(ours: Record | None, theirs: Record | None) -> tuple[Difference, ...]:
    if ours is None or theirs is None or type(ours.event) is not type(theirs.event):
        return ()
    each = differences(ours.event, theirs.event)
    return tuple(one for one in each if one.pointer.split("/")[1] not in PLACES)


def _cause(ours: Record, theirs: Record, found: Sequence[Difference], changed: Collection[str]) -> Cause:
    if isinstance(ours.event, RunStarted):
        names = {one.pointer.split("/")[2] for one in found if one.pointer.startswith("/parts/")}
        names |= {"model"} if "contract" in names else set()
        named = sorted(changes_of(names.intersection(changed), rules=RULES))
        return named[0] if named else "environment"
    if type(ours.event) in INPUTS and type(theirs.event) in INPUTS:
        return CAUSED_BY.get(type(theirs.event), "environment")
    changes = changes_of(changed, rules=RULES)
    return cause_of(ours.event, theirs.event, found, after=ours, state=RunState(), changed=changes)


def _one_sided(only: Record, stretch: Sequence[Record], changed: Collection[str]) -> Cause:
    """One run has something that the other has not: at its end it came further, elsewhere it is what it is."""
    if changed:
        return cause_of(None, only.event, (), after=only, state=RunState(), changed=changes_of(changed, rules=RULES))
    ends = any(isinstance(one.event, StopDecided) for one in stretch)
    return "recording short" if ends else CAUSED_BY.get(type(only.event), "left over")
