"""What calls do to the world: attempts under one key, doubt, the authority's word, and what is undone again."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from redrive_engine.loop.ending import handed_over, in_doubt
from redrive_engine.loop.follows import Follows
from redrive_engine.loop.judge import verdict_of
from redrive_engine.loop.verifying import verified
from redrive_engine.policy import COMPENSATION, Ruling
from redrive_engine.program import Program
from redrive_events import (
    EffectCompensated,
    EffectConfirmed,
    EffectInDoubt,
    EffectReconciled,
    ObservationReceived,
    OutcomeStated,
    ReconcileAsked,
    StopDecided,
    ToolCalled,
    call_digest,
)
from redrive_projections import Call, RunState

# What may have acted although nobody saw it.
ACTING: Final = frozenset({"write", "unknown"})

Seen: TypeAlias = ObservationReceived | EffectReconciled | OutcomeStated
Doubt: TypeAlias = Literal["timeout", "unknown", "worker lost"]


def tool_called(program: Program, s: RunState, call: Call) -> ToolCalled:
    """The next attempt of a call; the key of what may act is the same over all attempts, and unlike any other run's."""
    declared = (program.tools or {}).get(call.tool)
    effect = declared.effect if declared else "unknown"
    keyed = declared is not None and effect != "read"  # what was only recorded is handed to nobody
    return ToolCalled(
        call=call.number,
        tool=call.tool,
        arguments=call.arguments,
        digest=call_digest(call.tool, call.arguments),
        effect=effect,
        key=f"{s.started.nonce}:{call.number}" if keyed and s.started else "",
        attempt=call.attempt + 1,
        timeout_ms=declared.timeout_ms if declared else None,
        compensates=call.compensates,
    )


def doubted(call: Call, why: Doubt) -> Follows:
    """Nobody knows whether it landed: the authority is asked before anything else."""
    yield EffectInDoubt(call=call.number, why=why)
    yield ReconcileAsked(call=call.number, key=call.key)


def landed(program: Program, s: RunState, call: Call, seen: Seen) -> Follows:
    """The effect is there: what it shows is verified, or what it undoes is undone."""
    if call.effect in ACTING and not (call.effect == "unknown" and isinstance(seen, ObservationReceived)):
        yield EffectConfirmed(call=call.number)
    if call.compensates is None:
        yield from verified(program, s, call, seen)
    else:
        yield EffectCompensated(call=call.compensates, by=call.number)


def reconciled(program: Program, s: RunState, event: EffectReconciled | OutcomeStated) -> Follows:
    """Landed: verified like an observation. Not landed: the same key again, within bounds. Unknown: to a person."""
    call = s.calls[event.call]
    if event.outcome == "landed":
        yield from landed(program, s, call, event)
    elif event.outcome == "not_landed":
        if s.running and call.attempt < program.terms.attempts:
            yield tool_called(program, s, call)
    elif s.running and program.terms.on_doubt == "wait":
        yield in_doubt(program, s, call)
    elif s.running and program.terms.on_doubt == "escalate":
        yield handed_over(program, s, f"effect of call {call.number} ({call.tool}) in doubt")


def taken_up(s: RunState, position: int) -> Follows:
    """Reads and model requests of a lost worker are simply asked again; its open writes are in doubt.

    What was only asked behind ``position``, where the run was taken up, nobody can have begun.
    """
    for place, request in list(s.requests.items()):
        if place < position and isinstance(request, ToolCalled) and request.effect in ACTING:
            yield from doubted(s.calls[request.call], "worker lost")


def undone(program: Program, s: RunState) -> Follows:
    """What has landed is undone, the last first, before the run is given up; each by a call of the engine's own."""
    for number in reversed(s.effects):
        effect = s.effects[number]
        declared = (program.tools or {}).get(effect.tool)
        if declared is not None and declared.compensable:
            call = Call(s.calls_made + 1, effect.tool, effect.arguments, native=False, compensates=number)
            reason = f"undoes call {number}, since the run is given up: {s.undoing}"
            yield verdict_of(call, Ruling("allow", COMPENSATION, reason))
            yield tool_called(program, s, call)
            return
    standing = sorted([*s.effects, *s.not_undone])
    calls = f"; not undone: {', '.join(f'call {number}' for number in standing)}" if standing else ""
    yield StopDecided(status="failed", reason=f"{s.undoing}{calls}")
