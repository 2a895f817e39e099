"""A made log of a service desk: eleven runs over three days, of which every answer is known."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from msgspec.structs import replace

from redrive_events import (
    ApprovalAsked,
    ApprovalGiven,
    EffectConfirmed,
    Event,
    EventLog,
    Limits,
    ObservationReceived,
    Record,
    RunEnded,
    RunStarted,
    Source,
    Status,
    StopDecided,
    Terms,
    ToolCalled,
    VerdictGiven,
    digest,
)
from tests.history.story import PAY, asked, begun, decided, put, refund, remark, replied, run_of, told


class Way(NamedTuple):
    """How a run of the story went this time."""

    day: int = 0
    version: str = "1"
    policy: str = "lax"
    goal: str = "Refund 7"
    status: Status = "succeeded"
    reason: str = "done"
    arm: str = "loop"
    source: Source | None = None
    steps: int = 8

    def changed(self, event: Event) -> Event:
        """An event of the story, as it happened then."""
        match event:
            case RunStarted():
                return replace(
                    event,
                    goal=self.goal,
                    agent="desk",
                    version=self.version,
                    contract=Terms(
                        model=f"m-{self.version}", budget=Limits(steps=self.steps, tokens=1_000, currency="EUR")
                    ),
                    parts={name: replace(part, digest=self.policy) for name, part in event.parts.items()},
                    labels={"arm": self.arm},
                    source=self.source,
                )
            case StopDecided():
                dimension = "steps" if self.status == "exhausted" else None
                return replace(event, status=self.status, reason=self.reason, dimension=dimension)
            case RunEnded():
                return replace(event, status=self.status, reason=self.reason)
            case _:
                return event


def made(run_id: str, records: Sequence[Record], way: Way) -> list[Record]:
    """A run of the story that went this way."""
    later = timedelta(days=way.day)
    return [replace(one, run_id=run_id, at=one.at + later, event=way.changed(one.event)) for one in records]


def approved(run_id: str) -> list[Record]:
    """A run that waits for a person twice: one call is granted after five seconds, one is not answered yet."""
    seen = digest({"call": 1})
    events: list[list[Event]] = [
        [begun(run_id)[0].event],
        [asked(0, 1)],
        [
            replied("Pay.", "pay", '{"cents":900}'),
            decided(1, "pay", "pay it"),
            VerdictGiven(call=1, verdict="ask", rule="large sums"),
            ApprovalAsked(call=1, digest=seen, object="7", destination="DE", reason="large sums"),
        ],
        [ApprovalGiven(call=1, digest=seen, by="eva", answer="grant")],
        [
            VerdictGiven(call=1, verdict="allow", rule="approved"),
            ToolCalled(call=1, tool="pay", arguments={"cents": 900}, digest=PAY, effect="write", key="n:1"),
        ],
        [
            ObservationReceived(call=1, status="ok", content="paid", source="bank"),
            EffectConfirmed(call=1),
            asked(1),
        ],
        [
            replied("Again.", "pay", '{"cents":900}'),
            decided(2, "pay", "pay again"),
            VerdictGiven(call=2, verdict="ask", rule="large sums"),
            ApprovalAsked(call=2, digest=seen, object="7", destination="DE", reason="large sums"),
        ],
    ]
    return told(run_id, *([(event, 0) for event in batch] for batch in events))


def fill(log: EventLog) -> None:
    """Write it."""
    chat = Source(format="chat", sha256="f")
    later = Way(day=1, version="2", policy="strict")
    runs = [
        made("a1", refund(), Way()),
        made("a2", refund(), Way(status="failed", reason="unable")),
        made("a3", refund(), Way(goal="Refund 8", arm="workflow")),
        made("b1", refund(), later),
        made("b2", refund(), later._replace(status="exhausted", reason="steps", steps=4)),
        made("b2/1", run_of(["find", "lost"]), later),
        made("b3", refund(), later._replace(goal="Refund 8")),
        made("c1", run_of(["find", "denied", "refused", "unfinished"]), Way(day=2, version="2", goal="Refund 9")),
        made("d1", approved("d1"), Way(day=2, version="2", goal="Refund 9")),
        made("old-1", refund(), Way(day=2, source=chat, status="finished")),
        made("old-2", refund(), Way(day=2, source=chat, status="finished")),
    ]
    for records in runs:
        put(log, records)
    for run_id, name, value, position in [
        ("old-1", "reward", 1, None),
        ("old-2", "reward", 0.5, None),
        ("a1", "right_tool", True, 5),
        ("a2", "right_tool", False, 13),
        ("b1", "unsafe_success", True, None),
    ]:
        put(log, remark(run_id, name, value, position=position))
