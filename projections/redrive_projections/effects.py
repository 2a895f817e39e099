"""The ledger of what a run did to the world: each write, from the request to what is known of it in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from redrive_events import (
    AnnotationMade,
    EffectCompensated,
    EffectConfirmed,
    EffectInDoubt,
    EffectReconciled,
    Json,
    ObservationReceived,
    OutcomeStated,
    Record,
    ToolCalled,
)
from redrive_projections.folding import evolve
from redrive_projections.people import doubts_of
from redrive_projections.state import RunState

# How the remark is called by which an outcome is told that was learnt when the run could no longer hear it.
LATE_OUTCOME: Final = "late_outcome"

Stage: TypeAlias = Literal["planned", "confirmed", "in doubt", "reconciled", "compensated", "not done"]
Outcome: TypeAlias = Literal["", "landed", "not_landed", "unknown"]

_LANDINGS: Final[tuple[Outcome, ...]] = ("landed", "not_landed")


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """One effect, as far as it has come; ``key`` is what its authority knows it by.

    ``attempts`` is how often it was asked for, ``why`` what put it in doubt, ``by`` whoever ended the doubt: the
    ``authority``, or a person or worker by name. ``compensates`` is the call that it undid, ``compensated_by`` the
    one that undid it.
    """

    run_id: str
    call: int
    tool: str
    arguments: Json
    key: str
    stage: Stage
    outcome: Outcome = ""
    attempts: int = 1
    why: str = ""
    by: str = ""
    reason: str = ""
    compensates: int | None = None
    compensated_by: int | None = None
    position: int
    at: datetime


def effects(records: Iterable[Record], remarks: Iterable[AnnotationMade] = (), *, held: bool = True) -> list[Effect]:
    """The effects of a run in the order of their calls; of a run that nobody holds, what is open is in doubt.

    Calls of which nobody knows whether they have any effect are none, until one is put in doubt.
    """
    ledger, state = _Ledger(), RunState()
    for record in records:
        ledger.take(record, state)
        evolve(state, record)
    for remark in remarks:
        ledger.remark(remark)
    found = [ledger.known[call] for call in sorted(ledger.known)]
    if held:
        return found
    return [replace(one, stage="in doubt", why="worker lost") if one.stage == "planned" else one for one in found]


class _Ledger:
    """What is known by now; ``_called`` are the calls of which nobody knows whether they have any effect."""

    def __init__(self) -> None:
        self.known: dict[int, Effect] = {}
        self._called: dict[int, Effect] = {}

    def take(self, record: Record, state: RunState) -> None:
        """One record further, in the state before it."""
        event = record.event
        if isinstance(event, OutcomeStated) and not doubts_of(state, event, record.at):
            return
        if isinstance(event, EffectInDoubt) and event.call in self._called:
            self.known[event.call] = self._called.pop(event.call)
        if isinstance(event, ToolCalled) and event.call not in self.known:
            if event.effect in {"write", "unknown"}:
                (self.known if event.effect == "write" else self._called)[event.call] = _planned(record, event)
        elif (step := _STEPS.get(type(event))) is not None:
            call = getattr(event, "call", 0)
            if call in self.known:
                self.known[call] = step(self.known[call], event)

    def remark(self, remark: AnnotationMade) -> None:
        """A late outcome counts where nobody knows better."""
        told = remark.value if isinstance(remark.value, dict) else {}
        effect = next((one for one in self.known.values() if one.call == told.get("call")), None)
        open_yet = effect is not None and effect.stage in {"in doubt", "planned"}
        for outcome in _LANDINGS if remark.name == LATE_OUTCOME and open_yet else ():
            if effect is not None and told.get("outcome") == outcome:
                self.known[effect.call] = _settled(effect, outcome, remark.source, str(told.get("reason", "")))


def _planned(record: Record, event: ToolCalled) -> Effect:
    return Effect(
        run_id=record.run_id,
        call=event.call,
        tool=event.tool,
        arguments=event.arguments,
        key=event.key,
        stage="planned",
        attempts=event.attempt,
        compensates=event.compensates,
        position=record.position,
        at=record.at,
    )


def _settled(effect: Effect, outcome: Outcome, by: str, reason: str = "") -> Effect:
    if outcome == "unknown":
        return replace(effect, outcome=outcome)
    return replace(effect, stage="reconciled", outcome=outcome, by=by, reason=reason)


def _observed(effect: Effect, event: ObservationReceived) -> Effect:
    nothing = event.status in {"error", "cancelled"}
    return replace(effect, stage="not done", outcome="not_landed") if nothing else effect


def _confirmed(effect: Effect, _: EffectConfirmed) -> Effect:
    known = effect.stage == "reconciled"  # by whom it is known, too
    return effect if known else replace(effect, stage="confirmed", outcome="landed")


_STEPS: Final[dict[type, Callable[[Effect, Any], Effect]]] = {
    ToolCalled: lambda effect, event: replace(effect, stage="planned", outcome="", by="", attempts=event.attempt),
    ObservationReceived: _observed,
    EffectConfirmed: _confirmed,
    EffectInDoubt: lambda effect, event: replace(effect, stage="in doubt", why=event.why),
    EffectReconciled: lambda effect, event: _settled(effect, event.outcome, "authority"),
    OutcomeStated: lambda effect, event: _settled(effect, event.outcome, event.by, event.reason),
    EffectCompensated: lambda effect, event: replace(effect, stage="compensated", compensated_by=event.by),
}
