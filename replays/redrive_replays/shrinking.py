"""The smallest set of inputs that still shows a failure: every candidate is driven again, and none is guessed at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeAlias

from msgspec import structs

from redrive_engine import Program
from redrive_events import BadInput, LeaseGranted, Record
from redrive_replays.beginning import Beginning, beginning
from redrive_replays.redriving import Given, inputs_of, redriven

Shows: TypeAlias = Callable[[Sequence[Record]], bool]


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A run that still shows it, from which no input, and no turn, can be taken without losing that."""

    records: tuple[Record, ...]
    inputs: int
    of: int
    tried: int


def shrunk(records: Sequence[Record], program: Program, shows: Shows) -> Shrunk:
    """The smallest run that is left of a recording while it ``shows`` the failure: first turns go, then single inputs.

    The result is driven as a whole, so it is a sound recording of its own. What a fork inherits stands in front of that
    as it is: none of it is an input of the fork. Its workers are called by number: how their
    machines are called is no part of any failure.

    Raises:
        BadInput: the recording does not show it, as it is driven again here; or what shows it does not do so each time.
    """
    start = beginning(records)
    search = _Search(program, start, shows)
    whole = inputs_of(records)
    if not search.shows_with(whole):
        raise BadInput("it does not show that, driven again", place=f"run {start.run_id}")
    turns = [tuple(group) for _, group in groupby(whole, key=lambda one: one.turn)]
    kept = [one for turn in search.smallest(turns) for one in turn]
    least = [one for (one,) in search.smallest([(one,) for one in kept])]
    found = redriven(program, start, _nameless(least))
    if not shows(found):
        raise BadInput("the same run shows it at one time and not at another, so nothing can be left out of it")
    return Shrunk(tuple(found), len(least), len(whole), search.tried)


def _nameless(inputs: Sequence[Given]) -> Iterator[Given]:
    names: dict[str, str] = {}
    for one in inputs:
        event = one.record.event
        if not isinstance(event, LeaseGranted):
            yield one
            continue
        called = structs.replace(event, worker=names.setdefault(event.worker, f"worker-{len(names) + 1}"))
        yield replace(one, record=structs.replace(one.record, event=called))


class _Search:
    """Delta debugging after Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input" (2002)."""

    def __init__(self, program: Program, start: Beginning, shows: Shows) -> None:
        self.program, self.start, self.shows = program, start, shows
        self.known = dict[tuple[int, ...], bool]()

    @property
    def tried(self) -> int:
        """How many candidates were driven."""
        return len(self.known)

    def shows_with(self, given: Sequence[Given]) -> bool:
        """Whether the run of these inputs shows it; what is known already is not driven again."""
        which = tuple(one.record.position for one in given)
        if which not in self.known:
            self.known[which] = self.shows(redriven(self.program, self.start, given))
        return self.known[which]

    def smallest(self, groups: Sequence[tuple[Given, ...]]) -> list[tuple[Given, ...]]:
        """The groups of which none can be left out; first many at once are, then fewer."""
        kept, size = list(groups), max(1, len(groups) // 2)
        while True:
            index, taken = 0, False
            while index < len(kept):
                rest = kept[:index] + kept[index + size :]
                if self.shows_with([one for group in rest for one in group]):
                    kept, taken = rest, True
                else:
                    index += size
            if size == 1 and not taken:
                return kept
            size = max(1, size // 2) if not taken else size
