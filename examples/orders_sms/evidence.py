"""What is known of the order, the parcel and the message, each from an observation that answers what was asked."""

from __future__ import annotations

import re

import redrive as rd
from orders_sms.world import Orders, Sms, digits


@rd.verifier("query_orders", commits=["order"])
def newest_order(call: rd.Call, seen: Orders, facts: rd.Facts) -> rd.Facts | rd.Refused:
    """The newest order of the customer who was asked for; where there is none, nothing is known."""
    if seen.name != call.arguments["name"]:
        return rd.Refused("origin: the orders of somebody else")
    newest = max(seen.orders, key=lambda order: order.date, default=None)
    return {} if newest is None else {"order": newest}


@rd.verifier("get_logistics", commits=["tracking_number"])
def right_parcel(call: rd.Call, seen: str, facts: rd.Facts) -> rd.Facts | rd.Refused:
    """The waybill of the newest order; that of another order is no evidence of anything."""
    found = re.match(r"(ord_\d+)\nwaybill (SF\d+)", seen)
    if found is None or found[1] != call.arguments["order_id"]:
        return rd.Refused("origin: the parcel of another order")
    return {"tracking_number": found[2]} if found[1] == facts.get("order", {}).get("order_id") else {}


@rd.verifier("send_sms", commits=["sms_sent"])
def right_message(call: rd.Call, seen: Sms, facts: rd.Facts) -> rd.Facts | rd.Refused:
    """The key that the service confirms, if it sent the tracking number to the registered phone."""
    if seen.phone != digits(facts.get("order", {}).get("phone") or ""):
        return rd.Refused("evidence: sent to another phone")
    if facts.get("tracking_number", "?") not in seen.text:
        return rd.Refused("evidence: the message has no tracking number")
    return {"sms_sent": seen.key}


VERIFIERS = (newest_order, right_parcel, right_message)
