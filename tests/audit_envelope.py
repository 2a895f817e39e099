"""What every observation has to be before anything is known from it: the run's own, and within its limits."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TypeAlias

from redrive_engine.program import Program
from redrive_events import (
    EffectReconciled,
    Event,
    FactCommitted,
    ObservationReceived,
    ObservationRefused,
    ObservationVerified,
    Record,
    RunStarted,
    StopDecided,
    ToolCalled,
)

Shown: TypeAlias = ObservationReceived | EffectReconciled


def is_envelope(event: Event) -> bool:
    """Whether a refusal is that of the envelope, and no verifier's."""
    return isinstance(event, ObservationRefused) and event.verifier == "envelope"


class Envelopes:
    """Another tenant's data fails the run; of that, of what is too much and of what is too old, nothing is known."""

    def __init__(self, program: Program) -> None:
        self.tools = program.tools or {}
        self.tenant, self.stopped = "", False
        self.calls: dict[int, ToolCalled] = {}

    def take(self, append: Sequence[Record]) -> None:
        """One append further."""
        first, rest = append[0], [one.event for one in append[1:]]
        if isinstance(first.event, RunStarted):
            self.tenant = first.event.tenant
        if isinstance(first.event, ObservationReceived | EffectReconciled):
            self._shown(first, first.event, rest)
        self.stopped |= any(isinstance(event, StopDecided) for event in rest)
        for event in [first.event, *rest]:
            if isinstance(event, ToolCalled):
                self.calls[event.call] = event

    def _shown(self, record: Record, event: Shown, rest: list[Event]) -> None:
        call = self.calls[event.call]
        foreign = event.tenant not in {"", self.tenant}
        misfits = foreign or event.error == "limits" or self._is_stale(record, event, call.tool)
        refused = misfits and self._is_there(event) and call.compensates is None
        found = [one for one in rest if is_envelope(one)]
        assert [getattr(one, "call", 0) for one in found] == [event.call] * refused
        if refused:
            assert not [one for one in rest if isinstance(one, ObservationVerified) and one.call == event.call]
            assert not [one for one in rest if isinstance(one, FactCommitted) and record.position in one.evidence]
        before = rest[: rest.index(found[0])] if refused else []
        stopped = self.stopped or any(isinstance(one, StopDecided) for one in before)  # as by a cancellation heard now
        if refused and foreign and not stopped:
            stop = next(one for one in rest if isinstance(one, StopDecided))
            assert stop.status == "failed", "another tenant's data fails the run"

    def _is_there(self, event: Shown) -> bool:
        if isinstance(event, EffectReconciled):
            return event.outcome == "landed"
        return event.status == "ok" and event.returned is None

    def _is_stale(self, record: Record, event: Shown, tool: str) -> bool:
        fresh_ms = self.tools[tool].fresh_ms if tool in self.tools else None
        if fresh_ms is None or event.as_of is None:
            return False
        return abs(record.at - event.as_of) > timedelta(milliseconds=fresh_ms)
