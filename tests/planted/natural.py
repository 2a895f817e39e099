"""Two versions of an example: what a person would change in it, and where they would say that it shows first."""
# ruff: noqa: ARG001 - a verifier need not look at all that it is given

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import structs

import orders_sms
import redrive as rd
import refund_desk
import weather
from orders_sms.world import Sms
from redrive_engine import Program
from redrive_engine.live import StillClock, Surroundings
from redrive_engine.policy import RulesPolicy
from redrive_engine.verifiers import Verifier
from redrive_events import (
    DecisionMade,
    FactCommitted,
    ModelAsked,
    ObservationVerified,
    Predicate,
    Record,
    RunEnded,
    RunStarted,
    StopDecided,
    ToolCalled,
    VerdictGiven,
)
from redrive_replays import Cause
from refund_desk import desk
from refund_desk.shop import Order, Receipt
from tests.planted.stories import Planted, changed, first, with_event

Case: TypeAlias = tuple[str, Callable[[], Planted]]
CASES: list[Case] = []

READS = '[[rule]]\nname = "reads"\nwhen = { effect = "read" }\nthen = "allow"\n'
DESK, SMS, WEATHER = "refund_desk", "orders_sms", "weather"
EXAMPLES: dict[str, tuple[rd.Agent, str]] = {
    DESK: (refund_desk.agent, "Refund ord_123"),
    SMS: (orders_sms.agent, orders_sms.GOAL),
    WEATHER: (weather.agent, weather.GOAL),
}


@cache
def recording(example: str) -> tuple[Record, ...]:
    """The run of an example as it is in the repository."""
    agent, goal = EXAMPLES[example]
    around = Surroundings.fixed(StillClock())
    return tuple(agent.run(goal, principal="ana", log=rd.MemoryLog(), surroundings=around).records())


def version(name: str) -> Callable[[Callable[[], Planted]], Callable[[], Planted]]:
    """Join the cases, under the name of the example."""

    def joined(case: Callable[[], Planted]) -> Callable[[], Planted]:
        CASES.append((f"{name}: {case.__name__}", case))
        return case

    return joined


def naturals() -> Iterator[tuple[str, Planted]]:
    """Each case, with its name."""
    for name, case in CASES:
        yield name, case()


def program(example: str, **changes: Any) -> Program:
    """The program of an example with other parts."""
    return dataclasses.replace(EXAMPLES[example][0].program, **changes)


def with_terms(example: str, **changes: Any) -> Program:
    """The program of an example under another contract."""
    return program(example, terms=structs.replace(EXAMPLES[example][0].program.terms, **changes))


def with_tool(example: str, name: str, **changes: Any) -> Program:
    """The program of an example with one tool declared otherwise."""
    tools = dict(EXAMPLES[example][0].program.tools or {})
    tools[name] = dataclasses.replace(tools[name], **changes)
    return program(example, tools=tools)


def with_verifier(example: str, other: Verifier) -> Program:
    """The program of an example with another verifier in the place of the one of its name."""
    verifiers = EXAMPLES[example][0].program.verifiers
    return program(example, verifiers=tuple(other if one.name == other.name else one for one in verifiers))


def prompted(example: str, words: str) -> Program:
    """The program of an example with another system prompt."""
    return program(example, prompt=({"role": "system", "content": words},))


def found(
    example: str, now: Program, cause: Cause, kind: type, holds: Callable[[Any], bool] = lambda _: True
) -> Planted:
    """The recording, with the first event of a kind as the place where it shows."""
    records = list(recording(example))
    return Planted(records, now, first(records, kind, holds).position, cause)


def of_call(number: int | None) -> Callable[[Any], bool]:
    """Whether an event is about this call."""
    return lambda event: bool(event.call == number)


@version(DESK)
def a_smaller_limit() -> Planted:
    """Up to twenty, and not up to fifty: the refund is denied."""
    stricter = RulesPolicy.from_toml(Path(desk.__file__).with_name("stricter.toml"))
    return found(DESK, program(DESK, policy=stricter), "policy", VerdictGiven, of_call(2))


@version(DESK)
def a_person_looks() -> Planted:
    """Whoever moves money is asked about."""
    rules = RulesPolicy.from_toml('[[rule]]\nname = "money"\nwhen = { effect = "write" }\nthen = "ask"\n' + READS)
    return found(DESK, program(DESK, policy=rules), "policy", VerdictGiven, of_call(2))


@version(DESK)
def a_first_prompt() -> Planted:
    """The desk had none."""
    return found(DESK, prompted(DESK, "You refund broken goods."), "prompt", ModelAsked)


@version(DESK)
def a_clearer_description() -> Planted:
    """The model is told in which unit the sum is."""
    now = with_tool(DESK, "refund", description="Pay money back for an order; `cents` is the sum in cents.")
    return found(DESK, now, "tool schema", ModelAsked)


@version(DESK)
def an_argument_of_another_name() -> Planted:
    """The sum is called amount now."""
    fields = {"order_id": {"type": "string"}, "iban": {"type": "string"}, "amount": {"type": "integer"}}
    schema = {"type": "object", "properties": fields, "required": list(fields)}
    return found(DESK, with_tool(DESK, "refund", schema=schema), "tool schema", ModelAsked)


@version(DESK)
def a_longer_timeout() -> Planted:
    """The order book is slow."""
    return found(DESK, with_tool(DESK, "find_order", timeout_ms=9_000), "tool schema", ToolCalled)


@rd.verifier(desk.find_order, commits=["iban"])
def right_order(call: rd.Call, seen: Order, facts: rd.Facts) -> rd.Facts | rd.Refused:
    """Only what was cheap is refunded at all."""
    return {"iban": seen.iban} if seen.paid_cents < 1_000 else rd.Refused("too dear")


@version(DESK)
def a_stricter_verifier() -> Planted:
    """The order is refused, as too dear."""
    return found(DESK, with_verifier(DESK, right_order), "verifier", ObservationVerified)


@rd.verifier(desk.refund, commits=["refunded"])
def right_sum(call: rd.Call, seen: Receipt, facts: rd.Facts) -> rd.Facts | rd.Refused:
    """What was refunded is known in whole units."""
    return {"refunded": seen.cents // 100}


@version(DESK)
def a_fact_in_other_units() -> Planted:
    """The same observation is another fact."""
    return found(DESK, with_verifier(DESK, right_sum), "verifier", FactCommitted, lambda one: one.key == "refunded")


@version(DESK)
def fewer_steps() -> Planted:
    """One step is all there is: behind the first answer it stops."""
    records = list(recording(DESK))
    budget = structs.replace(EXAMPLES[DESK][0].program.terms.budget, steps=1)
    second = [one for one in records if isinstance(one.event, ModelAsked)][1]
    return Planted(records, with_terms(DESK, budget=budget), second.position, "contract")


@version(DESK)
def another_answer() -> Planted:
    """The answer is worded otherwise."""
    return found(DESK, with_terms(DESK, answer="{refunded} cents were paid back."), "contract", RunEnded)


@version(DESK)
def a_narrower_grant() -> Planted:
    """Orders are called otherwise, so that the first call is out of scope."""
    scope: dict[str, dict[str, Predicate]] = {"find_order": {"order_id": {"matches": r"o-\d+"}}, "refund": {}}
    return found(DESK, with_terms(DESK, tools=scope), "contract", VerdictGiven)


@version(DESK)
def an_older_engine() -> Planted:
    """Its rules read another summary out of the same reply."""
    return older(DESK)


@version(SMS)
def a_policy_where_there_was_none() -> Planted:
    """Nobody is written to without a person's word."""
    rules = RulesPolicy.from_toml('[[rule]]\nname = "sms"\nwhen = { tool = "send_sms" }\nthen = "ask"\n' + READS)
    send = first(recording(SMS), ToolCalled, lambda one: one.tool == "send_sms").event
    return found(SMS, program(SMS, policy=rules), "policy", VerdictGiven, of_call(send.call))  # type: ignore[union-attr]


@version(SMS)
def another_prompt() -> Planted:
    """It is to be polite."""
    return found(SMS, prompted(SMS, "Be polite. 请有礼貌。"), "prompt", ModelAsked)


@version(SMS)
def an_argument_more() -> Planted:
    """A message may be sent later."""
    (schema,) = (one.schema for one in (EXAMPLES[SMS][0].program.tools or {}).values() if one.name == "send_sms")
    assert isinstance(schema, dict)
    more = {**schema, "properties": {**schema["properties"], "at": {"type": "string"}}}
    return found(SMS, with_tool(SMS, "send_sms", schema=more), "tool schema", ModelAsked)


@version(SMS)
def a_description_in_other_words() -> Planted:
    """The model is told of the order book in another way."""
    now = with_tool(SMS, "query_orders", description="All orders of a customer, newest last.")
    return found(SMS, now, "tool schema", ModelAsked)


@rd.verifier({one.declaration.name: one for one in orders_sms.agent.tools.values()}["send_sms"], commits=["sms_sent"])
def right_message(call: rd.Call, seen: Sms, facts: rd.Facts) -> rd.Facts | rd.Refused:
    """No message is right that does not greet."""
    return rd.Refused("no greeting")


@version(SMS)
def a_verifier_that_wants_a_greeting() -> Planted:
    """The message that was sent is refused."""
    now = with_verifier(SMS, right_message)
    return found(SMS, now, "verifier", ObservationVerified, lambda one: one.verifier == "right_message")


@version(SMS)
def a_criterion_more() -> Planted:
    """It is not done before the customer has agreed."""
    done = {**EXAMPLES[SMS][0].program.terms.done, "consent": {"known": True}}
    return found(SMS, with_terms(SMS, done=done), "contract", StopDecided)


@version(SMS)
def no_way_out() -> Planted:
    """The model may not give up: it is told of one tool less."""
    return found(SMS, with_terms(SMS, ways_out=()), "contract", ModelAsked)


@version(SMS)
def the_same_under_older_rules() -> Planted:
    """Recorded by an engine of other rules."""
    return older(SMS)


@version(WEATHER)
def another_dialect() -> Planted:
    """Replies are read as JSON, and it is no JSON what the model said."""
    return found(WEATHER, with_terms(WEATHER, dialect="json"), "contract", DecisionMade)


@version(WEATHER)
def a_prompt_in_one_line() -> Planted:
    """The form of a reply is left to the model."""
    return found(WEATHER, prompted(WEATHER, "You advise on clothing."), "prompt", ModelAsked)


@version(WEATHER)
def advice_only_for_the_sea() -> Planted:
    """The guide may be asked by nobody: the contract excludes it."""
    now = with_terms(WEATHER, exclude={"clothing_guide": {}})
    advice = first(recording(WEATHER), ToolCalled, lambda one: one.tool == "clothing_guide").event
    return found(WEATHER, now, "contract", VerdictGiven, of_call(advice.call))  # type: ignore[union-attr]


@version(WEATHER)
def a_policy_by_place() -> Planted:
    """Only for cities that are known."""
    city = '[[rule]]\nname = "far"\nwhen = { tool = "weather_forecast" }\nthen = "deny"\ntext = "Not there."\n'
    rules = RulesPolicy.from_toml(city + READS)
    return found(WEATHER, program(WEATHER, policy=rules), "policy", VerdictGiven)


def older(example: str) -> Planted:
    """The recording as an engine of other rules would have made it, which words decisions otherwise."""
    records = list(recording(example))
    started = records[0].event
    assert isinstance(started, RunStarted)
    records = with_event(records, 1, structs.replace(started, rules=started.rules - 1))
    where = first(records, DecisionMade)
    return Planted(
        with_event(records, where.position, changed(where, summary="Hm.")), program(example), where.position, "code"
    )
