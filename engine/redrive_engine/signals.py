"""What anybody may say to a run from outside: speak to it, cancel it, or remark on it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from redrive_engine.drive import state_of
from redrive_events import (
    NOTES,
    AnnotationMade,
    ApprovalGiven,
    BadInput,
    CancelRequested,
    Content,
    Event,
    EventLog,
    LeaseRevoked,
    MessageReceived,
    OutcomeStated,
    Record,
    StaleAppend,
)

# What a stranger may say to a run that is under way.
Signal: TypeAlias = MessageReceived | ApprovalGiven | OutcomeStated | CancelRequested | LeaseRevoked


def signal(log: EventLog, run_id: str, event: Signal, *, at: datetime) -> int:
    """Append a stranger's signal to a run that has not ended; its position.

    Raises:
        NoSuchRun: nobody began that run.
        UnknownEvent: one of its events cannot be read.
        BadInput: the run has ended.
    """
    while True:
        state = state_of(log, run_id)
        if state.end is not None:
            raise BadInput(f"has ended ({state.end.status})", place=f"run {run_id}")
        try:
            return append(log, run_id, event, expected=state.position, at=max(at, state.now or at))
        except StaleAppend:
            continue


def say(
    log: EventLog,
    run_id: str,
    content: Content,
    *,
    at: datetime,
    last: bool = False,
    actor: Literal["user", "operator"] = "user",
) -> int:
    """A person's words into a run; their position. After the ``last`` the run may end. Raises as `signal` does."""
    return signal(log, run_id, MessageReceived(actor=actor, content=content, last=last), at=at)


def cancel(log: EventLog, run_id: str, *, by: str, at: datetime, reason: str = "") -> int:
    """Ask that a run stop before its next action; the request's position. Raises as `signal` does."""
    return signal(log, run_id, CancelRequested(by=by, reason=reason), at=at)


def annotate(log: EventLog, run_id: str, remark: AnnotationMade, *, at: datetime) -> int:
    """Remark on a run, or on one position in it, beside its log; the remark's position in ``RUN@notes``."""
    notes = run_id + NOTES
    while True:
        expected = log.head(notes).position
        last = [record.at for record in log.read(notes, after=max(0, expected - 1))]
        try:
            return append(log, notes, remark, expected=expected, at=max([at, *last]))
        except StaleAppend:
            continue


def append(log: EventLog, run_id: str, event: Event, *, expected: int, at: datetime) -> int:
    """Append what a stranger says behind what is there; its position.

    Raises:
        StaleAppend: the run had moved on.
    """
    record = Record(run_id=run_id, position=expected + 1, at=at, cause=0, left=0, event=event)
    log.append(run_id, [record], expected=expected)
    return record.position
