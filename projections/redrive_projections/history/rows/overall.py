"""How a run as a whole is told: how it began, how it came out, what it used, and what begun it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from redrive_events import LeaseGranted, PersonAsked, Record, RunEnded, RunForked, RunStarted, StopDecided
from redrive_projections.budget import limits, used
from redrive_projections.completion import status
from redrive_projections.history.rows.asking import unanswered
from redrive_projections.history.rows.gathered import RunRows
from redrive_projections.history.tables import BudgetRow, LineageRow, MessageRow, RunRow
from redrive_projections.history.values import json_text, whole

# In this order what tells of another run is believed: the last of them.
_TOLD_BY: Final = ("name", "start", "remark")


def lineage(rows: RunRows) -> list[LineageRow]:
    """Where it came from: as it says itself, else by its name, else as a remark says."""
    found: LineageRow | None = None
    parent, _, number = rows.run_id.rpartition("/")
    named = [(parent, int(number), "name")] if parent else []
    for told, call, known_by in sorted([*named, *rows.begun_by], key=lambda one: _TOLD_BY.index(one[2])):
        if known_by != "remark" or found is None or found.parent_call is None:
            found = LineageRow(
                run=rows.run,
                run_id=rows.run_id,
                parent_id=told,
                parent_call=None if call is None else whole(call) or None,
                kind="call",
                known_by=known_by,
            )
    if (fork := rows.fork) is not None:
        forked_from = LineageRow(run=rows.run, run_id=rows.run_id, parent_id=fork.parent, kind="fork", known_by="start")
        forked_from.parent_position = whole(fork.position)
        return [*([] if found is None else [found]), forked_from]
    return [] if found is None else [found]


def started(rows: RunRows, record: Record, event: RunStarted) -> None:
    """What was asked for, by whom, of which program."""
    _begun(rows, event)
    if (parent := event.parent) is not None:
        rows.begun_by.append((parent.run_id, parent.call, "start"))
    _goal(rows, record, event)


def forked(rows: RunRows, record: Record, event: RunForked) -> None:
    """It goes on from another run, whose agent, goal and contract it has, but for what is given for it."""
    rows.fork = event
    if rows.state.started is not None:
        _begun(rows, rows.state.started)


def _begun(rows: RunRows, event: RunStarted) -> None:
    row = rows.of_run
    row.started_at, row.clock, row.rules = rows.at, event.clock, whole(event.rules)
    row.agent, row.version, row.goal = event.agent, event.version or None, event.goal
    row.principal, row.tenant = event.principal or None, event.tenant or None
    row.labels, row.arm = event.labels, event.labels.get("arm")
    if row.arm is None and event.source is None:
        row.arm = event.contract.arm
    row.parts = {name: part.digest for name, part in event.parts.items()}
    row.currency, row.model = event.contract.budget.currency, event.contract.model or None
    if (source := event.source) is not None:
        row.grade, row.missing = source.grade, source.missing
        row.source_format, row.source_sha256 = source.format, source.sha256


def _goal(rows: RunRows, record: Record, event: RunStarted) -> None:
    if event.goal:
        rows.messages.append(
            MessageRow(
                run=rows.run,
                run_id=rows.run_id,
                position=record.position,
                said_at=rows.at,
                step=rows.state.steps,
                actor="principal",
                text=event.goal,
            )
        )


def leased(rows: RunRows, record: Record, event: LeaseGranted) -> None:
    """A worker took it up."""
    rows.of_run.workers += 1


def person_asked(rows: RunRows, record: Record, event: PersonAsked) -> None:
    """It waits for a person."""
    rows.of_run.people_asked += 1
    rows.of_run.escalations += event.why == "escalation"


def stopped(rows: RunRows, record: Record, event: StopDecided) -> None:
    """An end by which it is handed over is an escalation too."""
    rows.of_run.escalations += event.status == "escalated"
    unanswered(rows, record, "withdrawn")


def ended(rows: RunRows, record: Record, event: RunEnded) -> None:
    """It came out."""
    rows.of_run.unable = (event.status, event.reason) == ("failed", "unable")
    rows.of_run.ended_at = rows.of_run.ended_at or rows.at


def finished(rows: RunRows, records: int) -> RunRow:
    """The row of the run, as it is after so many records."""
    state, row = rows.state, rows.of_run
    row.quarantined = rows.notes_quarantined + len(state.quarantined)
    for found in (one for one in lineage(rows) if one.kind == "call"):
        row.parent, row.parent_call = found.parent_id, found.parent_call
    row.status, row.last_at, row.records = status(state), rows.last_at, records
    # What a child has used, or a fork inherits, stands in another row, so that a sum over all runs counts it once.
    before = rows.inherited
    row.steps, row.tool_calls = state.steps - before.steps, state.tool_calls - before.tool_calls
    row.wall_ms, row.tokens = whole((state.wall_us - before.wall_us) // 1000), whole(state.tokens - before.tokens)
    row.cost_micros = whole(state.cost_micros - before.cost_micros) if rows.costed else None
    if state.stop is not None:
        row.reason, row.dimension = state.stop.reason or None, state.stop.dimension
    if state.end is not None:
        row.reason, row.answer = state.end.reason or None, state.end.answer
        row.partial, row.claims = state.end.partial, json_text(state.end.claims)
    return row


def accounts(rows: RunRows) -> Iterator[BudgetRow]:
    """What was used of each dimension, by the run's own reckoning: children count, and what a fork inherits."""
    if rows.state.started is None:
        return
    budget, stop = rows.state.terms.budget, rows.state.stop
    ceilings = limits(budget)
    for dimension, spent in used(rows.state).items():
        ceiling = ceilings[dimension]
        yield BudgetRow(
            run=rows.run,
            run_id=rows.run_id,
            dimension=dimension,
            ceiling=None if ceiling is None else whole(ceiling),
            spent=whole(spent),
            remaining=None if ceiling is None else whole(max(0, ceiling - spent)),
            currency=budget.currency if dimension == "cost" else None,
            warned_position=rows.state.watch.warned.get(dimension),
            exhausted=stop is not None and stop.dimension == dimension,
        )
