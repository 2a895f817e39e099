"""What became of each call, row by row: its verdict, its attempts, what was observed, what it did to the world."""

from __future__ import annotations

from collections.abc import Iterator

from redrive_events import (
    CallIntercepted,
    EffectConfirmed,
    EffectInDoubt,
    EffectReconciled,
    FactCommitted,
    ObservationReceived,
    ObservationRefused,
    ObservationVerified,
    OutcomeStated,
    Record,
    ToolCalled,
    VerdictGiven,
    text_of,
)
from redrive_projections.history.rows.asking import unanswered
from redrive_projections.history.rows.gathered import RunRows
from redrive_projections.history.tables import EffectRow, FactRow, ObservationRow, ToolCallRow, VerdictRow
from redrive_projections.history.values import between, json_text, moment, whole

EXCERPT_CHARS_MAX = 400


def judged(rows: RunRows, record: Record, event: VerdictGiven) -> None:
    """A call was allowed or denied."""
    number = whole(event.call)
    step = rows.step_of.get(number)
    rows.of_run.denials += event.verdict == "deny"
    if step is not None:
        step.verdict, step.rule = event.verdict, event.rule
    rows.verdicts.append(
        VerdictRow(
            run=rows.run,
            run_id=rows.run_id,
            position=record.position,
            judged_at=rows.at,
            step=step.step if step is not None else rows.state.steps,
            call=number,
            tool=step.tool if step is not None else None,
            verdict=event.verdict,
            rule=event.rule,
            reason=event.reason or None,
            text=event.text or None,
            read=json_text(event.read),
            arguments=json_text(event.arguments) if event.verdict == "edit" else None,
            policy=event.policy or None,
        )
    )
    unanswered(rows, record, "expired")


def intercepted(rows: RunRows, record: Record, event: CallIntercepted) -> None:
    """A guard held an allowed call back."""
    if (step := rows.step_of.get(whole(event.call))) is not None:
        step.intercepted = event.guard


def called(rows: RunRows, record: Record, event: ToolCalled) -> None:
    """An attempt was made."""
    number = whole(event.call)
    step = rows.step_of.get(number)
    if step is None:  # a recording in which nobody decided it
        step = rows.step_of[number] = rows.stepped(record)
        step.call = number
        rows.describe(step, event.tool, event.arguments)
    step.effect, step.attempts = event.effect, step.attempts + 1
    row = ToolCallRow(
        run=rows.run,
        run_id=rows.run_id,
        call=number,
        attempt=whole(event.attempt),
        tool=event.tool,
        effect=event.effect,
        arguments=json_text(event.arguments),
        digest=event.digest,
        key=event.key or None,
        timeout_ms=None if event.timeout_ms is None else whole(event.timeout_ms),
        position=record.position,
        asked_at=rows.at,
        compensates=None if event.compensates is None else whole(event.compensates),
    )
    rows.tool_calls.append(row)
    rows.attempt_of[number] = row


def observed(rows: RunRows, record: Record, event: ObservationReceived) -> None:
    """What came back."""
    number = whole(event.call)
    step, attempt = rows.step_of.get(number), rows.attempt_of.get(number)
    row = ObservationRow(
        run=rows.run,
        run_id=rows.run_id,
        position=record.position,
        observed_at=rows.at,
        call=number,
        status=event.status,
        error=event.error or None,
        source=event.source or None,
        tenant=event.tenant or None,
        trust=event.trust,
        schema_version=event.schema_version or None,
        as_of=None if event.as_of is None else moment(event.as_of),
        redirects=whole(event.redirects),
        media_type=event.media_type,
        size_bytes=whole(event.size_bytes),
        cut_bytes=whole(event.cut),
        excerpt=text_of(event.content)[:EXCERPT_CHARS_MAX] or None,
    )
    rows.observations.append(row)
    rows.seen_of[number] = row
    if attempt is not None:
        row.attempt, row.tool = attempt.attempt, attempt.tool
        row.latency_ms = between(attempt.asked_at, row.observed_at)
        attempt.answer_position, attempt.answered_at, attempt.status = record.position, rows.at, event.status
        attempt.media_type, attempt.source, attempt.latency_ms = event.media_type, row.source, row.latency_ms
        attempt.size_bytes, attempt.cut_bytes, attempt.error = row.size_bytes, row.cut_bytes, row.error
    known(rows, record, event)
    if step is not None:
        row.step, row.rule = step.step, step.rule
        step.status, step.source, step.latency_ms = event.status, row.source, row.latency_ms
        step.size_bytes = row.size_bytes
    if event.returned is not None:
        for planned in rows.plan:
            if planned.call == number:
                planned.status = event.returned.status


def verified(rows: RunRows, record: Record, event: ObservationVerified) -> None:
    """A verifier accepted it."""
    _looked_at(rows, event.call, event.verifier, None)


def refused(rows: RunRows, record: Record, event: ObservationRefused) -> None:
    """A verifier did not."""
    _looked_at(rows, event.call, event.verifier, event.reason)


def in_doubt(rows: RunRows, record: Record, event: EffectInDoubt) -> None:
    """Nobody knows whether it had its effect."""
    if (attempt := rows.attempt_of.get(whole(event.call))) is not None:
        attempt.doubt = event.why
    known(rows, record, event)


def known(
    rows: RunRows,
    record: Record,
    event: EffectConfirmed | EffectInDoubt | EffectReconciled | ObservationReceived | OutcomeStated,
) -> None:
    """What the ledger now knows of the effect belongs to the attempt that was made last."""
    attempt, effect = rows.attempt_of.get(whole(event.call)), rows.ledger.known.get(event.call)
    if attempt is not None and effect is not None:
        attempt.outcome = effect.outcome or None


def effects(rows: RunRows) -> Iterator[EffectRow]:
    """What the ledger says of each effect, with what was learnt of it when the run was over."""
    timed = rows.of_run.clock != "none"
    for effect in rows.ledger.told(rows.late_outcomes):
        yield EffectRow(
            run=rows.run,
            run_id=rows.run_id,
            call=whole(effect.call),
            tool=effect.tool,
            effect=effect.effect,
            key=effect.key or None,
            digest=effect.digest,
            attempts=whole(effect.attempts),
            position=effect.position,
            planned_at=moment(effect.at) if timed else None,
            stage=effect.stage,
            outcome=effect.outcome or None,
            why=effect.why or None,
            doubted_position=effect.doubted,
            authority_asked=effect.authority_asked,
            known_by=effect.by or None,
            reason=effect.reason or None,
            compensates=None if effect.compensates is None else whole(effect.compensates),
            compensated_by=None if effect.compensated_by is None else whole(effect.compensated_by),
            settled_position=effect.settled,
            settled_at=moment(effect.settled_at) if timed and effect.settled_at is not None else None,
        )


def committed(rows: RunRows, record: Record, event: FactCommitted) -> None:
    """Something is known."""
    rows.facts.append(
        FactRow(
            run=rows.run,
            run_id=rows.run_id,
            position=record.position,
            step=rows.state.steps,
            committed_at=rows.at,
            key=event.key,
            value=json_text(event.value),
            verifier=event.verifier,
            evidence=tuple(map(whole, event.evidence)),
            supersedes=None if event.supersedes is None else whole(event.supersedes),
        )
    )


def _looked_at(rows: RunRows, call: int, verifier: str, refusal: str | None) -> None:
    number = whole(call)
    if (row := rows.attempt_of.get(number)) is not None:
        row.verifier, row.verified, row.refusal = verifier, refusal is None, refusal
    if (seen := rows.seen_of.get(number)) is not None:
        seen.verifier, seen.verified, seen.refusal = verifier, refusal is None, refusal
    if (step := rows.step_of.get(number)) is not None:
        step.verified = refusal is None
