"""What goes wrong around the examples: whatever it is, each of them keeps every promise."""

from __future__ import annotations

import pytest

import login_redirect
import notes_analyst
import notes_analyst.variants
import order_status.desk as order_desk
import orders_sms.service
import redrive as rd
import refund_desk
import weather
from order_status.script import look_after, scripted
from redrive_replays.faults import CHECKS, SLICES, Setting, faulted


def caring() -> rd.Agent:
    """The desk that credits and writes, in a world of its own."""
    return order_desk.make_agent(model=scripted(look_after), contract=order_desk.caring())


# Each example in a world in which nothing was done yet, where it has one; what writes in it is a double.
EXAMPLES = {
    "login_redirect": Setting(lambda: login_redirect.agent, login_redirect.GOAL),
    "notes_analyst": Setting(lambda: notes_analyst.agent, notes_analyst.GOAL),
    "notes_analyst by a plan": Setting(notes_analyst.variants.planned, notes_analyst.GOAL),
    "orders_sms": Setting(orders_sms.service.make_agent, orders_sms.GOAL, writes=True),
    "order_status": Setting(order_desk.make_agent, order_desk.GOAL, "desk", "velo", writes=True),
    "order_status, caring": Setting(caring, order_desk.CARE_GOAL, "desk", "velo", writes=True, approvals="grant"),
    "refund_desk": Setting(lambda: refund_desk.agent, "Refund ord_123", principal="ana", writes=True),
    "weather": Setting(lambda: weather.agent, weather.GOAL),
}
# What each kind of fault finds nothing to spoil in.
READING = {"timeout before commit", "timeout after commit"}
AGELESS = {"stale data"}
UNTOUCHED = {
    **dict.fromkeys(("login_redirect", "notes_analyst", "notes_analyst by a plan", "weather"), READING | AGELESS),
    **dict.fromkeys(("orders_sms", "refund_desk"), AGELESS),
    "order_status": READING | {"duplicate result"},
    "order_status, caring": set[str](),
}


@pytest.mark.parametrize("seed", [1, 8])
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_keeps_its_promises_under_every_fault(name: str, seed: int) -> None:
    """It succeeds or ends in another way that it can answer for; nothing is said of what could not be spoilt."""
    table = faulted(EXAMPLES[name], seed=seed)
    broken = [(one.course.run_id, breach) for _, one in table.broken for breach in one.breaches.values()]
    assert broken == []
    whole, *rows = table.rows
    assert (whole.endings, [row.name for row in rows]) == (("succeeded",), list(SLICES))
    untouched = {row.name for row in rows if {row.cell(check) for check in CHECKS} == {"nothing to fault"}}
    assert untouched == UNTOUCHED[name]
    assert {row.cell(check) for row in rows if row.name not in untouched for check in CHECKS} == {"held"}
