"""From the records of a run to its rows: one fold, beside that of its state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from redrive_events import (
    EVENTS,
    NOTES,
    AnnotationMade,
    ApprovalAsked,
    ApprovalGiven,
    CallIntercepted,
    DecisionMade,
    EffectCompensated,
    EffectConfirmed,
    EffectInDoubt,
    EffectReconciled,
    FactCommitted,
    FinishRefused,
    LeaseGranted,
    MessageReceived,
    ModelAsked,
    ModelFailed,
    ModelReplied,
    ObservationReceived,
    ObservationRefused,
    ObservationVerified,
    OutcomeStated,
    PersonAsked,
    PlanDrawn,
    Quarantined,
    ReconcileAsked,
    Record,
    ReflectionNoted,
    ReplyRefused,
    RunEnded,
    RunStarted,
    StopDecided,
    StoredLine,
    ToolCalled,
    VerdictGiven,
    examined,
    kind_of,
)
from redrive_projections.history.rows import asking, calling, deciding, overall, remarks
from redrive_projections.history.rows.gathered import RunRows
from redrive_projections.history.tables import EventRow, PayloadRow, Row
from redrive_projections.history.values import payload_of, whole

__all__ = ["rendered"]

# After so many records what is settled is handed on.
EVENTS_MAX: Final = 4_096


def rendered(
    run: int, run_id: str, records: Iterable[StoredLine], notes: Iterable[StoredLine]
) -> Iterator[tuple[str, Sequence[Row]]]:
    """All rows of a run by table, from its stored records and those of the stream beside it.

    What no later record changes comes early, and is not kept.
    """
    rows, count = RunRows(run, run_id), 0
    overall.begin(rows)
    for stored, record in examined(run_id, records):
        _add(rows, stored.line, record)
        count += 1
        if count % EVENTS_MAX == 0:
            yield from rows.settled()
    for _, record in examined(run_id + NOTES, notes):
        rows.of_run.quarantined += type(record.event) is Quarantined
        if type(record.event) is AnnotationMade:
            remarks.annotated(rows, record, record.event)
    if count:  # a run that nobody began has no rows of its own: only what was said beside it
        yield "runs", [overall.finished(rows, count)]
        yield "budgets", [*overall.accounts(rows)]
        yield "lineage", rows.lineage
    yield from rows.settled()
    yield from rows.unsettled()


def _add(rows: RunRows, line: bytes, record: Record) -> None:
    """One record further."""
    rows.add(record)
    event: Any = record.event
    kind = type(event)
    call = event.call if kind in _ABOUT_A_CALL else None
    rows.events.append(
        EventRow(
            run=rows.run,
            run_id=rows.run_id,
            position=record.position,
            happened_at=rows.at,
            cause=record.cause,
            remaining=record.left,
            kind=_KINDS.get(kind) or kind_of(event),
            call=None if call is None else whole(call),
            problem=event.reason if kind is Quarantined else None,
        )
    )
    if (payload := payload_of(line)) is not None:
        rows.payloads.append(PayloadRow(run=rows.run, run_id=rows.run_id, position=record.position, payload=payload))
    if (step := _STEPS.get(kind)) is not None:
        step(rows, record, event)


_EVENTS: tuple[Any, ...] = EVENTS
_KINDS: dict[type, str] = {kind: str(kind.__struct_config__.tag).partition(".")[0] for kind in _EVENTS}
_ABOUT_A_CALL = frozenset(kind for kind in _EVENTS if "call" in kind.__struct_fields__)
_STEPS: dict[type, Callable[[RunRows, Record, Any], None]] = {
    RunStarted: overall.started,
    LeaseGranted: overall.leased,
    PersonAsked: overall.person_asked,
    ApprovalAsked: asking.approval_asked,
    ApprovalGiven: asking.answered,
    OutcomeStated: asking.stated,
    StopDecided: overall.stopped,
    RunEnded: overall.ended,
    MessageReceived: deciding.spoken,
    ModelAsked: deciding.asked,
    ModelReplied: deciding.replied,
    ModelFailed: deciding.failed,
    DecisionMade: deciding.decided,
    ReplyRefused: deciding.reply_refused,
    FinishRefused: deciding.finish_refused,
    PlanDrawn: deciding.planned,
    ReflectionNoted: deciding.reflected,
    VerdictGiven: calling.judged,
    CallIntercepted: calling.intercepted,
    ToolCalled: calling.called,
    ObservationReceived: calling.observed,
    ObservationVerified: calling.verified,
    ObservationRefused: calling.refused,
    EffectConfirmed: calling.confirmed,
    EffectInDoubt: calling.in_doubt,
    EffectCompensated: calling.compensated,
    ReconcileAsked: calling.authority_asked,
    EffectReconciled: calling.reconciled,
    FactCommitted: calling.committed,
}
