"""What is known of the order, the credit and the letter, each from an observation that answers what was asked."""

from __future__ import annotations

import redrive as rd
from order_status.world import Credit, Notice, Order


@rd.verifier("find_order", commits=["order_id", "status", "account", "address"])
def right_order(call: rd.Call, seen: Order | None, facts: rd.Facts) -> rd.Facts | rd.Refused:
    """The order that was asked for; of one that does not exist nothing is known."""
    if seen is None:
        return {}
    if seen.order_id != call.arguments["order_id"]:
        return rd.Refused("origin: another order")
    return {name: getattr(seen, name) for name in ("order_id", "status", "account", "address")}


@rd.verifier("credit", commits=["credited"])
def right_credit(call: rd.Call, seen: Credit, facts: rd.Facts) -> rd.Facts | rd.Refused:
    """The sum that the bank confirms, if order, account and sum are those that were asked for."""
    told = (seen.order_id, seen.account, seen.cents)
    asked = tuple(call.arguments[name] for name in ("order_id", "account", "cents"))
    return {"credited": seen.cents} if told == asked else rd.Refused("evidence: another credit")


@rd.verifier("notify", commits=["notified"])
def right_letter(call: rd.Call, seen: Notice, facts: rd.Facts) -> rd.Facts | rd.Refused:
    """The letter that the post confirms, if it is the one that was written, and went to the customer."""
    if (seen.order_id, seen.words) != (call.arguments["order_id"], call.arguments["words"]):
        return rd.Refused("evidence: another letter")
    return {"notified": True} if seen.address == facts.get("address") else rd.Refused("evidence: sent elsewhere")


VERIFIERS = (right_order, right_credit, right_letter)
