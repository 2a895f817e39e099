"""What anybody may say to a run from outside: speak to it, cancel it, or remark on it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from redrive_engine.drive import state_of
from redrive_engine.masking import Door, Mask, SealedValueLost, masked_event, says_something
from redrive_events import (
    NOTES,
    AnnotationMade,
    ApprovalGiven,
    BadInput,
    CancelRequested,
    Content,
    Event,
    EventLog,
    Json,
    LeaseRevoked,
    MessageReceived,
    OutcomeStated,
    Record,
    RunStarted,
    StaleAppend,
)

# What a stranger may say to a run that is under way.
Signal: TypeAlias = MessageReceived | ApprovalGiven | OutcomeStated | CancelRequested | LeaseRevoked


def signal(log: EventLog, run_id: str, event: Signal, *, at: datetime, mask: Mask | None = None) -> int:
    """Append a stranger's signal to a run that has not ended; its position.

    What is said to a run that is masked is masked as well: whoever says it needs the ``mask``.

    Raises:
        NoSuchRun: nobody began that run.
        UnknownEvent: one of its events cannot be read.
        BadInput: the run has ended, or is masked under another key.
    """
    while True:
        state = state_of(log, run_id)
        if state.end is not None:
            raise BadInput(f"has ended ({state.end.status})", place=f"run {run_id}")
        try:
            return append(log, run_id, event, expected=state.position, at=max(at, state.now or at), mask=mask)
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
    mask: Mask | None = None,
) -> int:
    """A person's words into a run; their position. After the ``last`` the run may end. Raises as `signal` does."""
    return signal(log, run_id, MessageReceived(actor=actor, content=content, last=last), at=at, mask=mask)


def cancel(log: EventLog, run_id: str, *, by: str, at: datetime, reason: str = "", mask: Mask | None = None) -> int:
    """Ask that a run stop before its next action; the request's position. Raises as `signal` does."""
    return signal(log, run_id, CancelRequested(by=by, reason=reason), at=at, mask=mask)


def revoke(
    log: EventLog, run_id: str, *, by: str, at: datetime, reason: str = "", mask: Mask | None = None
) -> int | None:
    """Take a run from the worker that has it, which then starts and appends nothing more; another may take it up.

    The position of the revocation; None where nobody had the run. Raises as `signal` does.
    """
    if "/" in run_id:
        raise BadInput(f"it is driven under the lease of run {run_id.partition('/')[0]}", place=f"run {run_id}")
    state = state_of(log, run_id)
    position = None
    if state.worker or state.end is not None:
        position = signal(log, run_id, LeaseRevoked(by=by, epoch=state.epoch, reason=reason), at=at, mask=mask)
    held = log.holder(run_id)
    if held is not None and held.worker == state.worker:
        log.release(run_id, held.worker)
    return position


def annotate(log: EventLog, run_id: str, remark: AnnotationMade, *, at: datetime, mask: Mask | None = None) -> int:
    """Remark on a run, or on one position in it, beside its log; the remark's position in ``RUN@notes``."""
    notes = run_id + NOTES
    while True:
        expected = log.head(notes).position
        last = [record.at for record in log.read(notes, after=max(0, expected - 1))]
        try:
            return append(log, notes, remark, expected=expected, at=max([at, *last]), mask=mask)
        except StaleAppend:
            continue


def append(log: EventLog, run_id: str, event: Event, *, expected: int, at: datetime, mask: Mask | None = None) -> int:
    """Append what a stranger says behind what is there, masked as the run is; its position.

    Raises:
        StaleAppend: the run had moved on.
        BadInput: the run is masked, and without its key nothing is written that might have to be masked.
    """
    if says_something(event):
        event = masked_event(door_of(log, run_id.partition(NOTES)[0], mask), event)
    record = Record(run_id=run_id, position=expected + 1, at=at, cause=0, left=0, event=event)
    log.append(run_id, [record], expected=expected)
    return record.position


def opened(log: EventLog, run_id: str, value: Json, *, mask: Mask) -> Json:
    """Plain data of a run, such as its answer, with the masked values in place of their placeholders.

    Raises:
        BadInput: the run is masked under another key, or one of the values is not to be had any more.
    """
    try:
        return door_of(log, run_id, mask).opened(value)
    except SealedValueLost as error:
        raise BadInput("a masked value is not to be had any more", place=f"run {run_id}") from error


def door_of(log: EventLog, run_id: str, mask: Mask | None) -> Door:
    """The door through which what strangers say comes into a run, or is said beside it.

    Raises:
        BadInput: the run is masked under another key.
    """
    first = next(iter(log.read(run_id)), None)
    if first is None or not isinstance(first.event, RunStarted) or not first.event.mask_key:
        return Door()
    return Door.of(first.event, mask, run_id=run_id)
