"""What is said of an agent before it runs: each finding is certain, and every one there could be is there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from msgspec import structs

from redrive_engine import ANY, Agent, Budget, Contract, FailureQuotas, Grounded, Guards, Repeats, Tool, tool
from redrive_engine.checking import Ceiling, Flaw, Subject, ceiling_of, flaws_of
from redrive_engine.checking.failing import most
from redrive_engine.models import Prices, ScriptedModel
from redrive_engine.policy import FunctionPolicy, Policy, PolicyList, Question, RulesPolicy, Ruling
from redrive_engine.program import Program
from redrive_events import FactCommitted, RecoveryChosen, ToolCalled
from redrive_projections import RunState, evolve
from tests.random_runs import driven_programs, programs, random_run, tapes
from tests.shop import TOOLS, VERIFIERS

EVERYONE_LOOKS = """
[[rule]]
name = "a person looks"
when = { tool = "pay" }
then = "ask"
[[rule]]
name = "looking is free"
when = { effect = "read" }
then = "allow"
"""
ONLY_LOOKING = """
[[rule]]
name = "looking is free"
when = { effect = "read" }
then = "allow"
"""
PRICES = Prices.from_toml('[models."big"]\ninput = 2\noutput = 10\n[models."bigger"]\ninput = 3\noutput = 15\n')
GRANTED: dict[str, dict[str, Any]] = {"price_of": {}, "count": {}, "pay": {}, "poke": {}}


@tool(effect="write")
def send(phone: Grounded[str], lines: list[Grounded[int]]) -> str:
    """Send."""
    return f"{phone}: {lines}"


def silent(question: Question) -> Ruling | None:  # noqa: ARG001 - it looks at nothing
    """A policy without an opinion."""
    return None


def agent_of(policy: Policy | None = None, own: list[Tool] | None = None, **terms: Any) -> Agent:
    """An agent of the shop, or of tools of its ``own`` whose results nobody verifies."""
    granted = GRANTED if own is None else {one.declaration.name: {} for one in own}
    contract = Contract(**({"tools": granted} | terms))
    verifiers = VERIFIERS if own is None else ()
    return Agent(
        "shop",
        "1",
        contract,
        tools=list(TOOLS.values()) if own is None else own,
        verifiers=verifiers,
        policy=policy,
        model=ScriptedModel(["Hm."]),
    )


def found(agent: Agent, **more: Any) -> list[str]:
    """Each finding in one line."""
    return [f"{one.place}: {one.text}" for one in flaws_of(Subject.of(agent, **more))]


def test_a_contract_that_can_be_kept_has_no_findings() -> None:
    """Of one with all there is: criteria, quotas, rungs, guards, people."""
    agent = agent_of(
        RulesPolicy.from_toml(EVERYONE_LOOKS),
        done={"paid": ANY},
        quotas=FailureQuotas(denied=2, tool_failed=2, finish=2),
        recovery=["another_way", "stronger_model", "escalate"],
        models=["bigger"],
        guards=Guards(repeats=Repeats(), barren_turns=5, warn=True, last_step=True),
        approval_waits="1h",
        person_waits="1h",
    )
    assert [one for one in found(agent) if not one.startswith("tool poke")] == []


@pytest.mark.parametrize(
    ("terms", "place", "text"),
    [
        ({"tools": {"pay": {}}}, "tool count", "no call of it is ever made: it is not granted"),
        ({"tools": {"pay": {}}}, "verifier latest", "it never has anything to look at: it is one of count"),
        ({"exclude": {"pay": {}}}, "tool pay", "no call of it is ever made: all calls of it are excluded"),
        (
            {"tools": {"price_of": {}}, "done": {"paid": ANY}},
            "contract.done",
            "'paid' can never be known: only pay (it is not granted) could tell",
        ),
        (
            {"tools": {"price_of": {}}, "answer": "Paid {paid} at {price}."},
            "contract.answer",
            "'paid' can never be known: only pay (it is not granted) could tell",
        ),
        (
            {"arm": "direct", "done": {"price": ANY}},
            "contract.done",
            "'price' can never be known: only price_of (a direct answer calls nothing) could tell",
        ),
        (
            {"tools": GRANTED | {"pay": {"cent": {"at_most": 5}}}},
            "contract.tools.pay",
            "no argument 'cent', so every call is denied; there are cents, item",
        ),
        (
            {"tools": GRANTED | {"pay": {"cent": {"known": False}}}},
            "contract.tools.pay",
            "no argument 'cent'; there are cents, item",
        ),
        (
            {"exclude": {"pay": {"cent": 5}}},
            "contract.exclude.pay",
            "no argument 'cent'; there are cents, item",
        ),
        (
            {"tools": {"price_of": {}}, "exclude": {"pay": {"cents": 5}}},
            "contract.exclude.pay",
            "it is not granted, so there is nothing to exclude",
        ),
        (
            {"tools": {"pay": {}}, "guards": Guards(repeats=Repeats(polling=("count",)))},
            "contract.guards.repeats.polling",
            "count is never called: it is not granted",
        ),
        (
            {
                "arm": "workflow",
                "workflow": [
                    {"tool": "pay", "arguments": {"item": "{goal}", "cents": "{price}"}},
                    {"tool": "price_of", "arguments": {"item": "tea"}},
                ],
            },
            "contract.workflow",
            "step 1 names 'price', which no step before it can tell",
        ),
        (
            {
                "arm": "workflow",
                "workflow": [{"tool": "price_of", "arguments": {"item": "tea"}}],
                "done": {"paid": ANY},
            },
            "contract.done",
            "'paid' can never be known: only pay (the workflow does not call it) could tell",
        ),
        (
            {"done": {"paid": ANY}, "budget": Budget(steps=1)},
            "contract.budget.steps",
            "one step is for a call, and then there is none to finish: nothing succeeds",
        ),
        (
            {"guards": Guards(last_step=True), "budget": Budget(steps=1)},
            "contract.guards.last_step",
            "the only step is the last one, so no call ever starts",
        ),
        (
            {"quotas": FailureQuotas(unreadable=5), "budget": Budget(steps=4)},
            "contract.quotas.unreadable",
            "5 in a row can never be: the budget lets there be 4 at most",
        ),
        (
            {"quotas": FailureQuotas(tool_failed=3), "budget": Budget(tool_calls=2)},
            "contract.quotas.tool_failed",
            "3 in a row can never be: the budget lets there be 2 at most",
        ),
        (
            {"quotas": FailureQuotas(denied=5), "budget": Budget(steps=4), "dialect": "json"},
            "contract.quotas.denied",
            "5 in a row can never be: the budget lets there be 4 at most",
        ),
        (
            {"quotas": FailureQuotas(denied=2), "on_denied": "block"},
            "contract.quotas.denied",
            "it is never reached: on_denied ends the run with the first of them",
        ),
        (
            {"quotas": FailureQuotas(refused=2), "on_refused": "fail"},
            "contract.quotas.refused",
            "it is never reached: on_refused ends the run with the first of them",
        ),
        (
            {"quotas": FailureQuotas(finish=2)},
            "contract.quotas.finish",
            "it is never reached: without criteria no finish is ever refused",
        ),
        (
            {"recovery": ["another_way"], "quotas": FailureQuotas(unreadable=None)},
            "contract.recovery",
            "another_way never comes: it helps no model that does not answer, and nothing else has a quota",
        ),
        (
            {"recovery": ["stronger_model", "stronger_model"], "models": ["big"]},
            "contract.recovery",
            "stronger_model comes 1 times at most: there are no more models",
        ),
        (
            {"recovery": ["escalate", "another_way"], "escalation": "end"},
            "contract.recovery",
            "another_way never comes: the run ends with escalate",
        ),
        (
            {"tools": {"price_of": {}}, "recovery": ["compensate"]},
            "contract.recovery",
            "compensate never undoes anything: no tool that may be called can undo what it did",
        ),
        (
            {"recovery": ["stronger_model"], "models": ["big", "bigger"]},
            "contract.models",
            "bigger is never asked: stronger_model is in recovery 1 times",
        ),
        ({"models": ["big"]}, "contract.models", "big is never asked: stronger_model is in recovery never"),
        ({"tools": {"price_of": {}}, "attempts": 3}, "contract.attempts", "no write can ever be called"),
        ({"tools": {"pay": {}}, "read_attempts": 3}, "contract.read_attempts", "no read can ever be called"),
        (
            {"guards": Guards(repeats=Repeats(times=4, window=3))},
            "contract.guards.repeats",
            "4 times can never be among the last 3 calls",
        ),
        (
            {"guards": Guards(barren_turns=4), "budget": Budget(steps=5)},
            "contract.guards.barren_turns",
            "the run ends with its 5 steps before there are more",
        ),
        (
            {"guards": {"stagnation": {"thoughts": 5}}, "budget": Budget(steps=5)},
            "contract.guards.stagnation",
            "the run ends with its 5 steps before there are so many thoughts",
        ),
        ({"approval_waits": "1h"}, "contract.approval_waits", "no rule asks for an approval"),
        ({"person_waits": "1h"}, "contract.person_waits", "nothing asks a person"),
        (
            {"recovery": ["escalate"], "ways_out": ["escalate"], "on_doubt": "wait"},
            "contract.person_waits",
            "recovery and the way out and an effect in doubt may ask a person, who need never answer; "
            "say how long that is waited for",
        ),
        (
            {"on_doubt": "tell"},
            "tool poke",
            "whether it took effect is never learnt where that is in doubt: it has no reconcile, "
            "and on_doubt asks nobody",
        ),
    ],
)
def test_what_can_never_come_is_found(terms: dict[str, Any], place: str, text: str) -> None:
    """With where it is said, and why."""
    assert Flaw(place, text) in flaws_of(Subject.of(agent_of(**terms)))


def test_a_default_need_not_fit() -> None:
    """Nobody has written a quota of three unreadable replies where there are two steps."""
    assert not [one for one in found(agent_of(budget=Budget(steps=2))) if "quotas" in one]


def test_rules_are_checked_against_what_there_is() -> None:
    """Their own findings, the tools that none of them allows, and the person who need never answer."""
    misspelt = RulesPolicy.from_toml(ONLY_LOOKING + EVERYONE_LOOKS.replace('"pay"', '"pya"').replace("free", "costly"))
    told = found(agent_of(misspelt, done={"paid": ANY}))
    assert "policy: rule 'a person looks': no tool 'pya'; there are count, pay, poke, price_of" in told
    assert "tool pay: no call of it is ever made: no rule allows it" in told
    assert "contract.done: 'paid' can never be known: only pay (no rule allows it) could tell" in told
    asks = "rule 'a person looks' asks a person, who need never answer; say how long that is waited for"
    assert f"contract.approval_waits: {asks}" in found(agent_of(RulesPolicy.from_toml(EVERYONE_LOOKS)))


def test_of_several_policies_only_rules_are_checked() -> None:
    """What a function allows, or asks about, nobody can say."""
    rules = RulesPolicy.from_toml(ONLY_LOOKING)
    several = PolicyList([FunctionPolicy(silent), rules])
    assert Subject.of(agent_of(several)).barred == {}
    assert "contract.approval_waits: no rule asks for an approval" not in found(agent_of(several, approval_waits="1h"))
    assert Subject.of(agent_of(PolicyList([rules]))).barred == {"pay": "no rule allows it", "poke": "no rule allows it"}


def test_a_grounded_value_needs_ground() -> None:
    """Where no tool's results are verified nothing but a person's words bears it out."""
    problem = "no tool's results are verified, so nothing but what people say bears its values out"
    assert found(agent_of(own=[send])) == [f"tool send: lines, phone is grounded: {problem}"]


@pytest.mark.parametrize(
    ("budget", "prices", "text"),
    [
        (
            Budget(cost="1 USD"),
            None,
            "cost is limited, and there is no table of prices that says what big, bigger costs",
        ),
        (Budget(cost="1 USD"), Prices({}), "cost is limited, and there is no price for 'big'"),
        (Budget(cost="1 EUR"), PRICES, "the contract counts EUR, the prices are in USD"),
        (Budget(cost="1 USD"), PRICES, None),
        (Budget(), None, None),
    ],
)
def test_what_nobody_can_count_is_found(budget: Budget, prices: Prices | None, text: str | None) -> None:
    """Before a run is begun that may not cost more than so much."""
    agent = agent_of(budget=budget, recovery=["stronger_model"], models=["bigger"])
    told = [one for one in found(agent, prices=prices, model="big") if "cost" in one]
    assert (text is None and not told) or any(one.endswith(str(text)) for one in told)


def test_the_ceiling_is_steps_tokens_and_price() -> None:
    """Tokens at the dearest price of any model that may be asked; or the limit, if that is less."""
    agent = agent_of(
        budget=Budget(steps=10, tokens=20_000, tool_calls=3, wall_time="2m"),
        parameters={"max_tokens": 500},
        recovery=["stronger_model"],
        models=["bigger", "huge"],
    )
    assert ceiling_of(Subject.of(agent, PRICES, model="big")) == Ceiling(
        steps=10,
        child_steps=0,
        tokens=20_000,
        output_tokens=5000,
        tool_calls=3,
        wall_time_ms=120_000,
        cost_micros=300_000,
        currency="USD",
    )
    limited = agent_of(budget=Budget(tokens=20_000, cost="0.10 USD"))
    assert ceiling_of(Subject.of(limited, PRICES, model="big")).cost_micros == 100_000
    assert ceiling_of(Subject.of(agent_of(), model="big")).cost_micros is None
    assert ceiling_of(Subject.of(agent_of())).cost_micros == 0, "a model without a name costs nothing"


def test_a_plan_has_the_steps_of_its_children_too() -> None:
    """As often as it may be drawn."""
    agent = agent_of(arm="plan", plan={"steps": 3, "step_budget": 4, "revisions": 1})
    assert ceiling_of(Subject.of(agent)).child_steps == 24


def subject_of(program: Program) -> Subject:
    """A random program, checked; all its quotas count as written."""
    quotas = FailureQuotas(**structs.asdict(program.terms.quotas))
    return Subject(Contract(quotas=quotas), program)


@settings(max_examples=300, deadline=None)
@given(tapes, programs | driven_programs)
def test_what_is_said_never_to_come_never_comes(tape: bytes, program: Program) -> None:
    """Whatever model, tools and people do: no tool that is barred is called, and no more fails than can."""
    subject = subject_of(program)
    unknowable = [one.text.split("'")[1] for one in flaws_of(subject) if "can never be known" in one.text]
    rungs = {one.text.split()[0] for one in flaws_of(subject) if "never comes: it helps" in one.text}
    state, bounds = RunState(), most(subject)
    for record in random_run(tape, program):
        evolve(state, record)
        event = record.event
        if isinstance(event, ToolCalled):
            assert event.tool not in subject.barred, event
        if isinstance(event, FactCommitted) and event.verifier != "run":
            assert event.key not in unknowable, event
        if isinstance(event, RecoveryChosen):
            assert event.rung not in rungs, event
        if not state.undoing:
            for kind, bound in bounds.items():
                assert state.watch.in_a_row(kind) <= bound, (kind, event)


def test_another_program_of_the_same_contract_is_another_subject() -> None:
    """What is barred follows from the rules that there are."""
    agent = agent_of(RulesPolicy.from_toml(EVERYONE_LOOKS))
    free = replace(Subject.of(agent), program=replace(agent.program, policy=None))
    assert (Subject.of(agent).barred, free.barred) == ({"poke": "no rule allows it"}, {})
