"""The verdict on one call: its arguments, then what the contract grants, then the policy; deny by default."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from redrive_engine.occurrence import occurs
from redrive_engine.policy import EDITED_OVER, GROUNDED, NOT_ALLOWED, Question, Ruling, no_such_tool
from redrive_engine.program import Program
from redrive_engine.tools import Declaration
from redrive_engine.ways import WAYS_OUT
from redrive_events import ALONE, SCHEMA, UNKNOWN_TOOL, Json, Reading, VerdictGiven, canonical, text_of
from redrive_projections import MISSING, Call, RunState

# Edits that undo each other would never come to a verdict.
EDITS_MAX: Final = 8


def judge(program: Program, s: RunState, call: Call) -> Iterator[VerdictGiven]:
    """What may become of ``call``, and why; after an edit the changed call is judged, so the last verdict decides.

    Reads the call, the contract, principal, tenant, facts and time.
    """
    for _ in range(EDITS_MAX):
        ruling, policy = _ruling(program, s, call)
        yield verdict_of(call, ruling, policy)
        if ruling.verdict != "edit":
            return
    yield verdict_of(call, Ruling("deny", EDITED_OVER, f"{EDITS_MAX} edits, and no verdict", NOT_ALLOWED))


def verdict_of(call: Call, ruling: Ruling, policy: str = "") -> VerdictGiven:
    """The ruling on a call as an event; ``policy`` is the digest of the policy it comes from."""
    return VerdictGiven(
        call=call.number,
        verdict=ruling.verdict,
        rule=ruling.rule,
        reason=ruling.reason,
        read=ruling.read,
        text=ruling.text,
        arguments=ruling.arguments,
        policy=policy,
    )


def target(program: Program, call: Call) -> tuple[Json, Json]:
    """What a call acts on, and where it goes, as its tool names them; None where it does not say."""
    acts_on, destination = _target(program, call)
    return None if acts_on is MISSING else acts_on, None if destination is MISSING else destination


def _target(program: Program, call: Call) -> tuple[Json, Json]:
    declared = (program.tools or {}).get(call.tool)
    if declared is None:
        return MISSING, MISSING
    return _argument(call, declared.object), _argument(call, declared.destination)


def _ruling(program: Program, s: RunState, call: Call) -> tuple[Ruling, str]:
    """The ruling, and the digest of the policy it comes from: empty where it is not a policy's."""
    ruling, question = by_form(program, s, call)
    if question is None or program.policy is None:
        return ruling, ""
    return program.policy.judge(question), program.policy.digest


def by_form(program: Program, s: RunState, call: Call) -> tuple[Ruling, Question | None]:
    """What schema, contract and grounds say; where they allow, with the question that is left to a policy, if any."""
    if call.tool in program.terms.ways_out:
        return _beside(call), None
    declared = None if program.tools is None else program.tools.get(call.tool)
    if declared is None and program.tools is not None:
        read = Reading(path="tool", operator="one_of", value=call.tool, limit=sorted(program.tools))
        told = no_such_tool(call.tool, program.offered)
        return Ruling("deny", UNKNOWN_TOOL, f"no tool {call.tool!r}", told, (read,)), None
    if declared is not None and call.tool in program.offered and (problem := declared.problems(call.arguments)):
        return Ruling("deny", SCHEMA, reason=problem, text=_told(call, problem)), None
    ruling = program.grants.judge(call.tool, call.arguments)
    if ruling.verdict == "allow" and declared is not None and declared.grounded:
        ruling = _grounded(s, declared, call) or ruling
    asked = program.policy is not None and ruling.verdict == "allow"
    return ruling, _question_of(program, s, call) if asked else None


def _question_of(program: Program, s: RunState, call: Call) -> Question:
    """The call as a policy is asked about it at this moment of the run."""
    assert s.started is not None
    assert s.now is not None
    declared = (program.tools or {}).get(call.tool)
    acts_on, destination = _target(program, call)
    return Question(
        principal=s.started.principal,
        tenant=s.started.tenant,
        tool=call.tool,
        arguments=call.arguments,
        effect=declared.effect if declared else "unknown",
        object=acts_on,
        destination=destination,
        facts={key: fact.value for key, fact in s.facts.items()},
        at=s.now,
        clock=s.started.clock,
    )


def _told(call: Call, problem: str) -> str:
    """What does not fit; the model is not told to mend what it did not write."""
    changed = "" if call.arguments == call.proposed else "its arguments were changed, and do not fit: "
    return f"{call.tool}: {changed}{problem}"


def _beside(call: Call) -> Ruling:
    """The denial of a way out that does not lead out: its words do not fit, or other calls stand beside it."""
    if problem := WAYS_OUT[call.tool].problems(call.arguments):
        return Ruling("deny", SCHEMA, reason=problem, text=f"{call.tool}: {problem}")
    text = f"{call.tool} must be the only call of a reply. Call it alone, once the other calls are answered."
    return Ruling("deny", ALONE, reason="called beside other calls", text=text)


def _grounded(s: RunState, declared: Declaration, call: Call) -> Ruling | None:
    """A denial, if an argument that must not be made up occurs nowhere; what a rule or a person put there is given."""
    own = set(declared.grounded_values(call.proposed).values())
    for place, value in declared.grounded_values(call.arguments).items():
        if value not in own:
            continue
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
