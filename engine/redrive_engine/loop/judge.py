"""The verdict on one call: its arguments, then what the contract grants, then the policy; deny by default."""

from __future__ import annotations

from collections.abc import Iterator

from redrive_engine.occurrence import occurs
from redrive_engine.policy import GROUNDED, Question, Ruling, by_contract, no_such_tool
from redrive_engine.program import Program
from redrive_engine.tools import Declaration
from redrive_engine.ways import WAYS_OUT
from redrive_events import ALONE, SCHEMA, UNKNOWN_TOOL, Json, Reading, VerdictGiven, canonical, text_of
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
    if call.tool in program.terms.ways_out:
        return _beside(call)
    declared = None if program.tools is None else program.tools.get(call.tool)
    if declared is None and program.tools is not None:
        read = Reading(path="tool", operator="one_of", value=call.tool, limit=sorted(program.tools))
        return Ruling("deny", UNKNOWN_TOOL, f"no tool {call.tool!r}", no_such_tool(call.tool, program.offered), (read,))
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
    if ruling.verdict == "allow" and declared is not None:
        ruling = _grounded(s, declared, call) or ruling
    if ruling.verdict == "allow" and program.policy is not None:
        return program.policy.judge(question)
    return ruling


def _beside(call: Call) -> Ruling:
    """The denial of a way out that does not lead out: its words do not fit, or other calls stand beside it."""
    if problem := WAYS_OUT[call.tool].problems(call.arguments):
        return Ruling("deny", SCHEMA, reason=problem, text=f"{call.tool}: {problem}")
    text = f"{call.tool} must be the only call of a reply. Call it alone, once the other calls are answered."
    return Ruling("deny", ALONE, reason="called beside other calls", text=text)


def _grounded(s: RunState, declared: Declaration, call: Call) -> Ruling | None:
    """A denial, if an argument that must not be made up occurs nowhere."""
    for place, value in declared.grounded_values(call.arguments).items():
        if not any(occurs(value, words) for words in _grounds(s)):
            read = Reading(path=f"arguments.{place}", operator="grounded", value=value)
            text = f"{call.tool}: {place} is a value that nobody gave and nothing showed, so the call was not made."
            return Ruling("deny", GROUNDED, f"arguments.{place} occurs nowhere", text, (read,))
    return None


def _grounds(s: RunState) -> Iterator[str]:
    """What people said and verified observations showed, the latest first, then what is known."""
    yield from (text_of(content) for content in reversed(s.watch.grounds.values()))
    yield from (canonical(fact.value).decode() for fact in s.facts.values())


def _argument(call: Call, name: str) -> Json:
    return call.arguments.get(name, MISSING) if name and isinstance(call.arguments, dict) else MISSING
