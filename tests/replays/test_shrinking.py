"""The smallest run that still shows it, and the input that turns a good run into a bad one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive_engine import Program
from redrive_engine.models import reply, use
from redrive_events import (
    BadInput,
    DecisionMade,
    EffectConfirmed,
    Input,
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


def test_the_same_run_twice_has_no_such_input() -> None:
    """It is not bad."""
    records = recorded(SHOP, *LONG)
    with pytest.raises(BadInput, match="the good run is bad"):
        bisected(records, records, SHOP, refused)
    with pytest.raises(BadInput, match="the bad run is not"):
        bisected(recorded(SHOP, *PURCHASE[:3]), recorded(SHOP, *PURCHASE[:3]), SHOP, refused)
