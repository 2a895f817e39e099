"""Which places of a replay stand for themselves, and which may follow from an earlier one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from redrive_engine import Program
from redrive_engine.models import reply, use
from redrive_engine.policy import RulesPolicy
from redrive_events import (
    FactCommitted,
    Input,
    MessageReceived,
    ModelReplied,
    ObservationReceived,
    Record,
    RunStarted,
    Terms,
    Usage,
    VerdictGiven,
)
from redrive_replays import Cause, chain_of, replay_records
from tests.shop import recorded, seen, shop

INPUTS: tuple[Input, ...] = (
    reply("", use("price_of", item="tea")),
    seen(1, {"item": "tea", "cents": 5}),
    reply("Let me count.", use("count", item="tea")),
    seen(2, 3),
    reply("Now I pay.", use("pay", item="tea", cents=5)),
    seen(3, {"item": "tea", "cents": 5}),
    reply("Bought."),
)
HERS = '[[rule]]\nname = "hers"\nwhen = { principal = "ana" }\nthen = "allow"\n'


def program() -> Program:
    """The shop, which serves one person."""
    return shop(Terms(), policy=RulesPolicy.from_toml(HERS))


def with_event(records: Sequence[Record], kind: type, number: int = 0, **fields: Any) -> list[Record]:
    """The records with other fields in the so manieth event of a kind."""
    which = [one for one in records if type(one.event) is kind][number]
    event = msgspec.structs.replace(which.event, **fields)
    return [msgspec.structs.replace(one, event=event) if one is which else one for one in records]


def places(records: list[Record]) -> list[tuple[Cause, bool]]:
    """The cause of each place, and whether it stands for itself."""
    return [(one.cause, one.independent) for one in replay_records("run", records, program()).divergences]


@pytest.mark.parametrize(
    ("kind", "fields", "cause"),
    [
        pytest.param(RunStarted, {"goal": "Buy milk"}, "environment", id="another goal"),
        pytest.param(ObservationReceived, {"content": '{"cents":6,"item":"tea"}'}, "tool result", id="another result"),
        pytest.param(ModelReplied, {"usage": Usage(input=5)}, "model", id="other tokens"),
    ],
)
def test_what_follows_from_one_other_input_is_one_place(kind: type, fields: dict[str, Any], cause: Cause) -> None:
    """The digests of all later requests differ too, and have the same cause."""
    first, *later = places(with_event(recorded(program(), *INPUTS), kind, **fields))
    assert first == (cause, True)
    assert later
    assert set(later) == {(cause, False)}


def test_a_second_input_that_is_another_one_stands_for_itself() -> None:
    """Its own event differs, and not only a digest."""
    records = with_event(recorded(program(), *INPUTS), ObservationReceived, content='{"cents":6,"item":"tea"}')
    blocks = reply("Pay.", use("pay", item="tea", cents=5)).content
    told = places(with_event(records, ModelReplied, 2, content=blocks))
    assert [one for one in told if one[1]] == [("tool result", True), ("model", True)]


@pytest.mark.parametrize(
    ("edited", "cause"),
    [
        pytest.param(lambda one: with_event(one, VerdictGiven, policy="f" * 64), "policy", id="other rules"),
        pytest.param(lambda one: with_event(one, VerdictGiven, verdict="deny", text=""), "policy", id="the reverse"),
        pytest.param(lambda one: with_event(one, RunStarted, principal="bo"), "environment", id="asked by another"),
        pytest.param(lambda one: with_event(one, RunStarted, nonce="n1"), "environment", id="keys of another log"),
    ],
)  # fmt: skip
def test_with_the_same_program_a_value_tells_the_cause(
    edited: Callable[[list[Record]], list[Record]], cause: Cause
) -> None:
    """Which rules are said to have ruled, and what they looked at, is no word of the model."""
    assert places(edited(recorded(program(), *INPUTS)))[0] == (cause, True)


def test_a_person_s_words_are_the_environment() -> None:
    """And not the result of the tool beside them, which a fact bears out."""
    said = MessageReceived(actor="user", content="The green one.")
    records = recorded(program(), INPUTS[0], said, *INPUTS[1:])
    first = places(with_event(records, MessageReceived, content="The black one."))[0]
    assert first == ("environment", True)


def test_an_answer_that_is_made_of_another_fact_may_follow_from_it() -> None:
    """The fact is found first, and the words at the end are made of it."""
    whole = shop(Terms(done={"paid": {"known": True}}, answer="{paid} cents."))
    records = with_event(recorded(whole, *INPUTS[:-1]), FactCommitted, 2, value=7)
    report = replay_records("run", records, whole)
    first, *later = report.divergences
    assert (first.cause, first.independent) == ("tool result", True)
    assert not any(one.independent for one in later)


def test_what_leads_to_a_place_is_told_back_to_the_start() -> None:
    """The nearest first, each with its kind, and whether it came from outside."""
    records = with_event(recorded(program(), *INPUTS), ModelReplied, 1, content="I am done.")
    found = replay_records("run", records, program()).divergences[0]
    assert found.chain[0].position == found.input
    assert found.chain[0].event == "model_replied"
    assert [one.event for one in found.chain if one.input][-1] == "lease_granted"
    data = replay_records("run", records, program()).data()["divergences"][0]
    assert data["chain"][0] == {"position": found.input, "event": "model_replied", "input": True}


def test_a_chain_that_leads_nowhere_ends() -> None:
    """An event is said to follow from itself, or stands where another one should: what is known of it is told."""
    records = recorded(program(), *INPUTS)
    asked = next(one for one in records if isinstance(one.event, VerdictGiven))
    astray = [msgspec.structs.replace(one, cause=one.position) if one is asked else one for one in records]
    assert chain_of(astray, asked.position) == (asked.position,)
    assert chain_of([one for one in records if one is not asked], asked.position + 1) == ()
