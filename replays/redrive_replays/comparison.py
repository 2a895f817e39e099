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
    ModelFailed,
    ModelReplied,
    Record,
    RunEnded,
    RunForked,
    RunStarted,
    StopDecided,
    ToolCalled,
    canonical,
)
from redrive_projections import RunState, start_of
from redrive_replays.causes import INPUTS as CAUSED_BY
from redrive_replays.causes import Cause, cause_of, chain_of, changes_of, with_model
from redrive_replays.consequences import links
from redrive_replays.difference import ABSENT, Difference, differences
from redrive_replays.replayer import changed_parts
from redrive_replays.report import Link, only_digests

# What an event holds of where and when it and others stand, and of which run it is: it says nothing of what happened.
PLACES: Final = frozenset(
    {"kept", "new", "evidence", "supersedes", "window", "state", "claims", "key", "nonce", "expires", "started"}
)


_BEGINNINGS: Final = frozenset({RunStarted, RunForked})


@dataclass(frozen=True, slots=True)
class Parting:
    """A stretch in which two runs differ: the first event of it on each side, None where a side has none there.

    Or what came from outside later in such a stretch, and is not the same. ``independent`` says that it follows from no
    earlier parting: what was asked is the same in both. ``chain`` is what leads to it, the nearest first: in the first
    run, or in the second where only that has it.
    """

    ours: Record | None
    theirs: Record | None
    cause: Cause
    independent: bool
    differences: tuple[Difference, ...] = ()
    chain: tuple[Link, ...] = ()

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

    @property
    def only_digests(self) -> bool:
        """Whether they part in nothing but digests and versions."""
        return bool(self.partings) and all(only_digests(one.differences) for one in self.partings)

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
    data["differences"] = [_difference(each) for each in one.differences]
    return data | {"chain": [link._asdict() for link in one.chain]}


def _difference(one: Difference) -> dict[str, Json]:
    values = {"first": one.recorded, "second": one.replayed}
    return {"pointer": one.pointer} | {side: value for side, value in values.items() if value is not ABSENT}


def compared(ours: Sequence[Record], theirs: Sequence[Record]) -> Comparison:
    """Two runs, aligned; what workers note for themselves is left out."""
    stretches = list(_stretches(_happened(ours), _happened(theirs)))
    moved = _inputs(one for stretch, _ in stretches for one in stretch)
    moved &= _inputs(one for _, stretch in stretches for one in stretch)
    sides = _Sides(ours, theirs, moved)
    for stretch, other in stretches:
        sides.part(stretch, other)
    return Comparison(_id(ours), _id(theirs), sides.changed, tuple(sides.found))


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


class _Sides:
    """Two runs, and where they were found to part so far; ``moved`` is what came in both, at another place."""

    def __init__(self, ours: Sequence[Record], theirs: Sequence[Record], moved: Collection[bytes]) -> None:
        begun = start_of(ours), start_of(theirs)
        self.ours, self.theirs, self.moved = ours, theirs, moved
        self.changed = _changed(*begun)
        self.asked = _requests(ours), _requests(theirs)
        alike = begun[0] is None or begun[1] is None or begun[0].rules == begun[1].rules
        self.changes = changes_of(self.changed, rules=RULES if alike else -1)
        self.found: list[Parting] = []

    def part(self, left: Sequence[Record], right: Sequence[Record]) -> None:
        """A stretch as one parting, and each further input in it that is another one on either side."""
        pairs = list(self._pairs(left, right))
        one = left[0] if left else None, right[0] if right else None
        if not any(first is not None and self._has_moved(first) for first in one):
            one = next((pair for pair in pairs if pair[0] is one[0]), one)
        self._found(*one, left, right)
        for pair in pairs:
            if not {*map(id, pair)} & {*map(id, one)} and _told(pair[0]) != _told(pair[1]):
                self._found(*pair, left, right)

    def _pairs(self, left: Sequence[Record], right: Sequence[Record]) -> Iterator[tuple[Record, Record]]:
        """What came from outside in both: the answers to the same request, and else one after the other of a kind."""
        rest, found = [one for one in right if self._is_paired(one)], list[tuple[Record, Record]]()
        mine = [one for one in left if self._is_paired(one)]
        for alike in (self._asks_the_same, _of_a_kind):
            for one in list(mine):
                other = next((each for each in rest if alike(one, each)), None)
                if other is not None:
                    found.append((one, other))
                    mine.remove(one)
                    rest.remove(other)
        yield from sorted(found, key=lambda pair: pair[0].position)

    def _is_paired(self, one: Record) -> bool:
        return type(one.event) in INPUTS and type(one.event) not in _BEGINNINGS

    def _has_moved(self, one: Record) -> bool:
        return type(one.event) in INPUTS and _told(one) in self.moved

    def _asks_the_same(self, one: Record, other: Record) -> bool:
        """Whether both answer the same request, as far as it does not hang on places."""
        asked = self.asked[0].get(one.cause)
        return type(one.event) in ANSWERS and asked is not None and asked == self.asked[1].get(other.cause)

    def _found(
        self, ours: Record | None, theirs: Record | None, left: Sequence[Record], right: Sequence[Record]
    ) -> None:
        same = ours is not None and theirs is not None and self._asks_the_same(ours, theirs)
        independent, found = not self.found or same, _differences(ours, theirs)
        side, first = (self.ours, ours) if ours is not None else (self.theirs, theirs)
        chain = links(chain_of(side, first.cause), side) if first is not None else ()
        behind = None if independent else self._behind(chain, ours=ours is not None)
        cause = self._cause(ours, theirs, found, behind=behind, stretch=left or right)
        self.found.append(Parting(ours, theirs, cause, independent, found, chain))

    def _behind(self, chain: Sequence[Link], *, ours: bool) -> Cause:
        """The cause of the place from which another follows: the nearest in its chain, or the last for itself."""
        parted = {
            record.position: one.cause for one in self.found if (record := one.ours if ours else one.theirs) is not None
        }
        near = next((parted[one.position] for one in chain if one.position in parted), None)
        return near or [one.cause for one in self.found if one.independent][-1]

    def _cause(
        self,
        ours: Record | None,
        theirs: Record | None,
        found: Sequence[Difference],
        *,
        behind: Cause | None,
        stretch: Sequence[Record],
    ) -> Cause:
        both = [one for one in (ours, theirs) if one is not None]
        if any(type(one.event) is RunForked for one in both):
            return next(iter(sorted(self.changes)), "environment")  # or only that somebody asked for it
        if any(map(self._has_moved, both)):
            return "order"
        if all(type(one.event) in INPUTS for one in both) and not any(type(one.event) is RunStarted for one in both):
            return self._of_input(both, stretch)
        if behind is not None and not self.changes:
            return behind
        if ours is not None and theirs is not None:
            return self._of_both(ours, theirs, found)
        return self._one_sided(both[0], stretch)

    def _of_input(self, both: Sequence[Record], stretch: Sequence[Record]) -> Cause:
        if len(both) == 1 and self._is_longer(both[0], stretch):
            return "recording short"
        return CAUSED_BY.get(type(both[-1].event), "environment")

    def _is_longer(self, only: Record, stretch: Sequence[Record]) -> bool:
        """Whether one run came to its end here, and the other came to none."""
        other = self.theirs if any(only is one for one in self.ours) else self.ours
        ends = any(isinstance(one.event, StopDecided) for one in stretch)
        return ends and not any(isinstance(one.event, RunEnded) for one in other)

    def _of_both(self, ours: Record, theirs: Record, found: Sequence[Difference]) -> Cause:
        if isinstance(ours.event, RunStarted):
            return self._of_start(found)
        after = next((one for one in _back(self.ours, ours) if type(one.event) in INPUTS), ours)
        return cause_of(ours.event, theirs.event, found, after=after, state=RunState(), changed=self.changes)

    def _of_start(self, found: Sequence[Difference]) -> Cause:
        names = {one.pointer.split("/")[2] for one in found if one.pointer.startswith("/parts/")}
        names |= {"model"} if "contract" in names else set()
        named = sorted(changes_of(names.intersection(self.changed), rules=RULES))
        return named[0] if named else "code" if "code" in self.changes else "environment"

    def _one_sided(self, only: Record, stretch: Sequence[Record]) -> Cause:
        """One run has something that the other has not: at its end it came further, elsewhere it is what it is."""
        if self.changes:
            return cause_of(None, only.event, (), after=only, state=RunState(), changed=self.changes)
        return "recording short" if self._is_longer(only, stretch) else "left over"


def _of_a_kind(one: Record, other: Record) -> bool:
    """Whether both are a model's answer, or a tool's, or the same kind of signal."""
    return one.event != other.event and _kind(one) == _kind(other)


def _kind(record: Record) -> str:
    return "model" if isinstance(record.event, ModelReplied | ModelFailed) else type(record.event).__name__


def _back(records: Sequence[Record], one: Record) -> Iterator[Record]:
    return (records[position - 1] for position in chain_of(records, one.position))


def _differences(ours: Record | None, theirs: Record | None) -> tuple[Difference, ...]:
    if ours is None or theirs is None or type(ours.event) is not type(theirs.event):
        return ()
    each = differences(ours.event, theirs.event)
    return tuple(one for one in each if one.pointer.split("/")[1] not in PLACES)
