"""The language model's double: it decides from what the tools have answered, and remembers nothing itself."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import redrive as rd

Reply: TypeAlias = str | rd.ModelReplied
Decide: TypeAlias = Callable[[rd.ModelRequest], Reply]

DONE: Final = "The tracking number of Wang Fang's newest order is on its way to her phone."


def scripted(decide: Decide, first: Mapping[int, Reply] | None = None) -> rd.ScriptedModel:
    """A model that decides from the request alone, but for the replies of these turns."""
    return rd.ScriptedModel(lambda turn, request: (first or {}).get(turn) or decide(request))


def answers(request: rd.ModelRequest) -> list[Any]:
    """What the tools have answered, in order: data where it is JSON."""
    found: list[Any] = []
    for message in request.messages:
        if message.role == "tool":
            try:
                found.append(json.loads(str(message.content)))
            except ValueError:
                found.append(str(message.content))
    return found


def newest(request: rd.ModelRequest) -> dict[str, Any] | None:
    """The newest of the orders that were shown."""
    orders = [order for one in answers(request) if isinstance(one, dict) for order in one.get("orders", ())]
    return max(orders, key=lambda order: str(order["date"]), default=None)


def waybill(request: rd.ModelRequest, order: str) -> str:
    """The waybill of an order, once the carrier has shown it."""
    pages = (one for one in answers(request) if isinstance(one, str))
    found = [match[1] for page in pages if (match := re.match(rf"{order}\nwaybill (\S+)", page))]
    return found[-1] if found else ""


def ask(name: str = "Wang Fang") -> rd.ModelReplied:
    """Ask for a customer's orders."""
    return rd.reply(f"I know no order yet, so I look for those of {name}.", rd.use("query_orders", name=name))


def track(*orders: str) -> rd.ModelReplied:
    """Ask where orders are, all in one reply."""
    calls = [rd.use("get_logistics", order_id=order) for order in orders]
    return rd.reply(f"I need the waybill, so I ask for {', '.join(orders)}.", *calls)


def message(phone: str, number: str) -> rd.ModelReplied:
    """Send the number."""
    text = f"Your parcel is on its way. Tracking number: {number}"
    return rd.reply("Phone and waybill are known, so I send it.", rd.use("send_sms", phone=phone, text=text))


def give_up(why: str) -> rd.ModelReplied:
    """Say that it cannot be done."""
    return rd.reply("It cannot be done, so I say why.", rd.use("unable", reason=why))


def send(request: rd.ModelRequest, phone: str = "") -> Reply:
    """Look for the orders, choose the newest, ask for its waybill, send it; ``phone`` is how a number is written."""
    order = newest(request)
    if order is None:
        looked = any(isinstance(one, dict) and "orders" in one for one in answers(request))
        return give_up("No order was found for Wang Fang. Please confirm the name.") if looked else ask()
    if not order["phone"]:
        return give_up(f"No phone is registered for {order['order_id']}, so there is nowhere to send it to.")
    number = waybill(request, order["order_id"])
    if not number:
        return track(order["order_id"])
    if not any(isinstance(one, dict) and "key" in one for one in answers(request)):
        return message(phone or str(order["phone"]), number)
    return DONE
