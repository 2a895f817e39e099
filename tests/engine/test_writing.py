"""Appends that come too late: nothing is merged into a log that has moved on."""

from __future__ import annotations

import pytest

from redrive_engine import Happened, without_waiting, write
from redrive_engine.models import reply, use
from redrive_events import (
    Event,
    Input,
    LeaseGranted,
    LeaseHeld,
    LeaseRevoked,
    MemoryLog,
    MessageReceived,
    Record,
    Terms,
)
from redrive_projections import RunState, fold
from tests.shop import recorded, seen, shop

PROGRAM = shop(Terms())
BEGUN = recorded(PROGRAM, reply("", use("count", item="tea")))
AT = BEGUN[-1].at
ASKED = BEGUN[-1].position


def moved_on(*signals: Event) -> tuple[MemoryLog, RunState]:
    """A log in which something was said since, and the state that a worker has of it from before."""
    log = MemoryLog()
    log.append("run", BEGUN, expected=0)
    for before, event in enumerate(signals, start=ASKED):
        record = Record(run_id="run", position=before + 1, at=AT, cause=0, left=0, event=event)
        log.append("run", [record], expected=before)
    return log, fold(BEGUN)


def written(log: MemoryLog, state: RunState, event: Input, cause: int) -> RunState:
    """The state once the worker has written what happened."""
    return without_waiting(write(log, PROGRAM, state, Happened(event, AT, cause)))


def test_an_answer_goes_on_top_of_what_came_in_between() -> None:
    """The log is folded anew, and the answer is to what is open there."""
    log, state = moved_on(MessageReceived(actor="user", content="And milk."))
    state = written(log, state, seen(1, 3), ASKED)
    assert state == fold(log.read("run"))
    assert "And milk." in [message.content for message in state.asked]


def test_an_answer_to_what_is_no_longer_open_is_dropped() -> None:
    """Another one came in between, and that stands; the same one again is no second."""
    for value in (4, 3):
        log, state = moved_on()
        first = written(log, fold(BEGUN), seen(1, 3), ASKED)
        late = written(log, state, seen(1, value), ASKED)
        assert late == first == fold(log.read("run"))


@pytest.mark.parametrize(
    "signal", [LeaseGranted(worker="v", epoch=2), LeaseGranted(worker="w", epoch=2), LeaseRevoked(by="ana", epoch=1)]
)
def test_a_worker_of_the_past_writes_nothing(signal: Event) -> None:
    """Also where the next one has the same name."""
    log, state = moved_on(signal)
    with pytest.raises(LeaseHeld):
        written(log, state, seen(1, 3), ASKED)
    assert log.head("run").position == ASKED + 1
