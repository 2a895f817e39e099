"""The approvals of a run: what a person was asked about, with what would happen, and what became of the question."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from redrive_events import (
    ApprovalAsked,
    ApprovalGiven,
    Effect,
    Event,
    EventLog,
    Json,
    Record,
    VerdictGiven,
)
from redrive_projections.folding import evolve
from redrive_projections.state import RunState

# What became of a question: a person's answer, or none in time, or the run stopped before one came.
Answered: TypeAlias = Literal["", "grant", "refuse", "edit", "expired", "withdrawn"]


class Approval(msgspec.Struct, kw_only=True, gc=False):
    """A question whether a call may be made, with what would happen; ``answer`` is empty while it is open."""

    run_id: str
    call: int
    position: int
    asked_at: datetime
    tool: str
    arguments: Json
    object: Json
    destination: Json
    effect: Effect
    reason: str
    digest: str
    expires: datetime | None
    answer: Answered = ""
    by: str = ""

    def is_over(self, at: datetime) -> bool:
        """Whether an answer would come too late, although nobody has noted it yet."""
        return self.expires is not None and at >= self.expires


def approvals(records: Iterable[Record]) -> list[Approval]:
    """All questions about calls in a run, in the order in which they were asked."""
    state, found = RunState(), dict[int, Approval]()
    for record in records:
        before = set(state.requests)
        evolve(state, record)
        event = record.event
        if isinstance(event, ApprovalAsked):
            found[record.position] = _asked(state, record, event)
        for position in before - set(state.requests):
            if position in found:
                _answered(found[position], event)
    return list(found.values())


def open_approvals(log: EventLog, run_id: str) -> list[Approval]:
    """The questions in a run that nobody has answered, the first that was asked first."""
    return [one for one in approvals(log.read(run_id)) if not one.answer]


def _asked(state: RunState, record: Record, event: ApprovalAsked) -> Approval:
    call = state.calls.get(event.call)
    return Approval(
        run_id=record.run_id,
        call=event.call,
        position=record.position,
        asked_at=record.at,
        tool=call.tool if call else "",
        arguments=call.arguments if call else None,
        object=event.object,
        destination=event.destination,
        effect=event.effect,
        reason=event.reason,
        digest=event.digest,
        expires=event.expires,
    )


def _answered(one: Approval, event: Event) -> None:
    match event:
        case ApprovalGiven():
            one.answer, one.by = event.answer, event.by
        case VerdictGiven():
            one.answer = "expired"
        case _:  # a stop
            one.answer = "withdrawn"
