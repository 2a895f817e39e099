"""Faults of recordings: the program is the same, and something in the recording is not."""

from __future__ import annotations

import random
from itertools import pairwise

import msgspec

from redrive_engine.models import use
from redrive_events import (
    Block,
    DecisionMade,
    FactCommitted,
    ModelReplied,
    ObservationReceived,
    Record,
    RunStarted,
    Text,
    ToolCalled,
    ToolUse,
    VerdictGiven,
    blocks_of,
)
from tests.planted.stories import (
    Planted,
    changed,
    cut,
    first,
    following,
    planted,
    program,
    some,
    story,
    with_event,
)


def said(record: Record) -> tuple[Block, ...]:
    """The blocks of a reply."""
    return blocks_of(getattr(record.event, "content", None))


@planted
def another_price(chance: random.Random) -> Planted:
    """A tool's result was changed behind the run's back."""
    records = story(chance)
    fact = first(records, FactCommitted, lambda event: event.key == "price")
    where = records[fact.event.evidence[0] - 1]  # type: ignore[union-attr]
    event = changed(where, content='{"cents":77,"item":"tea"}')
    return Planted(with_event(records, where.position, event), program(), fact.position, "tool result")


@planted
def another_failure(chance: random.Random) -> Planted:
    """A call that went well is said to have failed."""
    records = story(chance)
    where = some(chance, records, ObservationReceived)
    event = changed(where, status="error", error="failed")
    return Planted(with_event(records, where.position, event), program(), where.position + 1, "tool result")


@planted
def another_argument(chance: random.Random) -> Planted:
    """The model is said to have asked for something else."""
    records = story(chance)
    where = first(records, ModelReplied)
    assert isinstance(where.event, ModelReplied)
    blocks = [use("price_of", item="milk") if isinstance(one, ToolUse) else one for one in said(where)]
    called = following(records, where, ToolCalled)
    decided = following(records, where, DecisionMade)
    one_tool = {call.tool for call in decided.event.calls} == {"price_of"}  # type: ignore[union-attr]
    event = changed(where, content=tuple(blocks))
    place = called if one_tool else decided
    return Planted(with_event(records, where.position, event), program(), place.position, "model")


@planted
def another_word(chance: random.Random) -> Planted:
    """The model is said to have spoken otherwise."""
    records = story(chance)
    where = first(records, ModelReplied)
    blocks = (Text(text="Hear me out."), *(one for one in said(where) if isinstance(one, ToolUse)))
    records = with_event(records, where.position, changed(where, content=blocks))
    return Planted(records, program(), following(records, where, DecisionMade).position, "model")


@planted
def an_earlier_time(chance: random.Random) -> Planted:
    """An input is said to have come earlier than what follows from it."""
    records = story(chance)
    where = some(chance, records, ModelReplied)
    moved = msgspec.structs.replace(where, at=records[where.position - 2].at)
    records = [moved if one.position == where.position else one for one in records]
    return Planted(records, program(), where.position + 1, "clock")


@planted
def a_later_time(chance: random.Random) -> Planted:
    """One event of an append has a time of its own."""
    records = story(chance)
    where = some(chance, records, VerdictGiven)
    moved = msgspec.structs.replace(where, at=records[-1].at)
    records = [moved if one.position == where.position else one for one in records]
    return Planted(records, program(), where.position, "clock")


@planted
def another_cause(chance: random.Random) -> Planted:
    """An event is said to follow from another one."""
    records = story(chance)
    where = some(chance, records, ToolCalled)
    moved = msgspec.structs.replace(where, cause=1)
    records = [moved if one.position == where.position else one for one in records]
    return Planted(records, program(), where.position, "order")


@planted
def exchanged_calls(chance: random.Random) -> Planted:
    """Two requests of one reply stand in each other's place."""
    while True:
        records = story(chance)
        pairs = [(one, other) for one, other in pairwise(records) if type(one.event) is type(other.event) is ToolCalled]
        if pairs:
            one, other = chance.choice(pairs)
            records = with_event(with_event(records, one.position, other.event), other.position, one.event)
            return Planted(records, program(), one.position, "order")


@planted
def an_answer_too_many(chance: random.Random) -> Planted:
    """Behind the end something came in."""
    records = story(chance)
    again = some(chance, records, ObservationReceived)
    added = msgspec.structs.replace(again, position=len(records) + 1, at=records[-1].at, left=0)
    return Planted([*records, added], program(), added.position, "left over")


@planted
def an_answer_to_nothing(chance: random.Random) -> Planted:
    """An answer is said to be to another request."""
    records = story(chance)
    where = some(chance, records, ModelReplied)
    moved = msgspec.structs.replace(where, cause=1)
    records = [moved if one.position == where.position else one for one in records]
    return Planted(records, program(), where.position, "left over")


@planted
def a_missing_end(chance: random.Random) -> Planted:
    """What follows from the last reply was not written."""
    records = story(chance)
    kept = cut(records, len(records) - chance.randint(1, 2))
    return Planted(kept, program(), len(kept) + 1, "recording short")


@planted
def older_rules(chance: random.Random) -> Planted:
    """It was recorded by an engine that knew other rules, and decided otherwise."""
    records = story(chance)
    started = records[0].event
    assert isinstance(started, RunStarted)
    records = with_event(records, 1, changed(records[0], rules=started.rules - 1))
    where = some(chance, records, DecisionMade)
    return Planted(
        with_event(records, where.position, changed(where, summary="Hm.")), program(), where.position, "code"
    )
