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
    ReconcileAsked,
    Record,
    RunForked,
    ToolCalled,
)
from redrive_projections.folding import evolve
from redrive_projections.people import doubts_of
from redrive_projections.state import RunState

# How the remark is called by which an outcome is told that was learnt when the run could no longer hear it.
LATE_OUTCOME: Final = "late_outcome"

Stage: TypeAlias = Literal["planned", "confirmed", "in doubt", "reconciled", "compensated", "not done"]
Outcome: TypeAlias = Literal["", "landed", "not_landed", "unknown"]

# A child run has effects of its own.
CHANGING: Final = frozenset({"write", "unknown"})

_LANDINGS: Final[tuple[Outcome, ...]] = ("landed", "not_landed")
_OPEN: Final[frozenset[Stage]] = frozenset({"planned", "in doubt"})


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """One effect, as far as it has come; ``key`` is what its authority knows it by.

    ``attempts`` is how often it was asked for, ``why`` what put it in doubt, ``by`` whoever ended the doubt: the
    ``authority``, or a person or worker by name. ``compensates`` is the call that it undid, ``compensated_by`` the
    one that undid it. ``doubted`` is where it came into doubt, ``authority_asked`` how often the authority was asked,
    ``settled`` where, and ``settled_at`` when, the run learnt what is known now.
    """

    run_id: str
    call: int
    tool: str
    effect: str
    arguments: Json
    digest: str
    key: str
    stage: Stage
    outcome: Outcome = ""
    attempts: int = 1
    why: str = ""
    by: str = ""
    reason: str = ""
    compensates: int | None = None
    compensated_by: int | None = None
    doubted: int | None = None
    authority_asked: int = 0
    settled: int | None = None
    settled_at: datetime | None = None
    position: int
    at: datetime


def effects(records: Iterable[Record], remarks: Iterable[AnnotationMade] = (), *, held: bool = True) -> list[Effect]:
    """The effects of a run in the order of their calls; of a run that nobody holds, what is open is in doubt.

    Calls of which nobody knows whether they have any effect are none, until one is put in doubt.
    """
    ledger, state = Ledger(), RunState()
    for record in records:
        if type(record.event) is RunForked:  # what stands in front of it are effects of another run
            ledger = Ledger()
        ledger.take(record, state)
        evolve(state, record)
    found = ledger.told(remarks)
    if held:
        return found
    return [replace(one, stage="in doubt", why="worker lost") if one.stage == "planned" else one for one in found]


class Ledger:
    """What a run knows of its effects by now; ``_called`` are the calls of which nobody knows if they have any."""

    def __init__(self) -> None:
        self.known: dict[int, Effect] = {}
        self._called: dict[int, Effect] = {}

    def take(self, record: Record, state: RunState) -> None:
        """One record further, in the state before it."""
        event: Any = record.event
        step = _STEPS.get(type(event))
        if step is None:
            return
        effect = self.known.get(event.call)
        if effect is None:
            self._meet(record, event)
            effect = self.known.get(event.call) if type(event) is EffectInDoubt else None
        if effect is not None and (type(event) is not OutcomeStated or doubts_of(state, event, record.at)):
            self.known[event.call] = _dated(effect, step(effect, event), record)

    def _meet(self, record: Record, event: Any) -> None:
        """A call that is no effect yet: a write is one from its request on, any other once it is in doubt."""
        if type(event) is ToolCalled and event.effect in CHANGING:
            (self.known if event.effect == "write" else self._called)[event.call] = _planned(record, event)
        elif type(event) is EffectInDoubt and event.call in self._called:
            self.known[event.call] = self._called.pop(event.call)

    def told(self, remarks: Iterable[AnnotationMade] = ()) -> list[Effect]:
        """All effects in the order of their calls; a late outcome counts where the run knows no better."""
        known = dict(self.known)
        for remark in remarks:
            told = remark.value if remark.name == LATE_OUTCOME and isinstance(remark.value, dict) else {}
            effect = next((one for one in known.values() if one.call == told.get("call")), None)
            for outcome in _LANDINGS if effect is not None and effect.stage in _OPEN else ():
                if effect is not None and told.get("outcome") == outcome:
                    known[effect.call] = _settled(effect, outcome, remark.source, str(told.get("reason", "")))
        return [known[call] for call in sorted(known)]


def _planned(record: Record, event: ToolCalled) -> Effect:
    return Effect(
        run_id=record.run_id,
        call=event.call,
        tool=event.tool,
        effect=event.effect,
        arguments=event.arguments,
        digest=event.digest,
        key=event.key,
        stage="planned",
        attempts=event.attempt,
        compensates=event.compensates,
        position=record.position,
        at=record.at,
    )


def _dated(before: Effect, after: Effect, record: Record) -> Effect:
    """Where it came into doubt, and where and when that ended."""
    if type(record.event) is EffectInDoubt:
        after = replace(after, doubted=record.position)
    if after.stage in _OPEN:
        return replace(after, settled=None, settled_at=None)
    if (after.stage, after.outcome) == (before.stage, before.outcome):
        return after
    return replace(after, settled=record.position, settled_at=record.at)


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
    ReconcileAsked: lambda effect, _: replace(effect, authority_asked=effect.authority_asked + 1),
    EffectReconciled: lambda effect, event: _settled(effect, event.outcome, "authority"),
    OutcomeStated: lambda effect, event: _settled(effect, event.outcome, event.by, event.reason),
    EffectCompensated: lambda effect, event: replace(effect, stage="compensated", compensated_by=event.by),
}
