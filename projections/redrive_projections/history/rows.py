"""From the records of a run to its rows: one fold, beside that of its state."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from redrive_events import (
    NOTES,
    PARENT,
    AnnotationMade,
    CallIntercepted,
    DecisionMade,
    EffectConfirmed,
    EffectInDoubt,
    EffectReconciled,
    FactCommitted,
    FinishRefused,
    Json,
    ModelReplied,
    ObservationReceived,
    ObservationRefused,
    ObservationVerified,
    Quarantined,
    Record,
    ReplyRefused,
    RunEnded,
    RunStarted,
    StoredLine,
    ToolCalled,
    VerdictGiven,
    call_digest,
    examined,
    kind_of,
)
from redrive_projections.completion import status
from redrive_projections.folding import evolve
from redrive_projections.history.tables import (
    AnnotationRow,
    EventRow,
    FactRow,
    Row,
    RunRow,
    StepRow,
    ToolCallRow,
    VerdictRow,
    labels_of,
)
from redrive_projections.history.values import between, json_text, number_of, payload_of, whole
from redrive_projections.state import RunState


class RunRows:
    """All rows of one run, as far as its records were added: an own ``evolve`` of the history, never of the loop."""

    def __init__(self, run: int, run_id: str) -> None:
        self.run, self.run_id = run, run_id
        self.state = RunState()
        parent, _, call = run_id.rpartition("/")
        self.of_run = RunRow(run=run, run_id=run_id, parent=parent or None, parent_call=int(call) if parent else None)
        self.steps: list[StepRow] = []
        self.events: list[EventRow] = []
        self.tool_calls: list[ToolCallRow] = []
        self.verdicts: list[VerdictRow] = []
        self.facts: list[FactRow] = []
        self.annotations: list[AnnotationRow] = []
        self._undecided: StepRow | None = None
        self._steps: dict[int, StepRow] = {}
        self._attempts: dict[int, ToolCallRow] = {}
        self._proposed: set[str] = set()
        self._costed = False

    def add(self, line: bytes, record: Record) -> None:
        """One record further."""
        evolve(self.state, record)
        event = record.event
        self.events.append(
            EventRow(
                run=self.run,
                run_id=self.run_id,
                position=record.position,
                happened_at=self._at(record),
                cause=record.cause,
                remaining=record.left,
                kind=kind_of(event),
                payload=payload_of(line),
                problem=event.reason if type(event) is Quarantined else None,
            )
        )
        if (step := _STEPS.get(type(event))) is not None:
            step(self, record, event)

    def note(self, record: Record) -> None:
        """One record of what was said beside the run."""
        self.of_run.quarantined += type(record.event) is Quarantined
        if type(record.event) is AnnotationMade:
            self._annotated(record, record.event)

    def tables(self) -> dict[str, Iterable[Row]]:
        """The rows by the names of their tables; a run that nobody began has none of its own."""
        return {
            "runs": [self._finished()] if self.events else [],
            "steps": self.steps,
            "events": self.events,
            "tool_calls": self.tool_calls,
            "verdicts": self.verdicts,
            "facts": self.facts,
            "annotations": self.annotations,
        }

    def _finished(self) -> RunRow:
        state, row = self.state, self.of_run
        row.quarantined += len(state.quarantined)
        row.status, row.last_at, row.records = status(state), self._known(state.now), len(self.events)
        # What a child has used stands in its own row, so that a sum over all runs counts it once.
        row.steps, row.tool_calls, row.wall_ms = state.steps, state.tool_calls, whole(state.wall_us // 1000)
        row.tokens, row.cost_micros = whole(state.tokens), whole(state.cost_micros) if self._costed else None
        if state.stop is not None:
            row.reason, row.dimension = state.stop.reason or None, state.stop.dimension
        if state.end is not None:
            row.reason, row.answer = state.end.reason or None, state.end.answer
            row.partial, row.claims = state.end.partial, json_text(state.end.claims)
        return row

    def _started(self, record: Record, event: RunStarted) -> None:
        row = self.of_run
        row.started_at, row.clock, row.rules = self._at(record), event.clock, whole(event.rules)
        row.agent, row.version, row.goal = event.agent, event.version or None, event.goal
        row.principal, row.tenant = event.principal or None, event.tenant or None
        row.labels, row.arm = labels_of(event.labels), event.labels.get("arm")
        if row.arm is None and event.source is None:
            row.arm = event.contract.arm
        row.parts = labels_of({name: part.digest for name, part in event.parts.items()})
        row.currency, row.model = event.contract.budget.currency, event.contract.model or None
        if (parent := event.parent) is not None:
            row.parent, row.parent_call = parent.run_id, whole(parent.call) or None
        if (source := event.source) is not None:
            row.grade, row.missing = source.grade, source.missing
            row.source_format, row.source_sha256 = source.format, source.sha256

    def _ended(self, record: Record, event: RunEnded) -> None:
        self.of_run.unable = (event.status, event.reason) == ("failed", "unable")
        self.of_run.ended_at = self.of_run.ended_at or self._at(record)

    def _reply(self, record: Record, event: ModelReplied) -> None:
        self._costed |= event.cost_micros is not None
        self._undecided = self._stepped(record)

    def _decided(self, record: Record, event: DecisionMade) -> None:
        for proposed in event.calls or (None,):
            row = self._deciding(record)
            row.decision, row.summary = "unable" if event.unable else event.kind, event.summary or None
            if proposed is not None:
                row.call = whole(proposed.call)
                self._steps[row.call] = row
                call = self.state.calls.get(proposed.call)
                self._describe(row, proposed.tool, call.arguments if call is not None else proposed.arguments)

    def _reply_refused(self, record: Record, event: ReplyRefused) -> None:
        row = self._deciding(record)
        row.decision, row.refusal = "refused", event.reason

    def _finish_refused(self, record: Record, event: FinishRefused) -> None:
        if self.steps:
            self.steps[-1].refusal = ", ".join([*event.missing, *event.unsupported]) or None

    def _judged(self, record: Record, event: VerdictGiven) -> None:
        number = whole(event.call)
        step = self._steps.get(number)
        self.of_run.denials += event.verdict == "deny"
        if step is not None:
            step.verdict, step.rule = event.verdict, event.rule
        self.verdicts.append(
            VerdictRow(
                run=self.run,
                run_id=self.run_id,
                position=record.position,
                judged_at=self._at(record),
                step=step.step if step is not None else self.state.steps,
                call=number,
                tool=step.tool if step is not None else None,
                verdict=event.verdict,
                rule=event.rule,
                reason=event.reason or None,
                text=event.text or None,
                read=json_text(event.read),
            )
        )

    def _intercepted(self, record: Record, event: CallIntercepted) -> None:
        if (step := self._steps.get(whole(event.call))) is not None:
            step.intercepted = event.guard

    def _called(self, record: Record, event: ToolCalled) -> None:
        number = whole(event.call)
        step = self._steps.get(number)
        if step is None:  # a recording in which nobody decided it
            step = self._steps[number] = self._stepped(record)
            step.call = number
            self._describe(step, event.tool, event.arguments)
        step.effect, step.attempts = event.effect, step.attempts + 1
        row = ToolCallRow(
            run=self.run,
            run_id=self.run_id,
            call=number,
            attempt=whole(event.attempt),
            tool=event.tool,
            effect=event.effect,
            arguments=json_text(event.arguments),
            digest=event.digest,
            key=event.key or None,
            timeout_ms=None if event.timeout_ms is None else whole(event.timeout_ms),
            position=record.position,
            asked_at=self._at(record),
        )
        self.tool_calls.append(row)
        self._attempts[number] = row

    def _observed(self, record: Record, event: ObservationReceived) -> None:
        number = whole(event.call)
        latency_ms = None
        if (row := self._attempts.get(number)) is not None:
            if row.asked_at is not None:
                latency_ms = between(row.asked_at, record.at)
            row.answer_position, row.answered_at, row.status = record.position, self._at(record), event.status
            row.media_type, row.source, row.latency_ms = event.media_type, event.source or None, latency_ms
            row.size_bytes, row.cut_bytes = whole(event.size_bytes), whole(event.cut)
        if (step := self._steps.get(number)) is not None:
            step.status, step.source = event.status, event.source or None
            step.size_bytes, step.latency_ms = whole(event.size_bytes), latency_ms

    def _verified(self, record: Record, event: ObservationVerified) -> None:
        self._judged_observation(event.call, event.verifier, None)

    def _refused(self, record: Record, event: ObservationRefused) -> None:
        self._judged_observation(event.call, event.verifier, event.reason)

    def _judged_observation(self, number: int, verifier: str, refusal: str | None) -> None:
        if (row := self._attempts.get(whole(number))) is not None:
            row.verifier, row.verified, row.refusal = verifier, refusal is None, refusal
        if (step := self._steps.get(whole(number))) is not None:
            step.verified = refusal is None

    def _confirmed(self, record: Record, event: EffectConfirmed) -> None:
        self._came_out(event.call, "landed")

    def _in_doubt(self, record: Record, event: EffectInDoubt) -> None:
        self._came_out(event.call, "in_doubt")

    def _reconciled(self, record: Record, event: EffectReconciled) -> None:
        self._came_out(event.call, event.outcome)

    def _came_out(self, number: int, outcome: str) -> None:
        if (row := self._attempts.get(whole(number))) is not None:
            row.outcome = outcome

    def _fact(self, record: Record, event: FactCommitted) -> None:
        self.facts.append(
            FactRow(
                run=self.run,
                run_id=self.run_id,
                position=record.position,
                committed_at=self._at(record),
                key=event.key,
                value=json_text(event.value),
                verifier=event.verifier,
                evidence=tuple(map(whole, event.evidence)),
                supersedes=None if event.supersedes is None else whole(event.supersedes),
            )
        )

    def _annotated(self, record: Record, event: AnnotationMade) -> None:
        if event.name == PARENT and self.of_run.parent_call is None:
            self._begun_by(event.value)
        self.annotations.append(
            AnnotationRow(
                run=self.run,
                run_id=self.run_id,
                note=record.position,
                annotated_at=record.at,
                position=None if event.position is None else whole(event.position),
                name=event.name,
                value=json_text(event.value),
                value_number=number_of(event.value),
                value_text=event.value if isinstance(event.value, str) else None,
                source=event.source,
            )
        )

    def _begun_by(self, told: Json) -> None:
        """What came to light later: the run, and the call in it, that began this one."""
        told = told if isinstance(told, dict) else {}
        run, call = told.get("run_id"), told.get("call")
        if isinstance(run, str):
            self.of_run.parent, self.of_run.parent_call = run, whole(call) or None if isinstance(call, int) else None

    def _at(self, record: Record) -> datetime | None:
        return None if type(record.event) is Quarantined else self._known(record.at)

    def _known(self, at: datetime | None) -> datetime | None:
        """A time, unless no clock gave it: the trace of this run has none."""
        started = self.state.started
        return None if started is not None and started.clock == "none" else at

    def _deciding(self, record: Record) -> StepRow:
        """The row of the reply that is decided on; a further call, or one without a reply, has its own."""
        row, self._undecided = self._undecided or self._stepped(record), None
        row.position, row.decided_at = record.position, self._at(record)
        return row

    def _stepped(self, record: Record) -> StepRow:
        row = StepRow(
            run=self.run,
            run_id=self.run_id,
            step=self.state.steps,
            position=record.position,
            decided_at=self._at(record),
        )
        self.steps.append(row)
        return row

    def _describe(self, row: StepRow, tool: str, arguments: Json) -> None:
        row.tool, row.arguments = tool, json_text(arguments)
        row.digest = call_digest(tool, arguments)
        row.repeat = row.digest in self._proposed
        self._proposed.add(row.digest)


def rendered(
    run: int, run_id: str, records: Iterable[StoredLine], notes: Iterable[StoredLine]
) -> dict[str, Iterable[Row]]:
    """All rows of a run by table, from its stored records and those of the stream beside it."""
    rows = RunRows(run, run_id)
    for stored, record in examined(run_id, records):
        rows.add(stored.line, record)
    for _, record in examined(run_id + NOTES, notes):
        rows.note(record)
    return rows.tables()


_STEPS: dict[type, Callable[[RunRows, Record, Any], None]] = {
    RunStarted: RunRows._started,
    RunEnded: RunRows._ended,
    ModelReplied: RunRows._reply,
    DecisionMade: RunRows._decided,
    ReplyRefused: RunRows._reply_refused,
    FinishRefused: RunRows._finish_refused,
    VerdictGiven: RunRows._judged,
    CallIntercepted: RunRows._intercepted,
    ToolCalled: RunRows._called,
    ObservationReceived: RunRows._observed,
    ObservationVerified: RunRows._verified,
    ObservationRefused: RunRows._refused,
    EffectConfirmed: RunRows._confirmed,
    EffectInDoubt: RunRows._in_doubt,
    EffectReconciled: RunRows._reconciled,
    FactCommitted: RunRows._fact,
    AnnotationMade: RunRows._annotated,
}
