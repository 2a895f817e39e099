"""Calls on their way out: judged, held back, asked about, approved, made."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from redrive_engine.dialects import Decision
from redrive_engine.loop.effects import tool_called
from redrive_engine.loop.follows import Follows
from redrive_engine.loop.guards import intercepted
from redrive_engine.loop.judge import judge, target, verdict_of
from redrive_engine.loop.recovering import judged
from redrive_engine.policy import APPROVAL, EXPIRED, NOT_APPROVED, Ruling
from redrive_engine.program import Program
from redrive_events import (
    ALONE,
    SCHEMA,
    UNKNOWN_TOOL,
    ApprovalAsked,
    ApprovalGiven,
    DecisionMade,
    ProposedCall,
    StopDecided,
    VerdictGiven,
    shown_digest,
)
from redrive_projections import Call, RunState, used

# What the model reads of an approval that did not come; why is the people's matter, who may speak to it besides.
REFUSED: Final = "A person was asked, and did not allow this call."
NOBODY: Final = "This call needs a person to allow it, and nobody did in time."


def called(program: Program, s: RunState, decision: Decision, *, step: int = 0) -> Follows:
    """Judge all calls of a reply, then make those that are allowed; if one blocks the run, none starts.

    With a ``step`` they are not a reply's but those of a workflow.
    """
    proposed = [
        ProposedCall(call=number, tool=one.tool, block=one.block, arguments=one.arguments)
        for number, one in enumerate(decision.calls, start=s.calls_made + 1)
    ]
    yield DecisionMade(
        kind="call", summary=decision.summary, calls=tuple(proposed), dropped=decision.dropped, step=step
    )
    verdicts = []
    for one in proposed:
        for verdict in judge(program, s, s.calls[one.call]):
            yield verdict
        verdicts.append(verdict)
    yield from acted_on(program, s, verdicts)


def acted_on(program: Program, s: RunState, verdicts: Sequence[VerdictGiven]) -> Follows:
    """What the last verdicts on calls lead to: the run is blocked, or what may be made is made, or asked about."""
    for verdict in verdicts:
        if verdict.verdict == "deny" and _blocks(program, verdict):
            tool = s.calls[verdict.call].tool
            yield StopDecided(status="blocked", reason=f"call {verdict.call} of {tool}: {verdict.rule}")
            break
    else:
        if s.watch.failures:
            yield from judged(program, s, "arguments", "denied")
    if s.running:
        yield from _made(program, s, [one for one in verdicts if one.verdict in {"allow", "ask"}])


def _made(program: Program, s: RunState, verdicts: Sequence[VerdictGiven]) -> Follows:
    """Make the calls, or ask about them, but for those that a guard holds back; none, if there may not be so many.

    What was asked for before, in front of a fork, is no call more.
    """
    new = [call for one in verdicts if not (call := s.calls[one.call]).attempt]
    asking = {one.call for one in verdicts if one.verdict == "ask"}
    if held := {one.call: one for one in intercepted(program, s, new, asking)}:
        yield from held.values()
    most = program.terms.budget.tool_calls
    if most is not None and len(new) - len(held) > max(0, most - used(s)["tool_calls"]):
        yield StopDecided(status="exhausted", reason="tool_calls", dimension="tool_calls")
        return
    for verdict in verdicts:
        if verdict.call not in held:
            call = s.calls[verdict.call]
            yield _approval_asked(program, s, call, verdict) if call.number in asking else tool_called(program, s, call)


def _approval_asked(program: Program, s: RunState, call: Call, verdict: VerdictGiven) -> ApprovalAsked:
    waits_ms = program.terms.approval_ms
    acts_on, destination = target(program, call)
    declared = (program.tools or {}).get(call.tool)
    return ApprovalAsked(
        call=call.number,
        digest=_shown(program, call),
        object=acts_on,
        destination=destination,
        effect=declared.effect if declared else "unknown",
        reason=verdict.reason or verdict.rule,
        expires=None if waits_ms is None or s.now is None else s.now + timedelta(milliseconds=waits_ms),
    )


def _shown(program: Program, call: Call) -> str:
    return shown_digest(call.tool, call.arguments, *target(program, call))


def approved(program: Program, s: RunState, given: ApprovalGiven) -> Follows:
    """What a person allows is judged again, since they may have changed it, and facts may have: a denial stands.

    What a rule asks about, they have answered, unless a rule, or another program, makes of it what they were not shown.
    """
    call = s.calls.get(given.call)
    if call is None:  # a record of it is missing
        return
    if given.answer == "refuse":
        reason = ": ".join(filter(None, [f"refused by {given.by}", given.reason]))
        verdicts = [verdict_of(call, Ruling("deny", NOT_APPROVED, reason, _words(program, s, call) or REFUSED))]
        yield verdicts[-1]
    else:
        if given.answer == "edit":
            yield verdict_of(call, Ruling("edit", APPROVAL, f"edited by {given.by}", arguments=given.arguments))
        wanted, verdicts = given.digest if given.answer == "grant" else _shown(program, call), []
        for ruled in judge(program, s, call):
            answered = ruled.verdict == "ask" and wanted == _shown(program, call)
            verdicts.append(_allowed(ruled, given) if answered else ruled)
            yield verdicts[-1]
    yield from acted_on(program, s, verdicts[-1:])


def _allowed(asking: VerdictGiven, given: ApprovalGiven) -> VerdictGiven:
    return replace(asking, verdict="allow", rule=APPROVAL, reason=f"approved by {given.by}", text="")


def _words(program: Program, s: RunState, call: Call) -> str:
    """What the rule that asks has to say to the model, if people do not allow the call."""
    ruled = next(judge(program, s, call))
    return ruled.text if ruled.verdict == "ask" else ""


def unapproved(program: Program, s: RunState, asked: ApprovalAsked) -> Follows:
    """No answer in time is a no."""
    call = s.calls[asked.call]
    text = _words(program, s, call) or NOBODY
    verdict = verdict_of(call, Ruling("deny", EXPIRED, "nobody approved it in time", text))
    yield verdict
    yield from acted_on(program, s, [verdict])


def _blocks(program: Program, verdict: VerdictGiven) -> bool:
    """Whether a denial ends the run: never one of the form of a call, which is the model's to correct."""
    if verdict.rule in {SCHEMA, ALONE}:
        return False
    return (program.terms.on_unknown if verdict.rule == UNKNOWN_TOOL else program.terms.on_denied) == "block"
