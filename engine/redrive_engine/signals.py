"""What anybody may say to a run from outside: speak to it, cancel it, or remark on it."""

from __future__ import annotations

from datetime import datetime

from redrive_events import (
    NOTES,
    AnnotationMade,
    BadInput,
    CancelRequested,
    Content,
    Event,
    EventLog,
    MessageReceived,
    NoSuchRun,
    Record,
    StaleAppend,
)
from redrive_projections import fold


def signal(log: EventLog, run_id: str, event: MessageReceived | CancelRequested, *, at: datetime) -> int:
    """Append a stranger's signal to a run that has not ended; its position.

    Raises:
        NoSuchRun: nobody began that run.
        BadInput: the run has ended.
    """
    while True:
        state = fold(log.read(run_id))
        if state.started is None or state.now is None:
            raise NoSuchRun("nobody began this run", place=f"run {run_id}")
        if state.end is not None:
            raise BadInput(f"has ended ({state.end.status})", place=f"run {run_id}")
        try:
            return _append(log, run_id, event, expected=state.position, at=max(at, state.now))
        except StaleAppend:
            continue


def say(log: EventLog, run_id: str, content: Content, *, at: datetime, last: bool = False) -> int:
    """A user's words into a run; its position. After the ``last`` the run may end. Raises as `signal` does."""
    return signal(log, run_id, MessageReceived(actor="user", content=content, last=last), at=at)


def cancel(log: EventLog, run_id: str, *, by: str, at: datetime, reason: str = "") -> int:
    """Ask that a run stop before its next action; the request's position. Raises as `signal` does."""
    return signal(log, run_id, CancelRequested(by=by, reason=reason), at=at)


def annotate(log: EventLog, run_id: str, remark: AnnotationMade, *, at: datetime) -> int:
    """Remark on a run, or on one position in it, beside its log; the remark's position in ``RUN@notes``."""
    notes = run_id + NOTES
    while True:
        before = list(log.read(notes, after=max(0, log.head(notes).position - 1)))
        expected, last = (before[-1].position, before[-1].at) if before else (0, at)
        try:
            return _append(log, notes, remark, expected=expected, at=max(at, last))
        except StaleAppend:
            continue


def _append(log: EventLog, run_id: str, event: Event, *, expected: int, at: datetime) -> int:
    record = Record(run_id=run_id, position=expected + 1, at=at, cause=0, left=0, event=event)
    log.append(run_id, [record], expected=expected)
    return record.position
