"""Whether people said that a call may be made, row by row."""

from __future__ import annotations

from redrive_events import ApprovalAsked, ApprovalGiven, Record
from redrive_projections.history.rows.gathered import RunRows
from redrive_projections.history.tables import ApprovalRow
from redrive_projections.history.values import between, json_text, moment, whole


def approval_asked(rows: RunRows, record: Record, event: ApprovalAsked) -> None:
    """A person is asked."""
    number = whole(event.call)
    step = rows.step_of.get(number)
    row = ApprovalRow(
        run=rows.run,
        run_id=rows.run_id,
        position=record.position,
        asked_at=rows.at,
        step=step.step if step is not None else None,
        call=number,
        tool=step.tool if step is not None else None,
        digest=event.digest,
        object=json_text(event.object),
        destination=json_text(event.destination),
        reason=event.reason or None,
        expires_at=None if event.expires is None else moment(event.expires),
    )
    rows.approvals.append(row)
    rows.unapproved.append(row)


def answered(rows: RunRows, record: Record, event: ApprovalGiven) -> None:
    """A person answered; whether that counts, the state of the run says."""
    for row in _closed(rows, record, event.answer):
        row.answered_by, row.answer_reason = event.by, event.reason or None
        row.arguments = json_text(event.arguments) if event.answer == "edit" else None


def unanswered(rows: RunRows, record: Record, answer: str) -> None:
    """Something else closed what was asked."""
    if rows.unapproved:  # seldom
        _closed(rows, record, answer)


def _closed(rows: RunRows, record: Record, answer: str) -> list[ApprovalRow]:
    """What the run does not wait for any longer."""
    closed = [row for row in rows.unapproved if row.position not in rows.state.requests]
    rows.unapproved = [row for row in rows.unapproved if row.position in rows.state.requests]
    for row in closed:
        row.answer, row.answer_position, row.answered_at = answer, record.position, rows.at
        row.waited_ms = between(row.asked_at, row.answered_at)
    return closed
