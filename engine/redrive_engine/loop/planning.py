"""Plan, then loop: each step of a plan is a child run, and one that goes wrong has the rest drawn anew."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Final, TypeAlias

import msgspec

from redrive_engine.dialects import Unreadable
from redrive_engine.loop.follows import Follows
from redrive_engine.policy import STEP
from redrive_engine.program import Program
from redrive_events import (
    BadInput,
    Content,
    DecisionMade,
    FactCommitted,
    Json,
    Limits,
    ModelReplied,
    PlanDrawn,
    PlannedStep,
    PlanTerms,
    ProposedCall,
    Returned,
    StopDecided,
    ToolCalled,
    VerdictGiven,
    call_digest,
    canonical,
    parse_json,
    text_of,
)
from redrive_projections import Call, RunState, left, same

# The engine's own tool: a call of it is a child run.
RUN: Final = "run"

_FENCE = re.compile(r"```[a-zA-Z]*+[^\S\n]*+\n(.*?)```", re.DOTALL)
# So many brackets are looked at for the beginning of a list of steps.
BRACKETS_MAX: Final = 1_000
_BRACKET = re.compile(r"[{\[]")
Steps: TypeAlias = tuple[PlannedStep, ...]

# `1. …`, `2) …`, `3、…`, `- …`: a list as people and models write one.
_ITEM = re.compile(r"^[^\S\n]*+(?:\d{1,2}\s*+[.)、：:．]|[-*•])\s*+(\S.*)", re.MULTILINE)  # noqa: RUF001 - Chinese signs


def words(terms: PlanTerms, off_plan: str) -> str:
    """What the model is told when a plan is to be drawn, or drawn anew."""
    again = f"The plan has to be drawn anew: {off_plan}. Plan only what is still to be done. " if off_plan else ""
    return (
        f"{again}Do not act yet. Draw a plan of at most {terms.steps} steps that reaches the goal with the tools there "
        'are. Reply with one JSON object only: {"steps": ["…", {"step": "…", "budget": 3}]}; a budget says how many '
        f"replies a step may take, at most {terms.step_budget}."
    )


def read(program: Program, event: ModelReplied) -> Steps | Unreadable:
    """The reply to a request for a plan."""
    return read_plan(event.content, most=(program.terms.plan or PlanTerms()).steps)


def drawn(s: RunState, steps: Steps) -> Follows:
    """The model has drawn a plan, for the first time or anew."""
    yield DecisionMade(kind="plan", summary=f"{len(steps)} step{'' if len(steps) == 1 else 's'}")
    yield PlanDrawn(steps=steps, revision=s.plan.revision + 1 if s.plan else 1, reason=s.off_plan)


def read_plan(content: Content, *, most: int) -> Steps | Unreadable:
    """The steps of a plan: from JSON, fenced or not, or from a list of lines.

    Whatever prose stands around it is not looked at.
    """
    steps = tuple(_steps(text_of(content)))
    if not steps:
        return Unreadable("no plan", f'No steps were found. Reply with {{"steps": ["…", …]}}, at most {most} of them.')
    if len(steps) > most:
        told = f"{len(steps)} steps are too many: at most {most} are allowed."
        return Unreadable(f"a plan of {len(steps)} steps", told)
    return steps


def _steps(text: str) -> Iterator[PlannedStep]:
    for candidate in (*_FENCE.findall(text), text):
        for bracket in islice(_BRACKET.finditer(candidate), BRACKETS_MAX):
            found = _listed(candidate, bracket.start())
            if found:
                yield from found
                return
    yield from (PlannedStep(" ".join(words.split())) for words in _ITEM.findall(text))


def _listed(text: str, start: int) -> list[PlannedStep]:
    """The steps of the JSON that begins at ``start``; none if it is no list of steps."""
    try:
        _, end = json.JSONDecoder().raw_decode(text, start)
        value = parse_json(text[start:end])
    except (ValueError, RecursionError, BadInput):
        return []
    listed = value.get("steps") if isinstance(value, dict) else value
    steps = [_step(one) for one in listed] if isinstance(listed, list) else []
    return [step for step in steps if step is not None] if None not in steps else []


def _step(one: Json) -> PlannedStep | None:
    if isinstance(one, str):
        one = {"step": one}
    if not isinstance(one, dict) or not isinstance(one.get("step"), str) or not one["step"].strip():
        return None
    budget = one.get("budget")
    known = isinstance(budget, int) and not isinstance(budget, bool) and budget > 0
    return PlannedStep(" ".join(one["step"].split()), budget if known else None)


def begun(program: Program, s: RunState, plan: PlanDrawn) -> Follows:
    """The next step of the plan is set upon its way, with a goal that says no more than that step."""
    terms = program.terms.plan or PlanTerms()
    step, number, of = plan.steps[s.begun], s.begun + 1, len(plan.steps)
    remaining = left(program.terms.budget, s)
    tool_calls = remaining["tool_calls"]
    if tool_calls == 0:
        yield StopDecided(status="exhausted", reason="tool_calls", dimension="tool_calls")
        return
    budget = Limits(
        steps=min(step.budget or terms.step_budget, terms.step_budget),
        tokens=remaining["tokens"],
        wall_time_ms=remaining["wall_time"],
        tool_calls=None if tool_calls is None else tool_calls - 1,  # the child is a call itself
        cost_micros=remaining["cost"],
        currency=program.terms.budget.currency,
    )
    arguments: dict[str, Json] = {
        "goal": _goal(s, step.words),
        "known": {key: s.facts[key].value for key in sorted(s.facts)},
        "budget": msgspec.to_builtins(budget),
    }
    call = s.calls_made + 1
    yield DecisionMade(
        kind="call",
        summary=f"step {number} of {of}: {step.words}",
        calls=(ProposedCall(call=call, tool=RUN, arguments=arguments),),
        step=number,
    )
    yield VerdictGiven(call=call, verdict="allow", rule=STEP)
    yield ToolCalled(
        call=call,
        tool=RUN,
        arguments=arguments,
        digest=call_digest(RUN, arguments),
        effect="run",
    )


def _goal(s: RunState, step: str) -> str:
    done = "".join(f"\n- {line}" for line in s.done) or "\n(nothing)"
    known = "".join(f"\n- {key}: {canonical(fact.value).decode()}" for key, fact in sorted(s.facts.items()))
    overall = s.started.goal if s.started else ""
    facts = f"\nKnown facts:{known}" if known else ""
    return f"Overall goal: {overall}\nDone so far:{done}{facts}\nDo only this step: {step}"


def came_back(s: RunState, call: Call, returned: Returned) -> Follows:
    """What a child run found becomes known here too; its evidence is what it came back with."""
    for key, value in sorted(returned.facts.items()):  # in the order in which they are stored
        before = s.facts.get(key)
        if before is None or not same(before.value, value):
            supersedes = None if before is None else before.position
            yield FactCommitted(key=key, value=value, verifier=RUN, evidence=(call.observed,), supersedes=supersedes)


def given_up(plan: PlanDrawn, why: str) -> StopDecided:
    """The plan has been drawn anew as often as it may."""
    return StopDecided(status="failed", reason=f"off plan {plan.revision}: {why}")
