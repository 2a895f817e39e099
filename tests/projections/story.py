"""Logs told in a few words: one event a line, and only what the test is about."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from redrive_events import (
    DecisionMade,
    Effect,
    Event,
    LeaseGranted,
    ModelAsked,
    ModelReplied,
    ObservationReceived,
    PersonAsked,
    ProposedCall,
    ReconcileAsked,
    Record,
    RunStarted,
    StopDecided,
    Terms,
    Text,
    ToolCalled,
    ToolUse,
    VerdictGiven,
)
from redrive_projections import RunState, fold
from tests.records import record

Line: TypeAlias = Event | tuple[Event, int] | tuple[Event, int, float]

STARTED = RunStarted(goal="Buy tea", agent="shop", nonce="n", contract=Terms(), rules=0)
LEASE = LeaseGranted(worker="w", epoch=1)
ASKED = ModelAsked(kept=0, new=(1,), request="", state="")
PERSON = PersonAsked()
RECONCILE = ReconcileAsked(call=1, key="n:1")
STOP = StopDecided(status="cancelled", reason="enough")
REPLY = ModelReplied(
    content=(
        Text(text="Let me see."),
        ToolUse(name="price_of", arguments='{"item":"tea"}', id="a"),
        ToolUse(name="count", arguments="{broken", id="b"),
    )
)
TWO_CALLS = DecisionMade(
    kind="call", calls=(ProposedCall(call=1, tool="price_of", block=1), ProposedCall(call=2, tool="count", block=2))
)

TURN: tuple[Line, ...] = (STARTED, ASKED, (REPLY, 2), TWO_CALLS)
"""A reply with two calls; the next position is 5."""


def called(call: int, *, effect: Effect = "read", attempt: int = 1) -> ToolCalled:
    """A call on its way."""
    tool = {1: "price_of", 2: "count"}[call]
    key = "" if effect == "read" else f"n:{call}"
    return ToolCalled(call=call, tool=tool, arguments={}, digest="", effect=effect, attempt=attempt, key=key)


def denied(call: int) -> VerdictGiven:
    """A call that may not be made."""
    return VerdictGiven(call=call, verdict="deny", rule="none", text="Not allowed.")


def saw(call: int, content: str | None = "5") -> ObservationReceived:
    """What came of a call."""
    return ObservationReceived(call=call, status="ok", content=content)


def told(*lines: Line) -> list[Record]:
    """The records of these events, each alone in its append: ``event``, or ``(event, cause)``, or with its second.

    Where no second is given, no time passes.
    """
    records: list[Record] = []
    second = 0.0
    for position, line in enumerate(lines, start=1):
        event, cause, *seconds = line if isinstance(line, tuple) else (line, 0)
        second = seconds[0] if seconds else second
        records.append(msgspec.structs.replace(record("run", position, after_s=second, event=event), cause=cause))
    return records


def folded(*lines: Line) -> RunState:
    """The state after these events."""
    return fold(told(*lines))
