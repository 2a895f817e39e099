"""The smallest run that still shows it, and the input that turns a good run into a bad one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from redrive_engine import Program
from redrive_engine.models import reply, use
from redrive_events import (
    BadInput,
    DecisionMade,
    EffectConfirmed,
    Input,
    Limits,
    MessageReceived,
    ModelReplied,
    ObservationReceived,
    ObservationRefused,
    Record,
    Terms,
    ToolCalled,
)
from redrive_replays import bisected, redriven, replay_records, shrunk
from redrive_replays.redriving import inputs_of
from tests.random_runs import programs, random_run
from tests.shop import PURCHASE, recorded, seen, shop

SHOP = shop(Terms())
WRONG = seen(3, {"item": "tea", "cents": 9})
LONG: tuple[Input, ...] = (
    reply("Let me see.", use("price_of", item="tea"), use("count", item="tea")),
    seen(2, 3),
    seen(1, {"item": "tea", "cents": 5}),
    MessageReceived(actor="user", content="Hurry."),
    reply("", use("price_of", item="milk")),
    WRONG,
    reply("", use("pay", item="tea", cents=5)),
    seen(4, {"item": "tea", "cents": 5}),
    reply("Bought."),
)


def refused(records: Sequence[Record]) -> bool:
    """Whether an observation was refused."""
    return any(isinstance(one.event, ObservationRefused) for one in records)


def paid(records: Sequence[Record]) -> bool:
    """Whether a write landed."""
    return any(isinstance(one.event, EffectConfirmed) for one in records)


def events(records: Sequence[Record], *kinds: type) -> list[str]:
    """What kinds of these there are, in order."""
    return [type(one.event).__name__ for one in records if isinstance(one.event, kinds)]


def test_what_does_not_lead_to_it_is_gone() -> None:
    """Of three turns with calls one is left, with the one answer that was refused."""
    found = shrunk(recorded(SHOP, *LONG), SHOP, refused)
    assert refused(found.records)
    assert events(found.records, ModelReplied, ObservationReceived) == ["ModelReplied", "ObservationReceived"]
    assert (found.inputs, found.of) == (3, 10), "and the lease, without which nothing is asked"


def test_what_is_left_is_a_sound_recording() -> None:
    """It replays as it is, with its calls numbered anew."""
    found = shrunk(recorded(SHOP, *LONG), SHOP, paid)
    assert replay_records("run", found.records, SHOP).same
    assert [one.event.call for one in found.records if isinstance(one.event, ToolCalled)] == [1]


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=100), programs)
def test_nothing_more_can_be_taken(tape: bytes, program: Program) -> None:
    """Without any one of its inputs it does not show it any more."""
    records = random_run(tape, program)
    whole = redriven(program, records[0], inputs_of(records))

    def decided(candidate: Sequence[Record]) -> bool:
        return sum(isinstance(one.event, DecisionMade) for one in candidate) >= 2

    if not decided(whole):
        return
    found = shrunk(records, program, decided)
    assert decided(found.records)
    left = inputs_of(found.records)
    for index in range(len(left)):
        assert not decided(redriven(program, records[0], left[:index] + left[index + 1 :]))


def test_a_recording_that_does_not_show_it_is_refused() -> None:
    """There is nothing to make smaller."""
    with pytest.raises(BadInput, match="it does not show that, driven again"):
        shrunk(recorded(SHOP, *PURCHASE[:3]), SHOP, paid)


def test_the_input_that_turns_it_is_named() -> None:
    """Two answers differ, and only one of them matters."""
    good = recorded(SHOP, *LONG[:5], seen(3, {"item": "milk", "cents": 5}), *LONG[6:])
    bad = recorded(SHOP, LONG[0], seen(2, 4), *LONG[2:])
    found = bisected(good, bad, SHOP, refused)
    assert found.bad is not None
    assert found.bad.event == WRONG
    assert (found.place.kind, found.place.turn, found.place.nth) == ("observation_received", 2, 1)
    assert refused(found.records)


def test_runs_of_other_days_and_lengths_are_compared_by_turns() -> None:
    """An input comes as long after the one before it as it did in its own run, so that no budget of time runs out."""
    hurried = shop(Terms(budget=Limits(wall_time_ms=60_000)))
    good = recorded(hurried, *LONG[:5], seen(3, {"item": "milk", "cents": 5}), *LONG[6:])
    late = recorded(hurried, *LONG[:6])
    bad = [structs.replace(one, at=one.at + timedelta(days=1)) for one in late]
    found = bisected(good, bad, hurried, refused)
    assert found.bad is not None
    assert (found.bad.event, found.place.turn) == (WRONG, 2)
    found = bisected(bad, good, hurried, lambda candidate: not refused(candidate))
    assert found.good is not None
    assert (found.good.event, found.place.turn) == (WRONG, 2)


def test_what_turns_it_does_so_both_ways() -> None:
    """With the input of the good run in its place, and all else as it was, the run is good."""
    good = recorded(SHOP, *LONG[:5], seen(3, {"item": "milk", "cents": 5}), *LONG[6:])
    bad = recorded(SHOP, LONG[0], seen(2, 4), *LONG[2:])
    found = bisected(good, bad, SHOP, refused)
    assert found.good is not None
    assert found.bad is not None
    given = [
        replace(one, record=structs.replace(one.record, event=found.good.event))
        if one.record.event == found.bad.event
        else one
        for one in inputs_of(found.records)
    ]
    assert refused(redriven(SHOP, good[0], inputs_of(found.records)))
    assert not refused(redriven(SHOP, good[0], given))


def test_what_has_no_input_that_turns_it() -> None:
    """The same run twice; two that are both good; two that are both bad."""
    records, other = recorded(SHOP, *LONG), recorded(SHOP, *LONG[:-1], reply("Bought it."))
    with pytest.raises(BadInput, match="the two runs have the same inputs, so none of them turns it"):
        bisected(records, records, SHOP, refused)
    with pytest.raises(BadInput, match="the good run is bad, driven again"):
        bisected(records, other, SHOP, refused)
    with pytest.raises(BadInput, match="the bad run is not bad, driven again"):
        bisected(recorded(SHOP, *PURCHASE[:3]), recorded(SHOP, *PURCHASE[:4]), SHOP, refused)


def looks(turns: int) -> list[Record]:
    """A run that counts in each turn, and finds as many as the turn's number."""
    program = shop(Terms(budget=Limits(steps=turns + 1)))
    pairs = ((reply("", use("count", item="tea")), seen(turn, turn)) for turn in range(1, turns))
    return recorded(program, *(one for pair in pairs for one in pair), reply("Done."))


@settings(max_examples=20, deadline=None)
@given(st.sets(st.integers(1, 39), min_size=1, max_size=3))
def test_what_needs_several_inputs_far_apart_keeps_just_them(needed: set[int]) -> None:
    """However far: each with the reply that asked for it, and the lease."""
    records, tried = looks(40), 0

    def holds(candidate: Sequence[Record]) -> bool:
        nonlocal tried
        tried += 1
        found = {one.event.content for one in candidate if isinstance(one.event, ObservationReceived)}
        return {str(number) for number in needed} <= found

    found = shrunk(records, shop(Terms(budget=Limits(steps=41))), holds)
    assert (found.inputs, found.of) == (1 + 2 * len(needed), 80)
    assert found.tried < 120, "halving, and not one after the other"
    assert tried <= found.tried + 1, "no candidate is driven twice, but for what is left"


def test_what_shows_it_only_now_and_then_is_refused() -> None:
    """Nobody could tell what it hangs on."""
    asked = count()
    with pytest.raises(BadInput, match="the same run shows it at one time and not at another"):
        shrunk(looks(5), SHOP, lambda _: next(asked) == 0)
