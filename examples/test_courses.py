"""The scenarios, and what went wrong in them, as tests of their courses: offline, each against its snapshot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

import login_redirect.variants
import notes_analyst.variants
import orders_sms.variants
import redrive as rd
import refund_desk
import weather.variants
from order_status.staging import Variant
from redrive.testing import (
    EVERY,
    Promise,
    Trajectories,
    at_most,
    called_before,
    never_called,
    replay_is_same,
    status_is,
)

LOOKING, NOTES = login_redirect.variants, notes_analyst.variants
SMS, WEATHER = orders_sms.variants, weather.variants

# The desk tells of which moment its data are, so that its world and its runs go by one clock.
CLOCK = rd.StillClock()
DESK = Variant()
# Whether the message went to the right phone is seen from the number itself; nobody has these.
PLAIN = rd.Mask("the key of an example, and no secret", key_id="example")

# Each scenario as it goes well: the agent, what it is asked, how it is begun, and a promise of its own.
SCENARIOS: dict[str, tuple[rd.Agent, str, dict[str, Any], Promise]] = {
    "login_redirect": (login_redirect.agent, login_redirect.GOAL, {}, never_called("deploy")),
    "notes_analyst": (notes_analyst.agent, notes_analyst.GOAL, {}, called_before("list_notes", "word_count")),
    "order_status": (
        DESK.agent(DESK.world(CLOCK)),
        DESK.goal,
        {"principal": DESK.principal, "tenant": DESK.tenant, "surroundings": rd.Surroundings.fixed(CLOCK)},
        never_called("credit"),
    ),
    "orders_sms": (orders_sms.agent, orders_sms.GOAL, {"mask": PLAIN}, at_most(1, "send_sms")),
    "refund_desk": (refund_desk.agent, "Refund ord_123", {"principal": "ana"}, called_before("find_order", "refund")),
    "weather": (weather.agent, weather.GOAL, {}, called_before("weather_forecast", "clothing_guide")),
}
# Each incident: who makes the agent, what it was asked, how that reads in the end, and what must not have happened.
INCIDENTS: list[tuple[Callable[[], rd.Agent], str, str, Promise]] = [
    (LOOKING.deploying, login_redirect.GOAL, "blocked", never_called("deploy")),
    (LOOKING.straying, login_redirect.GOAL, "blocked", never_called("read_file", path="src/auth/session.ts")),
    (LOOKING.gullible, login_redirect.GOAL, "blocked", never_called("deploy")),
    (LOOKING.crossed, login_redirect.GOAL, "failed", never_called("search_code")),
    (SMS.repeating, orders_sms.GOAL, "succeeded", at_most(1, "send_sms")),
    (SMS.contrite, orders_sms.GOAL, "failed", never_called("send_sms")),
    (SMS.unanswered, orders_sms.GOAL, "succeeded", at_most(1, "send_sms")),
    (NOTES.planned, notes_analyst.GOAL, "succeeded", never_called("read_note")),
    (NOTES.straying, notes_analyst.GOAL, "succeeded", never_called("read_note", name="notes/a.txt")),
    (WEATHER.stagnating_in_chinese, weather.GOAL, "failed", never_called("clothing_guide")),
    (WEATHER.endless, weather.GOAL, "exhausted", at_most(5, "weather_forecast")),
]


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_takes_its_course(name: str, trajectories: Trajectories, snapshot: SnapshotAssertion) -> None:
    """It succeeds, answers for what all must, and each step of it is the one of the snapshot."""
    agent, goal, asked, promise = SCENARIOS[name]
    trajectory = trajectories.run(agent, goal, **asked)
    trajectory.check(*EVERY, promise, status_is("succeeded"), replay_is_same)
    assert trajectory == snapshot


@pytest.mark.parametrize(
    ("make", "goal", "status", "promise"),
    [pytest.param(*one, id=f"{one[0].__module__.partition('.')[0]}-{one[0].__name__}") for one in INCIDENTS],
)
def test_an_incident_takes_the_same_course(
    make: Callable[[], rd.Agent],
    goal: str,
    status: str,
    promise: Promise,
    trajectories: Trajectories,
    snapshot: SnapshotAssertion,
) -> None:
    """Whatever the model was talked into, or went wrong, ends as it did, and what must not happen does not."""
    trajectory = trajectories.run(make(), goal, mask=PLAIN)
    trajectory.check(*EVERY, promise, status_is(status), replay_is_same)
    assert trajectory == snapshot
