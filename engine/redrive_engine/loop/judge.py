"""The verdict on one call: its arguments, then what the contract grants, then the policy; deny by default."""

from __future__ import annotations

from redrive_engine.policy import SCHEMA, UNKNOWN_TOOL, Question, Ruling, by_contract
from redrive_engine.program import Program
from redrive_events import Json, VerdictGiven
from redrive_projections import MISSING, Call, RunState


def judge(program: Program, s: RunState, call: Call) -> VerdictGiven:
    """What may become of ``call``, and why. Reads the call, the contract, principal, tenant, facts and time."""
    ruling = _ruling(program, s, call)
    return VerdictGiven(
        call=call.number,
        verdict=ruling.verdict,
        rule=ruling.rule,
        reason=ruling.reason,
        read=ruling.read,
        text=ruling.text,
    )


def _ruling(program: Program, s: RunState, call: Call) -> Ruling:
    assert s.started is not None
    assert s.now is not None
    declared = None if program.tools is None else program.tools.get(call.tool)
    if declared is not None and call.tool in program.offered and (problem := declared.problems(call.arguments)):
        return Ruling("deny", SCHEMA, reason=problem, text=f"{call.tool}: {problem}")
    question = Question(
        principal=s.started.principal,
        tenant=s.started.tenant,
        tool=call.tool,
        arguments=call.arguments,
        effect=declared.effect if declared else "unknown",
        object=_argument(call, declared.object if declared else ""),
        destination=_argument(call, declared.destination if declared else ""),
        facts={key: fact.value for key, fact in s.facts.items()},
        at=s.now,
    )
    ruling = by_contract(program.terms, question)
    if ruling.verdict == "allow" and declared is None and program.tools is not None:
        return Ruling("deny", UNKNOWN_TOOL, reason=f"no tool {call.tool!r}", text=_known(program))
    if ruling.verdict == "allow" and program.policy is not None:
        return program.policy.judge(question)
    return ruling


def _argument(call: Call, name: str) -> Json:
    return call.arguments.get(name, MISSING) if name and isinstance(call.arguments, dict) else MISSING


def _known(program: Program) -> str:
    return f"There is no such tool. There are: {', '.join(sorted(program.tools or {}))}."
