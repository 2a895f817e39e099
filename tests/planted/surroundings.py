"""Faults of what a run began in: who asked, for what and for whom, under which nonce, and what people said."""

from __future__ import annotations

import random

from redrive_engine.models import reply, use
from redrive_events import Input, MessageReceived, ModelAsked, ToolCalled, VerdictGiven
from tests.planted.stories import ALLOW, Planted, changed, first, following, planted, program, story, with_event
from tests.shop import recorded, seen

FOR_ANA = '[[rule]]\nname = "hers"\nwhen = { principal = "ana" }\nthen = "allow"\n'
FOR_NOBODY_ELSE = '[[rule]]\nname = "of no tenant"\nwhen = { tenant = "" }\nthen = "allow"\n'


@planted
def another_goal(chance: random.Random) -> Planted:
    """It is said to have been asked for something else."""
    records = story(chance)
    start = changed(records[0], goal=chance.choice(("Buy milk", "买牛奶", "Buy tea.")))
    return Planted(with_event(records, 1, start), program(), first(records, ModelAsked).position, "environment")


@planted
def another_nonce(chance: random.Random) -> Planted:
    """The keys of its effects are said to be of another log."""
    records = story(chance)
    while not any(isinstance(one.event, ToolCalled) and one.event.key for one in records):
        records = story(chance)
    where = first(records, ToolCalled, lambda event: bool(event.key))
    return Planted(with_event(records, 1, changed(records[0], nonce="n1")), program(), where.position, "environment")


@planted
def another_principal(chance: random.Random) -> Planted:
    """Somebody is said to have asked for whom nothing is allowed."""
    records = story(chance, rules=FOR_ANA)
    where = first(records, VerdictGiven)
    return Planted(
        with_event(records, 1, changed(records[0], principal="bo")),
        program(rules=FOR_ANA),
        where.position,
        "environment",
    )


@planted
def another_tenant(chance: random.Random) -> Planted:
    """It is said to be about the data of somebody else."""
    rules = FOR_NOBODY_ELSE + chance.choice(("", ALLOW))  # a rule behind it may allow it all the same
    records = story(chance, rules=rules)
    where = first(records, VerdictGiven)
    records = with_event(records, 1, changed(records[0], tenant="velo"))
    return Planted(records, program(rules=rules), where.position, "environment")


@planted
def other_words_of_a_person(chance: random.Random) -> Planted:
    """Somebody is said to have told it something else."""
    words = MessageReceived(actor="user", content=chance.choice(("The green one.", "要绿茶。")))
    price = seen(1, {"item": "tea", "cents": 5})
    happened: tuple[Input, ...] = (reply("", use("price_of", item="tea")), words, price, reply("Done."))
    records = recorded(program(), *happened)
    where = first(records, MessageReceived)
    place = following(records, where, ModelAsked)
    event = changed(where, content="The black one.")
    return Planted(with_event(records, where.position, event), program(), place.position, "environment")
