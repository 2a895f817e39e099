"""Faults that were planted after causes had been told apart anew: people, failures, receipts, lessons, caps, seals."""
# ruff: noqa: ARG001 - a verifier need not look at all that it is given

from __future__ import annotations

import dataclasses
import random
from datetime import timedelta
from typing import Any

import msgspec

from redrive_engine.models import reply, use
from redrive_engine.tools import Call
from redrive_engine.verifiers import Facts, verifier
from redrive_events import (
    ApprovalGiven,
    CancelRequested,
    DecisionMade,
    Input,
    LeaseGranted,
    Limits,
    MessageReceived,
    ModelAsked,
    ModelFailed,
    ModelReplied,
    ObservationReceived,
    ObservationVerified,
    Record,
    SignalsHeard,
    StopDecided,
    Terms,
    ToolCalled,
    Usage,
    VerdictGiven,
)
from tests.planted.stories import (
    Planted,
    changed,
    first,
    following,
    planted,
    program,
    some,
    story,
    with_event,
    without_fault,
)
from tests.shop import TOOLS, Asking, answer_to_pay, recorded, seen, shop


def paying(chance: random.Random) -> list[Record]:
    """A story in which something is paid."""
    records = story(chance)
    while not any(isinstance(one.event, ToolCalled) and one.event.tool == "pay" for one in records):
        records = story(chance)
    return records


@planted
def a_person_who_refused(chance: random.Random) -> Planted:
    """What was granted is said to have been refused."""
    cents = chance.randint(1, 99)
    happened: tuple[Input, ...] = (
        reply("", use("pay", item="tea", cents=cents)),
        answer_to_pay("grant", cents),
        SignalsHeard(),
        seen(1, {"item": "tea", "cents": cents}),
        reply("Bought."),
    )
    whole = shop(Terms(), policy=Asking())
    records = recorded(whole, *happened)
    where = first(records, ApprovalGiven)
    place = following(records, where, VerdictGiven)
    return Planted(
        with_event(records, where.position, changed(where, answer="refuse")), whole, place.position, "environment"
    )


@planted
def a_person_who_called_it_off(chance: random.Random) -> Planted:
    """Where somebody had said something, somebody is said to have wanted an end."""
    words = MessageReceived(actor="user", content=chance.choice(("The green one.", "要绿茶。")))
    happened = (reply("", use("price_of", item="tea")), words, seen(1, {"item": "tea", "cents": 5}), reply("Done."))
    records = recorded(program(), *happened)
    where = first(records, MessageReceived)
    heard = following(records, where, ObservationReceived)
    return Planted(
        with_event(records, where.position, CancelRequested(by="bo")), program(), heard.position + 1, "environment"
    )


@planted
def a_lesson_of_earlier_runs(chance: random.Random) -> Planted:
    """The model is said to have been told what it was not."""
    records = story(chance)
    start = changed(records[0], lessons=(chance.choice(("Look first.", "先看。")),))
    return Planted(with_event(records, 1, start), program(), first(records, ModelAsked).position, "environment")


@planted
def a_price_of_a_reply(chance: random.Random) -> Planted:
    """A reply is said to have cost money."""
    records = story(chance)
    where = some(chance, records, ModelReplied)
    event = changed(where, cost_micros=chance.randint(1, 5_000), usage=Usage())
    place = next(one for one in records[where.position :] if hasattr(one.event, "state"))
    return Planted(with_event(records, where.position, event), program(), place.position, "model")


@planted
def a_ruling_of_another_policy(chance: random.Random) -> Planted:
    """A verdict is said to be that of other rules."""
    records = story(chance)
    where = some(chance, records, VerdictGiven)
    event = changed(where, policy="f" * 64)
    return Planted(with_event(records, where.position, event), program(), where.position, "policy")


@planted
def a_ruling_the_other_way(chance: random.Random) -> Planted:
    """What the rules allow is said to have been denied."""
    records = story(chance)
    where = some(chance, records, VerdictGiven)
    event = changed(where, verdict="deny", rule="no", text="No.")
    return Planted(with_event(records, where.position, event), program(), where.position, "policy")


@planted
def a_reply_that_only_speaks(chance: random.Random) -> Planted:
    """The model is said to have called nothing."""
    records = story(chance)
    called = [one for one in records if isinstance(one.event, DecisionMade) and one.event.calls]
    decided = chance.choice(called)
    where = records[decided.cause - 1]
    return Planted(
        with_event(records, where.position, changed(where, content="I am done.")),
        program(),
        decided.position,
        "model",
    )


@planted
def a_model_that_failed(chance: random.Random) -> Planted:
    """In place of a reply there is a failure."""
    records = story(chance)
    where = some(chance, records, ModelReplied)
    event = ModelFailed(kind=chance.choice(("refused", "broken")))
    return Planted(with_event(records, where.position, event), program(), where.position + 1, "model")


@planted
def a_receipt_over_another_sum(chance: random.Random) -> Planted:
    """What was paid is said to be more."""
    records = paying(chance)
    call = first(records, ToolCalled, lambda event: event.tool == "pay").event.call  # type: ignore[union-attr]
    where = first(records, ObservationReceived, lambda event: event.call == call)
    place = following(records, where, ObservationVerified)
    event = changed(where, content='{"cents":777,"item":"tea"}')
    return Planted(with_event(records, where.position, event), program(), place.position, "tool result")


@planted
def a_cap(chance: random.Random) -> Planted:
    """What is paid is brought down by a policy in Python."""
    cents = chance.randint(20, 99)
    happened = (
        reply("", use("price_of", item="tea")),
        seen(1, {"item": "tea", "cents": cents}),
        reply("", use("pay", item="tea", cents=cents)),
        seen(2, {"item": "tea", "cents": cents}),
        reply("Bought."),
    )
    records = recorded(shop(Terms(), policy=Asking(tools=())), *happened)
    where = first(records, VerdictGiven, lambda event: event.call == 2)
    capped = shop(Terms(), policy=Asking(tools=(), cap=chance.randint(1, 19)))
    return Planted(records, capped, where.position, "policy")


@verifier(TOOLS["count"], commits=["stock"])
def most_recent(call: Call, seen: Any, facts: Facts) -> Facts:
    """The one that counts, under another name."""
    return {}


@planted
def a_verifier_of_another_name(chance: random.Random) -> Planted:
    """It takes the place of the one that looked at the stock."""
    records = story(chance)
    while not any(isinstance(one.event, ObservationVerified) and one.event.verifier == "latest" for one in records):
        records = story(chance)
    others = tuple(most_recent if one.name == "latest" else one for one in program().verifiers)
    where = first(records, ObservationVerified, lambda event: event.verifier == "latest")
    return Planted(records, dataclasses.replace(program(), verifiers=others), where.position, "verifier")


@planted
def a_limit_of_tokens(chance: random.Random) -> Planted:
    """It stops where more was spent than there is by now."""
    spent = chance.randint(50, 9_000)
    happened = (
        reply("", use("count", item="tea"), usage=Usage(input=spent, output=9)),
        seen(1, 3),
        reply("Done.", usage=Usage(input=9, output=9)),
    )
    records = recorded(program(), *happened)
    again = [one for one in records if isinstance(one.event, ModelAsked)][1]
    return Planted(records, program(Terms(budget=Limits(tokens=spent // 2))), again.position, "contract")


@planted
def a_worker_who_began_earlier(chance: random.Random) -> Planted:
    """A worker is said to have taken it up before what follows from that."""
    records = story(chance)
    where = first(records, LeaseGranted)
    moved = msgspec.structs.replace(where, at=where.at - timedelta(milliseconds=chance.randint(1, 900)))
    records = [moved if one.position == where.position else one for one in records]
    return Planted(records, program(), where.position + 1, "clock")


@planted
def an_end_of_another_kind(chance: random.Random) -> Planted:
    """The run is under rules by which it is not over, since a fact is wanted that the verifier does not commit."""
    records = story(chance)
    return Planted(
        records, program(Terms(done={"refunded": {"known": True}})), first(records, StopDecided).position, "contract"
    )


@planted
def labels_of_an_experiment(chance: random.Random) -> Planted:
    """Nothing reads them."""
    records = story(chance)
    return without_fault(with_event(records, 1, changed(records[0], labels={"arm": "b"})), program())
