"""What a run has used, and what is left of its budget."""

from __future__ import annotations

import pytest

from redrive_events import (
    CancelRequested,
    Dimension,
    LeaseGranted,
    Limits,
    MessageReceived,
    ModelFailed,
    ModelReplied,
    SignalsHeard,
    StopDecided,
    Usage,
)
from redrive_projections import exhausted, left, limits, used
from tests.projections.story import ASKED, LEASE, PERSON, REPLY, STARTED, TURN, Line, called, folded, saw

WORDS = MessageReceived(actor="user", content="Tea.")
CANCEL = CancelRequested(by="ana")
AGAIN = LeaseGranted(worker="v", epoch=2)


@pytest.mark.parametrize(
    ("given_", "wall_s"),
    [
        pytest.param([(STARTED, 0, 0), (LEASE, 0, 9)], 0, id="nobody had taken it up"),
        pytest.param([(STARTED, 0, 0), (WORDS, 0, 4), (LEASE, 0, 9)], 0, id="nor heard what was said"),
        pytest.param([STARTED, LEASE, ASKED, (REPLY, 3, 7)], 7, id="the model thinks"),
        pytest.param([*TURN, LEASE, called(1), called(2), (saw(1), 6, 2), (saw(2), 7, 5)], 5, id="tools work"),
        pytest.param([STARTED, LEASE, PERSON, (WORDS, 0, 99)], 0, id="a person thinks"),
        pytest.param([STARTED, LEASE, PERSON, (WORDS, 0, 99), (SignalsHeard(), 0, 100)], 1, id="and was heard late"),
        pytest.param([STARTED, LEASE, PERSON, (CANCEL, 0, 50), (SignalsHeard(), 0, 99)], 0, id="a person is awaited"),
        pytest.param([STARTED, LEASE, ASKED, (AGAIN, 0, 99), (REPLY, 3, 100)], 1, id="between two workers"),
        pytest.param([STARTED, LEASE, ASKED, (CANCEL, 0, 50), (AGAIN, 0, 99)], 0, id="also if somebody signalled"),
        pytest.param([STARTED, LEASE, ASKED, (CANCEL, 0, 3), (REPLY, 3, 5)], 5, id="a signal while a worker works"),
        pytest.param([STARTED, LEASE, ASKED, (CANCEL, 0, 3)], 0, id="counted with the worker's next record"),
    ],
)
def test_wall_time_is_what_a_worker_spent(given_: list[Line], wall_s: int) -> None:
    """Neither people's waiting nor that for a worker is the run's to answer for."""
    assert used(folded(*given_))["wall_time"] == wall_s * 1000


@pytest.mark.parametrize(
    ("given_", "then"),
    [
        pytest.param([STARTED], {}, id="nothing"),
        pytest.param([STARTED, REPLY, REPLY], {"steps": 2}, id="a step is an answered request"),
        pytest.param([STARTED, ModelFailed(kind="timeout")], {}, id="a failure is none"),
        pytest.param(
            [
                STARTED,
                ModelReplied(content="", usage=Usage(input=1, cache_read=2, cache_write=4, output=8, reasoning=8)),
            ],
            {"steps": 1, "tokens": 15},
            id="cached tokens count, reasoning is in the output",
        ),
        pytest.param(
            [STARTED, ModelReplied(content="", cost_micros=3), ModelReplied(content="", cost_micros=4)],
            {"steps": 2, "cost": 7},
            id="cost",
        ),
        pytest.param([*TURN, called(1), called(2)], {"steps": 1, "tool_calls": 2}, id="calls"),
        pytest.param(
            [*TURN, called(1), called(1, attempt=2)], {"steps": 1, "tool_calls": 1}, id="a new attempt is none"
        ),
    ],
)
def test_what_was_used(given_: list[Line], then: dict[Dimension, int]) -> None:
    """Each dimension in its own unit."""
    nothing: dict[Dimension, int] = {"steps": 0, "tokens": 0, "wall_time": 0, "tool_calls": 0, "cost": 0}
    assert used(folded(*given_)) == nothing | then


def test_what_is_left_is_never_below_nothing() -> None:
    """And where there is no limit, it is unlimited."""
    state = folded(STARTED, REPLY, REPLY, ModelReplied(content="", cost_micros=4))
    budget = Limits(steps=2, cost_micros=10)
    assert limits(budget) == {"steps": 2, "tokens": None, "wall_time": None, "tool_calls": None, "cost": 10}
    assert left(budget, state) == {"steps": 0, "tokens": None, "wall_time": None, "tool_calls": None, "cost": 6}


@pytest.mark.parametrize(
    ("budget", "then"),
    [
        pytest.param(Limits(), None, id="no limit"),
        pytest.param(Limits(steps=2, tokens=9), None, id="something left of each"),
        pytest.param(Limits(steps=1), "steps", id="steps"),
        pytest.param(Limits(tokens=3), "tokens", id="tokens"),
        pytest.param(Limits(wall_time_ms=2000), "wall_time", id="wall time"),
        pytest.param(Limits(cost_micros=7), "cost", id="cost"),
        pytest.param(Limits(steps=1, cost_micros=7), "steps", id="the first of several"),
        pytest.param(Limits(tool_calls=1), None, id="tool calls run out only at a call"),
    ],
)
def test_what_ran_out(budget: Limits, then: Dimension | None) -> None:
    """The limit is the last that may be used, not the first that may not."""
    answer = ModelReplied(content=REPLY.content, usage=Usage(output=3), cost_micros=7)
    state = folded(STARTED, LEASE, ASKED, (answer, 3, 2), called(1), StopDecided(status="failed", reason=""))
    assert exhausted(budget, state) == then
