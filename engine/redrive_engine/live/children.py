"""Child runs: each is the answer to one call of its parent, and is driven under the lease of the whole tree."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Literal

import msgspec

from redrive_engine.program import Program
from redrive_engine.signals import cancel
from redrive_engine.world import Waiting
from redrive_events import (
    BadInput,
    EventLog,
    Limits,
    Lineage,
    NoSuchRun,
    ObservationReceived,
    Record,
    Returned,
    StaleAppend,
    ToolCalled,
)
from redrive_projections import RunState


def child_id(parent: str, request: ToolCalled) -> str:
    """The child that a call began is named after it, so whoever asks again finds the same one."""
    return f"{parent}/{request.call}"


def program_of(program: Program, request: ToolCalled) -> Program:
    """The program of the child, with the budget that its parent gave it."""
    return program.child(msgspec.convert(request.arguments["budget"], Limits))


def begin(log: EventLog, waiting: Waiting, request: ToolCalled, program: Program, *, at: datetime) -> str:
    """Begin the child unless that was done before; its id. Its keys are like those of no other run."""
    parent = waiting.started
    run_id = child_id(waiting.run_id, request)
    started = msgspec.structs.replace(
        parent,
        goal=request.arguments["goal"],
        known=request.arguments["known"],
        nonce=f"{parent.nonce}/{request.call}",
        contract=program.terms,
        parts=program.parts,
        parent=Lineage(waiting.run_id, request.call),
    )
    record = Record(run_id=run_id, position=1, at=at, cause=0, left=0, event=started)
    with suppress(StaleAppend):  # a worker before has begun it
        log.append(run_id, [record], expected=0)
    return run_id


def stop(log: EventLog, waiting: Waiting, request: ToolCalled, *, at: datetime) -> None:
    """Ask the child to end, since its parent is ending; one that has ended, or was not begun, need not be asked."""
    with suppress(BadInput, NoSuchRun):
        cancel(log, child_id(waiting.run_id, request), by=f"run {waiting.run_id}", at=at)


def returned(request: ToolCalled, child: RunState) -> ObservationReceived:
    """What the parent sees of a child that has ended."""
    assert child.end is not None
    status, reason, answer = child.end.status, child.end.reason, child.end.answer or ""
    did = status in {"succeeded", "finished"}
    in_doubt = any(call.outcome == "unknown" for call in child.calls.values())
    undone: Literal["unknown", "cancelled", "error"] = (
        "unknown" if in_doubt else "cancelled" if status == "cancelled" else "error"
    )
    words = answer if did else f"{status}: {reason}"
    return ObservationReceived(
        call=request.call,
        status="ok" if did else undone,
        content=words,
        size_bytes=len(words.encode()),
        source=child.run_id,
        returned=Returned(
            status=status,
            reason=reason,
            answer=answer,
            facts={key: fact.value for key, fact in child.facts.items()},
            tokens=child.tokens + child.child_tokens,
            tool_calls=child.tool_calls + child.child_tool_calls,
            cost_micros=child.cost_micros + child.child_cost_micros,
        ),
    )
