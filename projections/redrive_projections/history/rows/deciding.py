"""What the model was asked, said and decided, row by row; and what others said."""

from __future__ import annotations

from redrive_events import (
    Content,
    DecisionMade,
    FinishRefused,
    MessageReceived,
    ModelAsked,
    ModelFailed,
    ModelReplied,
    PlanDrawn,
    Record,
    ReflectionNoted,
    ReplyRefused,
    calls_of,
    text_of,
)
from redrive_projections.history.rows.gathered import RunRows
from redrive_projections.history.tables import (
    DecisionRow,
    MessageRow,
    ModelCallRow,
    PlanRow,
    ReflectionRow,
    StepRow,
)
from redrive_projections.history.values import between, whole


def asked(rows: RunRows, record: Record, event: ModelAsked) -> None:
    """A request to the model."""
    state = rows.state
    row = ModelCallRow(
        run=rows.run,
        run_id=rows.run_id,
        position=record.position,
        asked_at=rows.at,
        purpose=event.purpose,
        model=event.model or state.model or rows.of_run.model,
        view=event.view,
        messages=len(state.asked),
        kept=whole(event.kept),
        request=event.request,
    )
    rows.model_calls.append(row)
    rows.asked[record.position] = row


def replied(rows: RunRows, record: Record, event: ModelReplied) -> None:
    """Its reply, which is a step."""
    rows.costed |= event.cost_micros is not None
    rows.undecided = rows.stepped(record)
    row = _answered(rows, record, "replied")
    row.step, row.replied_by, row.response_id = rows.state.steps, event.model or None, event.response_id or None
    row.finish, row.calls = event.finish or None, len(calls_of(event.content))
    row.cost_micros = None if event.cost_micros is None else whole(event.cost_micros)
    if (usage := event.usage) is not None:
        row.input_tokens, row.output_tokens = whole(usage.input), whole(usage.output)
        row.cache_read_tokens, row.cache_write_tokens = whole(usage.cache_read), whole(usage.cache_write)
        row.reasoning_tokens = whole(usage.reasoning)
    _said(rows, record, "model", event.content)


def failed(rows: RunRows, record: Record, event: ModelFailed) -> None:
    """There was no reply."""
    row = _answered(rows, record, event.kind)
    row.retryable, row.http_status = event.retryable, whole(event.status) or None


def spoken(rows: RunRows, record: Record, event: MessageReceived) -> None:
    """Somebody spoke into the run."""
    _said(rows, record, event.actor, event.content, final=event.last)


def decided(rows: RunRows, record: Record, event: DecisionMade) -> None:
    """The reply was a decision; each call that it proposes is a row among the steps."""
    kind = "unable" if event.unable else event.kind
    for proposed in event.calls or (None,):
        step = _deciding(rows, record)
        step.decision, step.summary = kind, event.summary or None
        if proposed is not None:
            step.call = whole(proposed.call)
            rows.step_of[step.call] = step
            call = rows.state.calls.get(proposed.call)
            rows.describe(step, proposed.tool, call.arguments if call is not None else proposed.arguments)
            if 0 < event.step <= len(rows.plan):
                rows.plan[event.step - 1].call = step.call
    row = _decision(rows, record, kind)
    row.summary, row.calls, row.answer = event.summary or None, len(event.calls), event.answer or None
    row.dropped, row.plan_step = event.dropped, whole(event.step) or None


def reply_refused(rows: RunRows, record: Record, event: ReplyRefused) -> None:
    """The reply was none."""
    step = _deciding(rows, record)
    step.decision, step.refusal = "refused", event.reason
    _decision(rows, record, "refused").refusal = event.reason


def finish_refused(rows: RunRows, record: Record, event: FinishRefused) -> None:
    """The run is not done."""
    if rows.steps:
        rows.steps[-1].refusal = ", ".join([*event.missing, *event.unsupported]) or None
    if rows.decisions:
        rows.decisions[-1].missing, rows.decisions[-1].unsupported = event.missing, event.unsupported


def planned(rows: RunRows, record: Record, event: PlanDrawn) -> None:
    """What is to be done next, step by step."""
    rows.plan = [
        PlanRow(
            run=rows.run,
            run_id=rows.run_id,
            position=record.position,
            drawn_at=rows.at,
            revision=whole(event.revision),
            reason=event.reason or None,
            number=number,
            words=step.words,
            step_budget=None if step.budget is None else whole(step.budget),
        )
        for number, step in enumerate(event.steps, start=1)
    ]
    rows.plans += rows.plan


def reflected(rows: RunRows, record: Record, event: ReflectionNoted) -> None:
    """A lesson."""
    rows.reflections.append(
        ReflectionRow(
            run=rows.run,
            run_id=rows.run_id,
            position=record.position,
            noted_at=rows.at,
            step=rows.state.steps,
            lesson=event.lesson,
            rule=event.rule or None,
            failures=tuple(map(whole, event.window)),
        )
    )


def _answered(rows: RunRows, record: Record, status: str) -> ModelCallRow:
    """The row of the request that is answered; an answer that nobody asked for has its own."""
    row = rows.asked.pop(record.cause, None)
    if row is None:
        row = ModelCallRow(run=rows.run, run_id=rows.run_id, position=record.position)
        rows.model_calls.append(row)
    row.answer_position, row.answered_at, row.status = record.position, rows.at, status
    row.latency_ms = between(row.asked_at, row.answered_at)
    return row


def _decision(rows: RunRows, record: Record, kind: str) -> DecisionRow:
    row = DecisionRow(
        run=rows.run,
        run_id=rows.run_id,
        position=record.position,
        decided_at=rows.at,
        step=rows.state.steps,
        decision=kind,
    )
    rows.decisions.append(row)
    return row


def _deciding(rows: RunRows, record: Record) -> StepRow:
    """The row of the reply that is decided on; a further call, or one without a reply, has its own."""
    row, rows.undecided = rows.undecided or rows.stepped(record), None
    row.position, row.decided_at = record.position, rows.at
    return row


def _said(rows: RunRows, record: Record, actor: str, content: Content, *, final: bool = False) -> None:
    text = text_of(content)
    if text or final:
        rows.messages.append(
            MessageRow(
                run=rows.run,
                run_id=rows.run_id,
                position=record.position,
                said_at=rows.at,
                step=rows.state.steps,
                actor=actor,
                text=text,
                final=final,
            )
        )
