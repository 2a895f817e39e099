"""Faults that were planted after the causes were told apart, to see whether that was made to fit the others."""

from __future__ import annotations

import dataclasses
import random
from datetime import timedelta

import msgspec

from redrive_engine.models import reply, use
from redrive_events import (
    FactCommitted,
    GuardTerms,
    ModelAsked,
    ModelReplied,
    ObservationReceived,
    RepeatTerms,
    RunEnded,
    Terms,
    ToolCalled,
    Usage,
    VerdictGiven,
)
from tests.planted.stories import (
    ALLOW,
    NO_POKE,
    Planted,
    changed,
    first,
    following,
    planted,
    program,
    some,
    story,
    with_event,
    with_tool,
)
from tests.shop import recorded, seen, shop


@planted
def a_limit_in_a_rule(chance: random.Random) -> Planted:
    """What is paid is more than the rule allows by now."""
    while True:
        records = story(chance)
        if any(isinstance(one.event, ToolCalled) and one.event.tool == "pay" for one in records):
            break
    call = first(records, ToolCalled, lambda event: event.tool == "pay").event
    assert isinstance(call, ToolCalled)
    limit = call.arguments["cents"] - 1
    small = f"arguments.cents = {{ at_most = {limit} }}"
    rules = f'[[rule]]\nname = "small"\nwhen = {{ tool = "pay", {small} }}\nthen = "allow"\n'
    rules += '[[rule]]\nname = "no more"\nwhen = { tool = "pay" }\nthen = "deny"\n' + ALLOW
    where = first(records, VerdictGiven, lambda event: event.call == call.call)
    return Planted(records, program(rules=rules), where.position, "policy")


@planted
def an_exclusion(chance: random.Random) -> Planted:
    """The contract excludes what was allowed."""
    records = story(chance)
    terms = Terms(exclude={"price_of": {"item": {"is": "tea"}}})
    return Planted(records, program(terms), first(records, VerdictGiven).position, "contract")


@planted
def an_answer_of_facts(chance: random.Random) -> Planted:
    """The answer is worded by the contract."""
    records = story(chance)
    return Planted(records, program(Terms(answer="It costs {price}.")), len(records), "contract")


@planted
def other_parameters(chance: random.Random) -> Planted:
    """The model is asked with another temperature."""
    records = story(chance)
    terms = Terms(parameters={"temperature": chance.random()})
    return Planted(records, program(terms), first(records, ModelAsked).position, "contract")


@planted
def a_guard(chance: random.Random) -> Planted:
    """The same call is held back the second time."""
    while True:
        records = story(chance)
        made, again = set[str](), None
        for one in records:
            if isinstance(one.event, ToolCalled) and one.event.effect == "read":
                again = one if again is None and one.event.digest in made else again
                made.add(one.event.digest)
        if again is not None and not any(
            isinstance(one.event, ToolCalled) and one.event.tool == "pay" for one in records
        ):
            break
    guards = GuardTerms(repeats=RepeatTerms(times=1))
    verdicts = [one for one in records[: again.position] if isinstance(one.event, VerdictGiven)]
    return Planted(records, program(Terms(guards=guards)), verdicts[-1].position + 1, "contract")


@planted
def a_tool_that_is_gone(chance: random.Random) -> Planted:
    """One that was never called."""
    records = story(chance)
    whole = program()
    tools = {name: one for name, one in (whole.tools or {}).items() if name != "poke"}
    return Planted(records, dataclasses.replace(whole, tools=tools), first(records, ModelAsked).position, "tool schema")


@planted
def another_schema(chance: random.Random) -> Planted:
    """An argument has another description."""
    records = story(chance)
    schema = {"type": "object", "properties": {"item": {"type": "string", "description": "What."}}}
    return Planted(records, with_tool("count", schema=schema), first(records, ModelAsked).position, "tool schema")


@planted
def an_answer_to_another_call(chance: random.Random) -> Planted:
    """An observation is said to be of a call that nobody made."""
    records = story(chance)
    where = some(chance, records, ObservationReceived)
    return Planted(with_event(records, where.position, changed(where, call=99)), program(), where.position, "left over")


@planted
def other_tokens(chance: random.Random) -> Planted:
    """A reply is said to have cost tokens."""
    records = story(chance)
    where = first(records, ModelReplied)
    event = changed(where, usage=Usage(input=5, output=7))
    place = following(records, where, ModelAsked)
    return Planted(with_event(records, where.position, event), program(), place.position, "model")


@planted
def fewer_tokens(chance: random.Random) -> Planted:
    """A reply is said to have cost less than it did; the end shows that, where nothing is asked behind it."""
    replies = [reply("", use("count", item="tea"), usage=Usage(input=chance.randint(50, 9_000), output=9))]
    records = recorded(
        program(), *replies, seen(1, 3), reply("Done.", usage=Usage(input=800, output=chance.randint(2, 99)))
    )
    where = chance.choice([one for one in records if isinstance(one.event, ModelReplied)])
    event = changed(where, usage=Usage(input=5, output=1))
    place = following(records, where, ModelAsked, RunEnded)
    return Planted(with_event(records, where.position, event), program(), place.position, "model")


@planted
def a_late_end(chance: random.Random) -> Planted:
    """The end has a time of its own."""
    records = story(chance)
    moved = msgspec.structs.replace(records[-1], at=records[-1].at + timedelta(seconds=1))
    return Planted([*records[:-1], moved], program(), len(records), "clock")


@planted
def another_fact(chance: random.Random) -> Planted:
    """A fact is said to be another one than the tool's result bears out."""
    records = story(chance)
    where = some(chance, records, FactCommitted)
    return Planted(
        with_event(records, where.position, changed(where, value="?")), program(), where.position, "tool result"
    )


@planted
def a_policy_that_is_gone(chance: random.Random) -> Planted:
    """The contract alone allows what a rule denied."""
    records = story(chance, rules=NO_POKE + ALLOW)
    where = first(records, VerdictGiven, lambda event: event.verdict == "deny")
    return Planted(records, shop(Terms()), where.position, "policy")
