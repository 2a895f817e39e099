"""Calls of a reply, from their verdicts to what came of them: judged, made, observed, reconciled, verified."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from redrive_engine.dialects import Decision
from redrive_engine.loop import planning, reflecting
from redrive_engine.loop.ending import handed_over, handed_up
from redrive_engine.loop.follows import Follows
from redrive_engine.loop.guards import intercepted
from redrive_engine.loop.judge import judge
from redrive_engine.loop.recovering import judged
from redrive_engine.program import Program
from redrive_engine.tools import Call as ToolCall
from redrive_engine.verifiers import Refused, Supersedes
from redrive_events import (
    ALONE,
    SCHEMA,
    UNKNOWN_TOOL,
    DecisionMade,
    EffectConfirmed,
    EffectInDoubt,
    EffectReconciled,
    FactCommitted,
    ObservationReceived,
    ObservationRefused,
    ObservationVerified,
    ProposedCall,
    ReconcileAsked,
    StopDecided,
    ToolCalled,
    VerdictGiven,
    call_digest,
)
from redrive_projections import Call, RunState, left

# What may have acted although nobody saw it.
ACTING: Final = frozenset({"write", "unknown"})

Doubt: TypeAlias = Literal["timeout", "unknown", "cancelled", "worker lost"]


def called(program: Program, s: RunState, decision: Decision, *, step: int = 0) -> Follows:
    """Judge all calls of a reply, then make those that are allowed; if one blocks the run, none starts.

    With a ``step`` they are not a reply's but those of a workflow.
    """
    proposed = tuple(
        ProposedCall(call=number, tool=one.tool, block=one.block, arguments=one.arguments)
        for number, one in enumerate(decision.calls, start=s.calls_made + 1)
    )
    yield DecisionMade(kind="call", summary=decision.summary, calls=proposed, dropped=decision.dropped, step=step)
    verdicts = []
    for one in proposed:
        verdicts.append(judge(program, s, s.calls[one.call]))
        yield verdicts[-1]
    if blocking := next((verdict for verdict in verdicts if _blocks(program, verdict)), None):
        tool = s.calls[blocking.call].tool
        yield StopDecided(status="blocked", reason=f"call {blocking.call} of {tool}: {blocking.rule}")
    else:
        yield from judged(program, s, "arguments", "denied")
    if s.running:
        yield from made(program, s, [s.calls[verdict.call] for verdict in verdicts if verdict.verdict == "allow"])


def made(program: Program, s: RunState, allowed: Sequence[Call]) -> Follows:
    """Make the allowed calls of a reply, but for those that a guard holds back; none, if there may not be so many."""
    held = list(intercepted(program, s, allowed))
    yield from held
    calls = [call for call in allowed if call.number not in {one.call for one in held}]
    remaining = left(program.terms.budget, s)["tool_calls"]
    if remaining is not None and len(calls) > remaining:
        yield StopDecided(status="exhausted", reason="tool_calls", dimension="tool_calls")
        return
    for call in calls:
        yield tool_called(program, s, call)


def _blocks(program: Program, verdict: VerdictGiven) -> bool:
    """Whether a verdict ends the run: never one of the form of a call, which is the model's to correct."""
    if verdict.verdict == "allow" or verdict.rule in {SCHEMA, ALONE}:
        return False
    return (program.terms.on_unknown if verdict.rule == UNKNOWN_TOOL else program.terms.on_denied) == "block"


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
    )


def observed(program: Program, s: RunState, event: ObservationReceived) -> Follows:
    """An observation confirms an effect or puts it in doubt, and is verified before anything is known from it."""
    call = s.calls[event.call]
    if event.returned is not None:
        yield from planning.came_back(s, call, event.returned)
        if s.running:
            yield from handed_up(program, s, event)
        return
    match event.status:
        case "ok":
            if call.effect == "write":
                yield EffectConfirmed(call=call.number)
            yield from verified(program, s, call, event)
        case "timeout" | "unknown" | "cancelled" as why if call.effect in ACTING:
            yield from doubted(call, why)
        case _:
            pass  # a read is only told, and an error says that nothing was done
    yield from judged(program, s, "tool_failed", "infrastructure")
    if program.terms.reflection == "rule" and s.failures:
        yield reflecting.by_rule(s, call, event)


def doubted(call: Call, why: Doubt) -> Follows:
    """Nobody knows whether it landed: the authority is asked before anything else."""
    yield EffectInDoubt(call=call.number, why=why)
    yield ReconcileAsked(call=call.number, key=call.key)


def reconciled(program: Program, s: RunState, event: EffectReconciled) -> Follows:
    """Landed: verified like an observation. Not landed: the same key again, within bounds. Unknown: to a person."""
    call = s.calls[event.call]
    if event.outcome == "landed":
        yield EffectConfirmed(call=call.number)
        yield from verified(program, s, call, event)
    elif event.outcome == "not_landed":
        if s.running and call.attempt < program.terms.attempts:
            yield tool_called(program, s, call)
    elif s.running and program.terms.on_doubt == "escalate":
        yield handed_over(program, s, f"effect of call {call.number} ({call.tool}) in doubt")


def verified(program: Program, s: RunState, call: Call, seen: ObservationReceived | EffectReconciled) -> Follows:
    """Each verifier of the tool in turn: what it commits becomes fact, what it refuses the model does not see."""
    request = ToolCall(number=call.number, tool=call.tool, arguments=call.arguments)
    for verifier in program.verifiers_of(call.tool):
        known = {key: fact.value for key, fact in s.facts.items()}
        found = verifier.check(request, seen.content, seen.media_type, known)
        if isinstance(found, Refused):
            yield ObservationRefused(call=call.number, verifier=verifier.name, reason=found.reason, text=found.text)
            if program.terms.on_refused == "fail" and s.running:
                yield StopDecided(status="failed", reason=f"observation of call {call.number} refused: {found.reason}")
            yield from judged(program, s, "refused")
            return
        evidence = (call.observed,)
        yield ObservationVerified(call=call.number, verifier=verifier.name)
        for key, value in found.items():
            before = s.facts[key].position if key in s.facts else None
            plain = value.value if isinstance(value, Supersedes) else value
            yield FactCommitted(key=key, value=plain, verifier=verifier.name, evidence=evidence, supersedes=before)


def taken_up(s: RunState) -> Follows:
    """Reads and model requests of a lost worker are simply asked again; its open writes are in doubt."""
    for request in list(s.requests.values()):
        if isinstance(request, ToolCalled) and request.effect in ACTING:
            yield from doubted(s.calls[request.call], "worker lost")
