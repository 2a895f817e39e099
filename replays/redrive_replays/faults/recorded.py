"""A recorded run driven again with a fault in the door: nothing acts, and it goes as far as its recording answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

import msgspec

from redrive_engine import Program
from redrive_events import (
    Answer,
    EffectReconciled,
    MemoryLog,
    ModelReplied,
    ReconcileAsked,
    Record,
    Request,
    kind_of,
)
from redrive_replays.faults.course import Course, trajectory_of
from redrive_replays.faults.slices import Spoilt
from redrive_replays.faults.tampering import Tampering
from redrive_replays.redriving import begun_anew
from redrive_replays.whatif import Branch, Changes, InPlace, branched

# What a fault says of an effect, where an authority is asked that was not recorded.
SAYS: Final = {"landed": "it landed", "not_landed": "it did not land", "unknown": "nobody knows whether it landed"}


@dataclass(frozen=True)
class Recorded:
    """A recording to be driven again with faults.

    ``reconciles`` are the tools of which an authority can say what became of a call. With ``beyond`` it goes on, each
    answer an assumption, where the recording cannot surely answer.
    """

    records: Sequence[Record]
    program: Program
    reconciles: frozenset[str] = frozenset()
    beyond: bool = False


@dataclass
class _Door:
    """The door of a branch: a fault is asked once of each request, and says the same ever after."""

    run_id: str
    tampering: Tampering
    reconciles: frozenset[str]
    before_it: dict[int, InPlace | None] = field(default_factory=dict)
    behind_it: dict[int, InPlace | None] = field(default_factory=dict)

    def before(self, position: int, request: Request, at: datetime) -> InPlace | None:
        """What the fault gives in place of an answer, or what an authority says of what the fault has brought about."""
        if position not in self.before_it:
            spoilt = self.tampering.before(self.run_id, position, request, at)
            given = self._reconciled(request) if spoilt is None else _in_place(spoilt)
            self.before_it[position] = given
        return self.before_it[position]

    def behind(self, position: int, request: Request, answer: Answer, at: datetime) -> InPlace | None:
        """What the fault makes of the recorded answer."""
        if position not in self.behind_it:
            spoilt = self.tampering.behind(self.run_id, position, request, answer, at)
            self.behind_it[position] = None if spoilt is None else _in_place(spoilt)
        return self.behind_it[position]

    def _reconciled(self, request: Request) -> InPlace | None:
        """Nobody recorded what the authority would say of a write in which the fault has raised a doubt."""
        if not isinstance(request, ReconcileAsked):
            return None
        tool = next((one.tool for one in self.tampering.hits if one.call == request.call), None)
        if tool is None:
            return None
        landed = self.tampering.landed.get((self.run_id, request.call))
        if tool not in self.reconciles:
            answer = EffectReconciled(call=request.call, outcome="unknown", content="Nobody can say.")
        elif landed is None:
            answer = EffectReconciled(call=request.call, outcome="not_landed", content="This did not take effect.")
        else:
            seen = landed.answer
            answer = EffectReconciled(
                call=request.call,
                outcome="landed",
                content=seen.content,
                media_type=seen.media_type,
                tenant=seen.tenant,
                as_of=seen.as_of,
            )
        return InPlace(answer, assumption=f"the word on call {request.call} ({tool}) is that {SAYS[answer.outcome]}")


def _in_place(spoilt: Spoilt) -> InPlace:
    return InPlace(spoilt.answer, timedelta(seconds=spoilt.took_s))


def driven_again(recorded: Recorded, run_id: str, tampering: Callable[[Program], Tampering]) -> Course:
    """One branch of the recording, as a run of its own.

    Raises:
        CannotReplay: the records do not begin with the start of a run, or it was forked from another.
    """
    begun_anew(recorded.records)
    here = tampering(recorded.program)
    door = _Door(run_id, here, recorded.reconciles)
    branch = branched(recorded.records, recorded.program, Changes(beyond=recorded.beyond, doorway=door))
    log = MemoryLog()
    log.append(run_id, [msgspec.structs.replace(one.record, run_id=run_id) for one in branch.records], expected=0)
    trajectory = trajectory_of(log, run_id, lambda _: recorded.program)
    edge, assumptions = _edge(recorded.records, branch), tuple(branch.assumptions)
    return Course(run_id, log, trajectory, here, here.endless, edge, assumptions)


def _edge(records: Sequence[Record], branch: Branch) -> str:
    """Where the recording had no further answer."""
    if branch.edge is None:
        return ""
    turns = sum(isinstance(one.event, ModelReplied) for one in records)
    asked = kind_of(branch.edge.request).replace("_", " ")
    return f"to turn {branch.edge.turn} of {turns} ({asked})"
