"""From the records of a run to its rows: one fold, beside that of its state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import msgspec

from redrive_events import (
    EVENTS,
    NOTES,
    AnnotationMade,
    ApprovalAsked,
    ApprovalGiven,
    CallIntercepted,
    DecisionMade,
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
    Record,
    ReflectionNoted,
    ReplyRefused,
    RunEnded,
    RunForked,
    RunStarted,
    StopDecided,
    ToolCalled,
    VerdictGiven,
    kind_of,
)
from redrive_projections.history.reading import Lines, Reader
from redrive_projections.history.rows import asking, calling, deciding, overall, remarks
from redrive_projections.history.rows.gathered import RunRows
from redrive_projections.history.values import whole

__all__ = ["SETTLED", "Rendering"]

# After so many records, or bytes of them, what is settled is handed on.
EVENTS_MAX: Final = 4_096
BYTES_MAX: Final = 4_000_000


# The tables whose rows no later record changes; those of all others are written whole each time.
SETTLED: Final = frozenset({"events", "payloads", "verdicts", "facts", "messages"})


class Rendering:
    """All rows of a run by table, from its stored records and those of the stream beside it; it can be gone on with."""

    def __init__(self, run: int, run_id: str) -> None:
        self.run = run
        self._rows, self._records = RunRows(run, run_id), 0
        self._run, self._notes = Reader(run_id), Reader(run_id + NOTES)

    @property
    def begun(self) -> bool:
        """Whether anything was taken in."""
        return bool(self._run.position or self._notes.position)

    @property
    def lasts(self) -> bool:
        """Whether it is worth to be gone on with: the run will, and nothing in it is out of order."""
        return self._run.plain and self._notes.plain and self._rows.state.end is None

    def further(self, records: Lines, notes: Lines) -> Iterator[tuple[str, Iterable[tuple[Any, ...]]]]:
        """The rows that are settled by what was appended since, as they come, and then all of the others.

        Raises:
            OutOfOrder: it cannot be gone on with.
        """
        rows = self._rows
        for payload, record in self._run.records(records):
            if record.run_id != self._run.run_id:
                rows.inherit(record)
                continue
            _add(rows, payload, record)
            self._records += 1
            if self._records % EVENTS_MAX == 0 or rows.payload_bytes > BYTES_MAX:
                yield from rows.settled()
        for _, record in self._notes.records(notes):
            rows.notes_quarantined += type(record.event) is Quarantined
            if type(record.event) is AnnotationMade:
                remarks.annotated(rows, record, record.event)
        if self._records:  # a run that nobody began has no rows of its own: only what was said beside it
            yield "runs", [msgspec.structs.astuple(overall.finished(rows, self._records))]
            yield "budgets", map(msgspec.structs.astuple, overall.accounts(rows))
            yield "effects", map(msgspec.structs.astuple, calling.effects(rows))
            yield "lineage", map(msgspec.structs.astuple, overall.lineage(rows))
        yield from rows.settled()
        yield from rows.unsettled()


def _add(rows: RunRows, payload: bytes | None, record: Record) -> None:
    """One record further."""
    rows.add(record)
    event: Any = record.event
    kind = type(event)
    call = event.call if kind in _ABOUT_A_CALL else None
    # There is one of these for every record, so they are made as plain as can be: in the order of their columns.
    rows.events.append((
        rows.run_id, rows.run, record.position, rows.at, record.cause, record.left,
        _KINDS.get(kind) or kind_of(event), None if call is None else whole(call),
        event.reason if kind is Quarantined else None,
    ))  # fmt: skip
    if payload is not None:
        rows.payloads.append((rows.run_id, rows.run, record.position, payload))
        rows.payload_bytes += len(payload)
    if (step := _STEPS.get(kind)) is not None:
        step(rows, record, event)


_EVENTS: tuple[Any, ...] = EVENTS
_KINDS: dict[type, str] = {kind: str(kind.__struct_config__.tag).partition(".")[0] for kind in _EVENTS}
_ABOUT_A_CALL = frozenset(kind for kind in _EVENTS if "call" in kind.__struct_fields__)
_STEPS: dict[type, Callable[[RunRows, Record, Any], None]] = {
    RunStarted: overall.started,
    RunForked: overall.forked,
    LeaseGranted: overall.leased,
    PersonAsked: overall.person_asked,
    ApprovalAsked: asking.approval_asked,
    ApprovalGiven: asking.answered,
    OutcomeStated: calling.known,
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
    EffectConfirmed: calling.known,
    EffectInDoubt: calling.in_doubt,
    EffectReconciled: calling.known,
    FactCommitted: calling.committed,
}
