"""What is known from an observation: whose and how old it is, then what each verifier finds in it."""

from __future__ import annotations

from datetime import timedelta
from typing import Final, TypeAlias

from redrive_engine.loop.follows import Follows
from redrive_engine.loop.recovering import judged
from redrive_engine.program import Program
from redrive_engine.tools import Call as ToolCall
from redrive_engine.verifiers import Refused, Supersedes
from redrive_events import (
    EffectReconciled,
    FactCommitted,
    ObservationReceived,
    ObservationRefused,
    ObservationVerified,
    OutcomeStated,
    StopDecided,
    text_of,
)
from redrive_projections import Call, Known, RunState

# What is looked at before any verifier is asked: the envelope in which an observation comes.
ENVELOPE: Final = "envelope"
FOREIGN: Final = "This result may not be used."
STALE: Final = "this result is too old to be used. Ask again later, or go on without it."
UNDATED: Final = "this result is dated later than now, so it cannot be used. Ask again later, or go on without it."

Misfit: TypeAlias = ObservationRefused | None


def verified(
    program: Program, s: RunState, call: Call, seen: ObservationReceived | EffectReconciled | OutcomeStated
) -> Follows:
    """Each verifier of the tool in turn: what it commits becomes fact, what it refuses the model does not see."""
    if not isinstance(seen, OutcomeStated) and (refusal := _misfit(program, s, call, seen)) is not None:
        yield from refused(program, s, refusal, fail=refusal.text == FOREIGN or program.terms.on_refused == "fail")
        return
    for verifier in program.verifiers_of(call.tool):
        name, facts, request = verifier.name, s.facts, ToolCall(call.number, call.tool, call.arguments)
        found = verifier.check(request, seen.content, seen.media_type, Known(facts))
        if isinstance(found, Refused):
            refusal = ObservationRefused(call=call.number, verifier=name, reason=found.reason, text=found.text)
            yield from refused(program, s, refusal, fail=program.terms.on_refused == "fail")
            return
        evidence = (call.observed,)
        yield ObservationVerified(call=call.number, verifier=name)
        for key, value in found.items():
            before = facts[key].position if key in facts else None
            plain = value.value if isinstance(value, Supersedes) else value
            yield FactCommitted(key=key, value=plain, verifier=name, evidence=evidence, supersedes=before)


def refused(program: Program, s: RunState, refusal: ObservationRefused, *, fail: bool) -> Follows:
    """The model is told, or the run has failed."""
    yield refusal
    if fail and s.running:
        yield StopDecided(status="failed", reason=f"observation of call {refusal.call} refused: {refusal.reason}")
    yield from judged(program, s, "refused")


def _misfit(program: Program, s: RunState, call: Call, seen: ObservationReceived | EffectReconciled) -> Misfit:
    """Whose data it is, how much, and how old must fit; what the source does not say is taken to."""
    tenant = s.started.tenant if s.started else ""
    if seen.tenant and seen.tenant != tenant:
        return _refusal(call, f"it is of tenant {seen.tenant!r}, and the run of {tenant!r}", FOREIGN)
    if seen.error == "limits":
        words = text_of(seen.content)
        return _refusal(call, f"limits: {words}", f"{words}. The call was made, but its result cannot be used.")
    declared = (program.tools or {}).get(call.tool)
    fresh_ms = declared.fresh_ms if declared else None
    if fresh_ms is None or seen.as_of is None or s.now is None:
        return None
    if abs(s.now - seen.as_of) <= timedelta(milliseconds=fresh_ms):
        return None
    as_of = seen.as_of.isoformat()
    if seen.as_of > s.now:
        return _refusal(call, f"as of {as_of}, which is yet to come", f"{call.tool}: {UNDATED}")
    reason = f"stale: as of {as_of}, and no older than {fresh_ms} ms is wanted"
    return _refusal(call, reason, f"{call.tool}: {STALE}")


def _refusal(call: Call, reason: str, text: str) -> ObservationRefused:
    return ObservationRefused(call=call.number, verifier=ENVELOPE, reason=reason, text=text)
