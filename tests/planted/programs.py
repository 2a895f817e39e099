"""Faults of programs: a part of it is another one, and the recording stays as it is."""

from __future__ import annotations

import random

from redrive_engine.tools import Call
from redrive_engine.verifiers import Facts, Refused, Supersedes, verifier
from redrive_events import (
    FactCommitted,
    Limits,
    ModelAsked,
    ObservationVerified,
    StopDecided,
    Terms,
    ToolCalled,
    VerdictGiven,
)
from tests.planted.stories import (
    ALLOW,
    NO_POKE,
    Planted,
    first,
    following,
    planted,
    program,
    some,
    story,
    with_tool,
    with_verifier,
)
from tests.shop import TOOLS


@planted
def a_rule_that_denies(chance: random.Random) -> Planted:
    """The first verdict on the tool is another one."""
    records = story(chance)
    call = some(chance, records, ToolCalled).event
    assert isinstance(call, ToolCalled)
    rules = f'[[rule]]\nname = "no"\nwhen = {{ tool = "{call.tool}" }}\nthen = "deny"\n' + ALLOW
    number = first(records, ToolCalled, lambda event: event.tool == call.tool).event.call  # type: ignore[union-attr]
    where = first(records, VerdictGiven, lambda event: event.call == number)
    return Planted(records, program(rules=rules), where.position, "policy")


@planted
def a_rule_that_asks(chance: random.Random) -> Planted:
    """A person is asked where nobody was."""
    records = story(chance)
    rules = '[[rule]]\nname = "look"\nwhen = { tool = "price_of" }\nthen = "ask"\n' + ALLOW
    return Planted(records, program(rules=rules), first(records, VerdictGiven).position, "policy")


@planted
def a_rule_that_edits(chance: random.Random) -> Planted:
    """What is asked for is changed."""
    records = story(chance)
    rules = '[[rule]]\nname = "milk"\nwhen = { tool = "price_of" }\nthen = "edit"\nset = { arguments.item = "milk" }\n'
    return Planted(records, program(rules=rules + ALLOW), first(records, VerdictGiven).position, "policy")


@planted
def other_words_of_a_denial(chance: random.Random) -> Planted:
    """The model is told something else."""
    records = story(chance, rules=NO_POKE + ALLOW)
    rules = NO_POKE.replace("Do not poke.", "Never poke.") + ALLOW
    where = first(records, VerdictGiven, lambda event: event.verdict == "deny")
    return Planted(records, program(rules=rules), where.position, "policy")


@planted
def fewer_grants(chance: random.Random) -> Planted:
    """The model is told of fewer tools."""
    records = story(chance)
    terms = Terms(tools={name: {} for name in chance.sample(sorted(TOOLS), 2)})
    return Planted(records, program(terms), first(records, ModelAsked).position, "contract")


@planted
def a_smaller_budget(chance: random.Random) -> Planted:
    """It stops where it asked once more."""
    records = story(chance)
    asked = [one for one in records if type(one.event) is ModelAsked]
    steps = chance.randint(1, len(asked) - 1)
    return Planted(records, program(Terms(budget=Limits(steps=steps))), asked[steps].position, "contract")


@planted
def a_criterion_more(chance: random.Random) -> Planted:
    """It is not done where it was."""
    records = story(chance)
    terms = Terms(done={"delivered": {"known": True}})
    return Planted(records, program(terms), first(records, StopDecided).position, "contract")


@planted
def a_denial_that_blocks(chance: random.Random) -> Planted:
    """It ends where it went on."""
    records = story(chance, rules=NO_POKE + ALLOW)
    denied = first(records, VerdictGiven, lambda event: event.verdict == "deny")
    where = following(records, denied, ToolCalled, ModelAsked)
    return Planted(records, program(Terms(on_denied="block"), rules=NO_POKE + ALLOW), where.position, "contract")


@planted
def a_scope(chance: random.Random) -> Planted:
    """What is paid is out of it."""
    records = story(chance)
    scope = {"price_of": {"item": {"is": "milk"}}, "count": {}, "pay": {}, "poke": {}}
    return Planted(records, program(Terms(tools=scope)), first(records, VerdictGiven).position, "contract")


@planted
def another_model(chance: random.Random) -> Planted:
    """Another one is asked."""
    records = story(chance)
    return Planted(records, program(Terms(model="bigger")), first(records, ModelAsked).position, "model")


@planted
def another_prompt(chance: random.Random) -> Planted:
    """All requests begin with other words."""
    records = story(chance)
    prompt = chance.choice(("Serve well.", "请好好服务。", ""))
    return Planted(records, program(prompt=prompt), first(records, ModelAsked).position, "prompt")


@planted
def another_description(chance: random.Random) -> Planted:
    """The model is told of a tool in other words."""
    records = story(chance)
    now = with_tool(chance.choice(sorted(TOOLS)), description="Something.")
    return Planted(records, now, first(records, ModelAsked).position, "tool schema")


@planted
def another_effect(chance: random.Random) -> Planted:
    """A read is a write by now."""
    records = story(chance)
    return Planted(records, with_tool("price_of", effect="write"), first(records, ToolCalled).position, "tool schema")


@planted
def another_timeout(chance: random.Random) -> Planted:
    """A tool has longer."""
    records = story(chance)
    return Planted(records, with_tool("price_of", timeout_ms=9_000), first(records, ToolCalled).position, "tool schema")


@verifier(TOOLS["price_of"], commits=["price"])
def right_item(call: Call, seen: dict[str, int], facts: Facts) -> Facts | Refused:  # noqa: ARG001
    """Accepts nothing."""
    return Refused("never")


@verifier(TOOLS["count"], commits=["stock"])
def latest(call: Call, seen: int, facts: Facts) -> Facts | Refused:  # noqa: ARG001
    """Counts one more."""
    return {"stock": Supersedes(seen + 1)}


@planted
def a_verifier_that_refuses(chance: random.Random) -> Planted:
    """The first price is not accepted."""
    records = story(chance)
    where = first(records, ObservationVerified, lambda event: event.verifier == "right_item")
    return Planted(records, with_verifier(right_item), where.position, "verifier")


@planted
def a_verifier_that_finds_otherwise(chance: random.Random) -> Planted:
    """The stock is another fact."""
    records = story(chance)
    while not any(isinstance(one.event, FactCommitted) and one.event.key == "stock" for one in records):
        records = story(chance)
    where = first(records, FactCommitted, lambda event: event.key == "stock")
    return Planted(records, with_verifier(latest), where.position, "verifier")
