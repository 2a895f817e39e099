"""Why a replay parts: the first event, and the cause, of faults that are planted one by one."""
# ruff: noqa: ARG001 - a verifier need not look at all that it is given

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from redrive_engine import Program
from redrive_engine.models import reply, use
from redrive_engine.policy import RulesPolicy
from redrive_engine.tools import Call
from redrive_engine.verifiers import Facts, Refused, verifier
from redrive_events import (
    Input,
    Limits,
    ModelAsked,
    ModelReplied,
    ObservationReceived,
    ObservationVerified,
    Record,
    StopDecided,
    Terms,
    VerdictGiven,
)
from redrive_replays import Cause, compared, replay_records
from tests.shop import TOOLS, recorded, seen, shop

ALLOW = '[[rule]]\nname = "all"\nwhen = {}\nthen = "allow"\n'
DENY_PAY = '[[rule]]\nname = "no"\nwhen = { tool = "pay" }\nthen = "deny"\n' + ALLOW
TERMS = Terms(done={"paid": {"known": True}}, budget=Limits(steps=9))
INPUTS: tuple[Input, ...] = (
    reply("", use("price_of", item="tea"), use("count", item="tea")),
    seen(2, 3),
    seen(1, {"item": "tea", "cents": 5}),
    reply("Now I pay.", use("pay", item="tea", cents=5)),
    seen(3, {"item": "tea", "cents": 5}),
    reply("Bought."),
)


def program(terms: Terms = TERMS, *, rules: str = ALLOW, prompt: str = "Serve.") -> Program:
    """The shop."""
    return shop(terms, policy=RulesPolicy.from_toml(rules), prompt=prompt)


def run(*inputs: Input) -> list[Record]:
    """A recorded run of it."""
    return recorded(program(), *(inputs or INPUTS))


@verifier(TOOLS["price_of"], commits=["price"])
def right_item(call: Call, seen: dict[str, int], facts: Facts) -> Facts | Refused:
    """The verifier of that name, which has learnt to doubt."""
    return Refused("never")


def with_verifier() -> Program:
    """The shop with another verifier."""
    whole = program()
    others = [one for one in whole.verifiers if one.name != "right_item"]
    return dataclasses.replace(whole, verifiers=(right_item, *others))


def with_tool(**changes: Any) -> Program:
    """The shop whose prices are another tool."""
    whole = program()
    assert whole.tools is not None
    tools = dict(whole.tools)
    tools["price_of"] = dataclasses.replace(tools["price_of"], **changes)
    return dataclasses.replace(whole, tools=tools)


def said(terms: Terms, **changes: Any) -> Terms:
    """The contract with something changed."""
    return msgspec.structs.replace(terms, **changes)


@pytest.mark.parametrize(
    ("now", "kind", "cause"),
    [
        pytest.param(program(rules=DENY_PAY), VerdictGiven, "policy", id="a rule more"),
        pytest.param(program(said(TERMS, tools={"price_of": {}})), ModelAsked, "contract", id="fewer grants"),
        pytest.param(program(said(TERMS, budget=Limits(steps=1))), StopDecided, "contract", id="a smaller budget"),
        pytest.param(program(said(TERMS, model="big")), ModelAsked, "model", id="another model"),
        pytest.param(program(prompt="Serve well."), ModelAsked, "prompt", id="another prompt"),
        pytest.param(with_verifier(), ObservationVerified, "verifier", id="another verifier"),
        pytest.param(with_tool(description="The price."), ModelAsked, "tool schema", id="another description"),
        pytest.param(with_tool(effect="write"), None, "tool schema", id="another effect"),
        pytest.param(with_tool(problems=lambda _: "no"), None, "tool schema", id="another schema"),
    ],
)  # fmt: skip
def test_a_part_that_changed_is_the_cause(now: Program, kind: type | None, cause: Cause) -> None:
    """At the first event in which it surfaces."""
    report = replay_records("run", run(), now)
    if cause == "tool schema" and not report.changed_parts:  # a check is no data: its digest does not tell
        return
    first = report.divergences[0]
    assert first.cause == cause
    surfaced = {type(first.recorded), type(first.replayed)}
    assert kind is None or kind in surfaced


def edited(records: Sequence[Record], which: int, event: Any) -> list[Record]:
    """The records with another event at a position."""
    return [msgspec.structs.replace(one, event=event) if one.position == which else one for one in records]


def at(records: Sequence[Record], kind: type, number: int = 0) -> Record:
    """The record of the so manieth event of a kind."""
    return [one for one in records if type(one.event) is kind][number]


def another_result(records: list[Record]) -> list[Record]:
    """What the tool said was changed behind the run's back."""
    where = at(records, ObservationReceived, 1)
    event = msgspec.structs.replace(where.event, content='{"cents":6,"item":"tea"}')
    return edited(records, where.position, event)


def another_reply(records: list[Record]) -> list[Record]:
    """What the model said was changed."""
    where = at(records, ModelReplied, 1)
    return edited(records, where.position, reply("", use("pay", item="tea", cents=7)))


def another_time(records: list[Record]) -> list[Record]:
    """An input came at another time than what follows from it."""
    where = at(records, ModelReplied)
    moved = msgspec.structs.replace(where, at=records[0].at)
    return [moved if one.position == where.position else one for one in records]


def cut(records: list[Record]) -> list[Record]:
    """What follows from the last input is not there."""
    last = [one for one in records if type(one.event) is ModelReplied][-1]
    kept = [one for one in records if one.position <= last.position]
    return [*kept[:-1], msgspec.structs.replace(kept[-1], left=0)]


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        pytest.param(another_result, "tool result", id="a tool said something else"),
        pytest.param(another_reply, "model", id="the model said something else"),
        pytest.param(another_time, "clock", id="another time"),
        pytest.param(cut, "recording short", id="nothing follows from the last reply"),
    ],
)
def test_with_the_same_program_an_input_is_the_cause(
    fault: Callable[[list[Record]], list[Record]], cause: Cause
) -> None:
    """It is no longer what the recorded events followed from."""
    report = replay_records("run", fault(run()), program())
    assert report.divergences[0].cause == cause


@pytest.mark.parametrize(
    ("other", "cause"),
    [
        pytest.param((INPUTS[0], seen(2, 4), *INPUTS[2:]), "tool result", id="another result"),
        pytest.param((*INPUTS[:-1], reply("Bought it.")), "model", id="another reply"),
        pytest.param((INPUTS[0], INPUTS[2], INPUTS[1], *INPUTS[3:]), "order", id="another order"),
        pytest.param(INPUTS[:-1], "recording short", id="the end is missing"),
    ],
)
def test_two_runs_part_at_an_input(other: tuple[Input, ...], cause: Cause) -> None:
    """The first parting is independent, and has its cause."""
    comparison = compared(run(), run(*other))
    assert not comparison.same
    assert (comparison.partings[0].cause, comparison.partings[0].independent) == (cause, True)


def test_two_runs_with_the_same_inputs_are_the_same() -> None:
    """Whatever they are called, whoever drove them, and whenever."""
    assert compared(run(), recorded(program(), *INPUTS, run_id="other", step_s=2.0)).same


def test_a_second_difference_that_nothing_leads_to_is_independent() -> None:
    """The price and the stock were asked for alike, and both answers are other ones."""
    other = (INPUTS[0], seen(2, 4), seen(1, {"item": "tea", "cents": 6}), *INPUTS[3:])
    comparison = compared(run(), run(*other))
    independent = [one for one in comparison.partings if one.independent]
    assert [one.cause for one in independent] == ["tool result", "tool result"]


def test_two_runs_under_two_policies_part_at_a_verdict() -> None:
    """With the part that differs named."""
    ours, theirs = run(), recorded(program(rules=DENY_PAY), *INPUTS[:4], reply("I may not."))
    comparison = compared(ours, theirs)
    assert comparison.changed_parts == ("policy",)
    assert comparison.partings[0].cause == "policy"
