"""The agent of the service desk: what it may do, what stops it, and when it is done."""

from __future__ import annotations

from typing import Any, Final

import redrive as rd
from orders_sms.evidence import VERIFIERS
from orders_sms.script import scripted, send
from orders_sms.world import Orders, Sms, World

GOAL: Final = "Send the tracking number of customer Wang Fang's most recent order to her registered phone."

PROMPT: Final = """\
You work at the service desk of a shop, with the tools you have.
Before each call say in one sentence what you make of what you know and what you intend.
Use only telephone numbers and order numbers that the tools have shown or the customer has given.
Answer in words once the message is sent; if it cannot be, say so by `unable` rather than guess.
"""


def contract(**terms: Any) -> rd.Contract:
    """Fifteen steps, three tool failures in a row, and no call twice; ``terms`` are said otherwise."""
    return rd.Contract(
        **{
            "tools": {"query_orders": {}, "get_logistics": {}, "send_sms": {}},
            "done": {"order": rd.ANY, "tracking_number": rd.ANY, "sms_sent": rd.ANY},
            "budget": rd.Budget(steps=15),
            "quotas": rd.FailureQuotas(tool_failed=3, denied=3),
            "guards": rd.Guards(repeats=rd.Repeats(times=1)),
            "ways_out": ("unable",),
            "partial": "The tracking number is {tracking_number}.\nThe message was sent: {sms_sent}.",
            **terms,
        }
    )


def tools_of(world: World) -> list[rd.Tool]:
    """What can be asked and done in a world."""

    @rd.tool(effect="read", source="order book")
    def query_orders(name: str) -> Orders:
        """All orders of a customer, by the exact name."""
        return world.query_orders(name)

    @rd.tool(effect="read", source="carrier", output_max="2kB")
    def get_logistics(order_id: str) -> str:
        """Where an order's parcel is: its waybill, then each scan."""
        return world.get_logistics(order_id)

    @rd.tool(effect="write", source="message service", object="text", destination="phone", settles_within="500ms")
    def send_sms(phone: rd.Grounded[str], text: str, *, call: rd.Call) -> Sms:
        """Send a text message to a phone."""
        return world.send_sms(phone, text, call.key)

    @send_sms.reconcile
    def was_sent(call: rd.Call) -> rd.Landed[Sms] | rd.NotLanded:
        """The message service knows which keys it has sent."""
        return rd.Landed(world.sent[call.key]) if call.key in world.sent else rd.NotLanded()

    return [query_orders, get_logistics, send_sms]


def make_agent(*, model: rd.Model | None = None, world: World | None = None, **terms: Any) -> rd.Agent:
    """The agent in a world of its own, with the scripted model unless another is given."""
    return rd.Agent(
        "orders-sms",
        "1",
        contract(**terms),
        tools=tools_of(world or World()),
        verifiers=VERIFIERS,
        model=model or scripted(send),
        prompt=PROMPT,
    )


agent = make_agent()
