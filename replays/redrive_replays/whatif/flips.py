"""Where a branch first goes another way than the recording, and what that is worth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from redrive_events import (
    DRIVERS,
    ApprovalGiven,
    Event,
    OutcomeStated,
    ReconcileAsked,
    Record,
    RunForked,
    RunStarted,
    ToolCalled,
)
from redrive_replays.beginning import beginning
from redrive_replays.difference import Difference, differences, is_explaining
from redrive_replays.replayer import changed_parts
from redrive_replays.whatif.branch import Branch

# How sure it is what would have happened.
Sureness: TypeAlias = Literal["same", "exact", "exact to turn", "under assumptions"]

# What may differ in an event without any difference to the run: positions, and the seals of what is compared elsewhere.
_PLACES = frozenset({"kept", "new", "evidence", "supersedes", "window", "state", "claims"})
# What workers note for themselves, and what people say of calls: the verdict tells what came of it.
_UNCOMPARED = DRIVERS | {RunStarted, RunForked, ApprovalGiven, OutcomeStated}


class Flip(NamedTuple):
    """The first event that is another one; None on the side that has no event there."""

    recorded: Record | None
    branched: Record | None

    @property
    def differences(self) -> list[Difference]:
        """What differs in an event of the same kind, but for why, and for where it and others stand."""
        if self.recorded is None or self.branched is None or type(self.recorded.event) is not type(self.branched.event):
            return []
        return _differences(self.recorded.event, self.branched.event)


def first_flip(records: Sequence[Record], branch: Branch) -> Flip | None:
    """The first event of the branch that is not the recording's; what a worker notes for itself does not count.

    What a run that nobody has taken up would do first is no other thing than what it did.
    """
    ours, theirs = _behaviour(branch.whole), _behaviour(records)
    while True:
        recorded, branched = next(theirs, None), next(ours, None)
        if branched is None:
            return None if _breaks_off(branch) or recorded is None else Flip(recorded, None)
        if recorded is None and _waits(records, branch):
            return None
        if recorded is None or not alike(recorded.event, branched.event):
            return Flip(recorded, branched)


def alike(recorded: Event, branched: Event) -> bool:
    """Whether two events are the same but for why, and for where they and others stand."""
    return type(recorded) is type(branched) and not _differences(recorded, branched)


def _differences(recorded: Event, branched: Event) -> list[Difference]:
    found = differences(recorded, branched)
    if isinstance(recorded, ToolCalled | ReconcileAsked):  # a branch that acts mints keys of its own
        found = [one for one in found if one.pointer != "/key"]
    return [one for one in found if not is_explaining(recorded, one) and one.pointer.split("/")[1] not in _PLACES]


def sureness(records: Sequence[Record], branch: Branch, flip: Flip | None) -> Sureness:
    """How sure the branch is as a whole; what is unfinished is the same if it waits for the same as the recording."""
    if branch.assumptions:
        return "under assumptions"
    if _breaks_off(branch) and (flip is not None or not _is_whole(records, branch)):
        return "exact to turn"
    return "same" if flip is None else "exact"


def _breaks_off(branch: Branch) -> bool:
    """Whether it goes on behind what is known of it."""
    return branch.edge is not None or branch.unheard


def _waits(records: Sequence[Record], branch: Branch) -> bool:
    """Whether nobody took the run up, and nothing is otherwise for whoever would."""
    if not branch.recorded.untaken or any(one.label not in {"recorded", "recomputed"} for one in branch.records):
        return False
    return not changed_parts(beginning(records).drove, branch.program.digests)


def _is_whole(records: Sequence[Record], branch: Branch) -> bool:
    """Whether a branch without a flip has come as far as its recording."""
    if _waits(records, branch):
        return True
    return len([*_behaviour(records)]) == len([*_behaviour(branch.whole)])


def _behaviour(records: Iterable[Record]) -> Iterator[Record]:
    return (one for one in records if type(one.event) not in _UNCOMPARED)
